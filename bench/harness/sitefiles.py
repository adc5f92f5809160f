"""A site of twenty files, 3 to 300 KB, as the board HttpArena names and sizes them: text with coded siblings, and what does not compress.

The text is words of a fixed seed, which compress about as well as the board's.
"""

import gzip
import random
from pathlib import Path

SIZES = {
    "reset.css": 8_192, "layout.css": 25_600, "theme.css": 18_432, "components.css": 204_800, "utilities.css": 61_440,
    "analytics.js": 12_288, "helpers.js": 22_528, "app.js": 204_800, "vendor.js": 307_200, "router.js": 35_840,
    "header.html": 122_880, "footer.html": 56_320, "regular.woff2": 18_432, "bold.woff2": 22_528,
    "logo.svg": 15_344, "icon-sprite.svg": 71_680, "hero.webp": 46_080, "thumb1.webp": 8_192, "thumb2.webp": 6_144,
    "manifest.json": 2_883,
}
_CODED = (".css", ".js", ".html", ".svg", ".json")
_SEED = 35


def write_files(folder: Path) -> None:
    """Each file, and a .gz beside text."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in SIZES.items():
        _write_file(folder / name, size)


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
