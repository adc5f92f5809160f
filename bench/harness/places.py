"""Where things are, and the site that every server serves."""

import random
import string
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
REPOSITORY = BENCH.parent
ARTIFACTS = REPOSITORY / "artifacts" / "bench"
# Of the runs that the documents speak of.
RESULTS = BENCH / "results"

# One root for all, so that every server reads the same file system.
SITE = ARTIFACTS / "site"
FILE_NAME = "10k.txt"
FILE_BYTES = 10_240


def make_site() -> bytes:
    """Writes the measured file and returns its body.

    Random letters: no server gains by compressing them, and a fixed seed makes two runs alike.
    """
    body = letters(FILE_BYTES)
    SITE.mkdir(parents=True, exist_ok=True)
    (SITE / FILE_NAME).write_bytes(body)
    return body


def letters(count: int) -> bytes:
    alphabet = string.ascii_letters + string.digits + "-_"
    return "".join(random.Random(count).choices(alphabet, k=count)).encode()
