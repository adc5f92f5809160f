"""A site whose files are on the disk alone: taken out of the page cache before each window, in which none is asked for twice."""

import functools
import os
import random
import subprocess

from places import ARTIFACTS, letters

TREE = ARTIFACTS / "run-cold"
# More than a window has answers.
FILES = 48_000
FOLDER_FILES = 1000
# One read each, for the servers that read a file in one go.
FILE_BYTES = 80 * 1024
# Of all their bytes: what a server that was asked before still holds, in a connection that ended on the way, decides nothing.
KEPT_SHARE_MAX = 0.001


def make() -> None:
    """Four GB. What is there is kept, if it is whole."""
    whole = TREE / "whole"
    if whole.exists():
        return
    body = letters(FILE_BYTES)
    for number in range(FILES):
        path = TREE / _name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Each begins with its own name, so that an answer with another file's bytes is seen.
        path.write_bytes((f"{_name(number)}\n".encode() + body)[:FILE_BYTES])
    os.sync()  # Only what the disk has can be dropped.
    whole.touch()


@functools.cache
def targets() -> list[str]:
    """In an order of their own, the same for everybody: not that in which they lie on the disk."""
    return [f"/{_name(number)}" for number in random.Random(FILES).sample(range(FILES), FILES)]


def drop() -> list[str]:
    """Takes all of them out of the page cache; what is wrong where more than a trace of it stays."""
    names = [target.lstrip("/") for target in targets()]
    for name in names:
        descriptor = os.open(TREE / name, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    looked = subprocess.run(
        ["fincore", "--raw", "--noheadings", "--bytes", "--output", "RES", *names], cwd=TREE, capture_output=True, text=True)
    sizes = looked.stdout.split()
    if looked.returncode != 0 or len(sizes) != FILES:
        return [f"fincore: {looked.stderr.strip() or f'{len(sizes)} sizes of {FILES} files'}"]
    resident = sum(map(int, sizes))
    return [f"{resident} bytes of the files stayed in the page cache"] if resident > KEPT_SHARE_MAX * FILES * FILE_BYTES else []


def _name(number: int) -> str:
    return f"{number // FOLDER_FILES:03}/{number % FOLDER_FILES:03}.bin"
