"""The measured files, and where servers find them."""

import functools
import gzip
import os
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import cold
import deployment
import tree
from places import ARTIFACTS, letters
from rows import PART_BYTES, PART_FIRST, Ask, Root, Row

SITE = ARTIFACTS / "run-site"
EMPTY = ARTIFACTS / "run-empty"
MOUNT = ARTIFACTS / "run-mount"

# 2026, January 1st.
_WRITTEN_AT = 1_767_225_600
_FILES = {
    "1k.txt": 1024, "4k.bin": 4096, "9170.txt": 9170, "10k.txt": 10_240, "16k.bin": 16 * 1024, "32k.bin": 32 * 1024, "64k.bin": 64 * 1024,
    "98k6.bin": 98_600, "100k.bin": 100 * 1024, "256k.bin": 256 * 1024, "1m.bin": 1024 * 1024, "100m.bin": 100 * 1024 * 1024,
}
# A page and what it refers to. Pictures and fonts are coded already.
_MIX = {
    "index.html": 14_000, "about.html": 6_000, "contact.html": 2_500, "site.css": 28_000, "print.css": 2_000,
    "app.js": 96_000, "vendor.js": 130_000, "menu.js": 5_000, "data.json": 18_000, "manifest.json": 1_200,
    "logo.svg": 4_000, "arrow.svg": 1_400, "hero.jpg": 110_000, "mill.jpg": 62_000, "wheel.jpg": 41_000,
    "thumb-1.webp": 9_000, "thumb-2.webp": 7_000, "photo.png": 75_000, "text.woff2": 24_000, "favicon.ico": 4_300,
}
_CODED = (".html", ".css", ".js", ".json", ".svg")
_WORDS = "water wheel mill race sluice gate stone grain flour river weir pond bank oak miller cart sack bread".split()
MIX_TARGETS = [f"/mix/{name}" for name in _MIX]


def make(rows: list[Row]) -> None:
    """What the rows ask for. A fixed seed makes two runs alike."""
    for folder in (SITE / "mix", EMPTY, MOUNT):
        folder.mkdir(parents=True, exist_ok=True)
    if any(row.root is Root.TREE for row in rows):
        tree.make()
    if any(row.root is Root.COLD for row in rows):
        cold.make()
    for name in _FILES:
        # The largest is made only for whom asks for it: servers read all they find when they start.
        if name != "100m.bin" or name in {row.file for row in rows}:
            _write(SITE / name, _FILES[name], _letters)
            # As old as most files are: who is careful with what was written just now is not to be measured so.
            os.utime(SITE / name, (_WRITTEN_AT, _WRITTEN_AT))
        else:
            (SITE / name).unlink(missing_ok=True)
    for name, count in _MIX.items():
        path = SITE / "mix" / name
        # The coded file behind the original: one that is older is not served.
        if _write(path, count, functools.partial(_mixed, name)) and path.suffix in _CODED:
            path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def targets(row: Row) -> list[str]:
    """All that are asked for, in their order."""
    match row.root:
        case Root.TREE:
            return tree.asked()
        case Root.DEPLOYED:
            return deployment.TARGETS
        case Root.COLD:
            return cold.targets()
    return MIX_TARGETS if row.ask is Ask.MIX else [f"/{row.file}"]


def body(row: Row, target: str) -> bytes | None:
    """What answers the target; None where any will do, as everybody's page for what is missing is another."""
    match row.ask:
        case Ask.MISSING:
            return None
        case Ask.UNCHANGED:
            return b""
        case Ask.PART:
            return (SITE / row.file).read_bytes()[PART_FIRST:PART_FIRST + PART_BYTES]
    # What is mounted is a copy.
    return ({Root.TREE: tree.TREE, Root.COLD: cold.TREE}.get(row.root, SITE) / target.lstrip("/")).read_bytes()


def is_coded(target: str) -> bool:
    return target.endswith(_CODED)


def file_bytes(row: Row) -> int:
    """0 where it is not one file."""
    return _FILES.get(row.file, 0)


def folder(root: Root) -> Path:
    return {Root.DISK: SITE, Root.TREE: tree.TREE, Root.DEPLOYED: deployment.SITES, Root.COLD: cold.TREE}.get(root, MOUNT)


def mounted(root: Root, file: str, command: list[str]) -> list[str]:
    """The command where the root is mounted; in a namespace of its own, so that it goes with the server, whatever happens."""
    script = {
        Root.TMPFS: 'mount -t tmpfs tmpfs "$1" && cp -p "$2/$3" "$1"',
        # Two layers and none to write to, since several servers have them mounted at once.
        Root.OVERLAY: 'mount -t overlay overlay -o "lowerdir=$4:$2" "$1"',
    }
    if root not in script:
        return command
    whole = f'{script[root]} && shift 4 && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", whole, "sh", str(MOUNT), str(SITE), file, str(EMPTY), *command]


def _write(path: Path, count: int, content: Callable[[int], bytes]) -> bool:
    """Whether it had to be written: what is there already was made by the same seed."""
    if path.exists() and path.stat().st_size == count:
        return False
    path.write_bytes(content(count))
    return True


def _letters(count: int) -> bytes:
    """Random letters: no server gains by compressing them. Of large files, every megabyte is alike but for its number."""
    block = 1024 * 1024
    if count <= block:
        return letters(count)
    once = letters(block - 8)
    return b"".join(f"{number:8}".encode() + once for number in range(count // block))


def _mixed(name: str, count: int) -> bytes:
    chance = random.Random(zlib.crc32(name.encode()))
    if not name.endswith(_CODED):
        return chance.randbytes(count)
    return " ".join(f"{chance.choice(_WORDS)}{chance.randrange(50) or ''}" for _ in range(count)).encode()[:count]
