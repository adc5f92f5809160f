"""What the board mounts: the dataset, twenty static files with their coded siblings, and a certificate. All of it is made here.

Names and sizes are those of the board's documents; the text is words of a fixed seed, which compress about as well as the board's.
"""

import json
import random
from pathlib import Path

from places import ARTIFACTS
from servers import build
from sitefiles import SIZES, write_files

DATA = ARTIFACTS / "arena-data"
CERTIFICATES = ARTIFACTS / "arena-certs"
CERTIFICATE, KEY = CERTIFICATES / "server.crt", CERTIFICATES / "server.key"
ITEMS = 50

TARGETS = [f"/static/{name}" for name in SIZES]
_SEED = 35


def make(brotli: Path | None = None) -> None:
    """`brotli` is the program that makes the .br siblings (millrace precompress); without it only .gz is made."""
    folder = DATA / "static"
    write_files(folder)
    (DATA / "dataset.json").write_text(json.dumps(dataset(), indent=1))
    if brotli is not None:
        build([str(brotli), "precompress", str(folder)])
    _make_certificate()


def dataset() -> list[dict[str, object]]:
    choose = random.Random(_SEED)
    kinds = ["tools", "books", "garden", "kitchen", "games"]
    tags = ["fast", "new", "sale", "small", "large", "quiet", "wood", "steel"]
    return [
        {
            "id": number, "name": f"{choose.choice(['Upper', 'Lower', 'Old', 'Stone', 'River'])} Mill {number}",
            "category": choose.choice(kinds), "price": choose.randrange(5, 500), "quantity": choose.randrange(1, 50),
            "active": choose.random() < 0.7, "tags": choose.sample(tags, 3),
            "rating": {"score": choose.randrange(1, 51), "count": choose.randrange(1, 400)},
        }
        for number in range(1, ITEMS + 1)
    ]


def page(count: int, multiplier: int) -> dict[str, object]:
    """What a right answer to /json/{count}?m={multiplier} says."""
    items = [item | {"total": item["price"] * item["quantity"] * multiplier} for item in dataset()[:count]]
    return {"items": items, "count": count}


def _make_certificate() -> None:
    CERTIFICATES.mkdir(parents=True, exist_ok=True)
    if not CERTIFICATE.exists():
        build([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", str(KEY), "-out", str(CERTIFICATE)])
