"""What the board mounts: the dataset, twenty static files with their coded siblings, and a certificate. All of it is made here.

Names and sizes are those of the board's documents; the text is words of a fixed seed, which compress about as well as the board's.
"""

import gzip
import json
import random
from pathlib import Path

from places import ARTIFACTS
from servers import build

DATA = ARTIFACTS / "arena-data"
CERTIFICATES = ARTIFACTS / "arena-certs"
CERTIFICATE, KEY = CERTIFICATES / "server.crt", CERTIFICATES / "server.key"
ITEMS = 50

SIZES = {
    "reset.css": 8_192, "layout.css": 25_600, "theme.css": 18_432, "components.css": 204_800, "utilities.css": 61_440,
    "analytics.js": 12_288, "helpers.js": 22_528, "app.js": 204_800, "vendor.js": 307_200, "router.js": 35_840,
    "header.html": 122_880, "footer.html": 56_320, "regular.woff2": 18_432, "bold.woff2": 22_528,
    "logo.svg": 15_344, "icon-sprite.svg": 71_680, "hero.webp": 46_080, "thumb1.webp": 8_192, "thumb2.webp": 6_144,
    "manifest.json": 2_883,
}
TARGETS = [f"/static/{name}" for name in SIZES]
_CODED = (".css", ".js", ".html", ".svg", ".json")
_SEED = 35


def make(brotli: Path | None = None) -> None:
    """`brotli` is the program that makes the .br siblings (millrace precompress); without it only .gz is made."""
    folder = DATA / "static"
    folder.mkdir(parents=True, exist_ok=True)
    (DATA / "dataset.json").write_text(json.dumps(dataset(), indent=1))
    for name, size in SIZES.items():
        _write_file(folder / name, size)
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


def is_coded(name: str) -> bool:
    return name.endswith(_CODED)


def _write_file(path: Path, size: int) -> None:
    if path.exists() and path.stat().st_size == size:
        return
    choose = random.Random(f"{_SEED} {path.name}")
    body = _text(choose, size) if is_coded(path.name) else choose.randbytes(size)
    path.write_bytes(body)
    if is_coded(path.name):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(body, mtime=0))


def _text(choose: random.Random, size: int) -> bytes:
    words = ["".join(choose.choices("abcdefghijklmnopqrstuvwxyz-", k=choose.randrange(2, 10))) for _ in range(400)]
    lines: list[str] = []
    length = 0
    while length < size:
        # Some lines come again, as in code.
        again = lines and choose.random() < 0.3
        lines.append(choose.choice(lines[-50:]) if again else f"  {' '.join(choose.choices(words, k=6))}: {choose.randrange(1_000)};\n")
        length += len(lines[-1])
    return "".join(lines).encode()[:size]


def _make_certificate() -> None:
    CERTIFICATES.mkdir(parents=True, exist_ok=True)
    if not CERTIFICATE.exists():
        build([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", str(KEY), "-out", str(CERTIFICATE)])
