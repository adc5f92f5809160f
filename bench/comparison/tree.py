"""A large site, and what people ask of it: few files often, most of them hardly ever."""

import functools
import itertools
import random
from pathlib import Path

from places import ARTIFACTS, letters

TREE = ARTIFACTS / "run-tree"
FILES = 200_000
FOLDER_FILES = 1000
# So many requests in an order of their own, again and again. Some 10,000 files are among them: lighttpd holds each open for some seconds,
# and a host may not allow it many more.
ASKED = 30_000
LARGEST = 64 * 1024


def make() -> None:
    """Some hundred MB, and as many blocks. What is there is kept, if it is whole."""
    whole = TREE / "whole"
    if whole.exists():
        return
    body = letters(LARGEST)
    for number, count in enumerate(_sizes()):
        path = TREE / _target(number).lstrip("/")
        if number % FOLDER_FILES == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_body(path, count, body))
    whole.touch()


@functools.cache
def asked() -> list[str]:
    """By Zipf's law: the second is asked for half as often as the first, the third a third; no folder has more of them than another."""
    return [_target(number) for number in _numbers()]


@functools.cache
def _numbers() -> list[int]:
    chance = random.Random(FILES)
    ranked = chance.sample(range(FILES), FILES)
    return chance.choices(ranked, [1 / rank for rank in range(1, FILES + 1)], k=ASKED)


def body_bytes(requests: int) -> int:
    """Of so many answers, the first of the order and on."""
    turns, rest = divmod(requests, ASKED)
    sums = _sums()
    return turns * sums[ASKED] + sums[rest]


@functools.cache
def _sums() -> list[int]:
    sizes = _sizes()
    return list(itertools.accumulate((sizes[number] for number in _numbers()), initial=0))


@functools.cache
def _sizes() -> list[int]:
    chance = random.Random(FOLDER_FILES)
    return [min(max(int(chance.lognormvariate(7.3, 1.0)), 64), LARGEST) for _ in range(FILES)]


def _target(number: int) -> str:
    return f"/{number // FOLDER_FILES:03}/{number % FOLDER_FILES:03}.jpg"


def _body(path: Path, count: int, letters_: bytes) -> bytes:
    """Each begins with its own name, so that an answer with another file's bytes is seen."""
    return (str(path.relative_to(TREE)).encode() + b"\n" + letters_)[:count]
