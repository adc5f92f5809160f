"""A site that is deployed anew while clients load it: file by file as rsync does it, each written beside its place and renamed into it."""

import contextlib
import functools
import random
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from places import ARTIFACTS

SITES = ARTIFACTS / "run-deployed"
PAGES = 300
EVERY_S = 0.5
TARGETS = [f"/news/{page:03}.html" for page in range(PAGES)]
# Who answers with an older version for longer than that does not notice, but happens to look again some time.
STALE_S = 1.0
# Each line begins with the version, the body's lines and the page, so that deployed.lua sees a body of two versions. One version differs
# from the next in its length: so do those of a site, and a length that is remembered shows.
LINES_MAX, LENGTHS = 160, 8
STAMP_BYTES, LINE_BYTES = 17, 64
_WORDS = "water wheel mill race sluice gate stone grain flour river weir pond bank oak miller cart sack bread".split()


class Deployments:
    """Of one server's site, which has version 0 from the beginning. The deployer is a thread of this script, so it has the load's core."""

    def __init__(self, root: Path):
        self._root = root
        self._completed: list[float] = []  # When each version was in place as a whole, by the monotonic clock.
        self._first = 0  # The first version of the last time that it was going on.
        shutil.rmtree(root, ignore_errors=True)
        (root / "news").mkdir(parents=True)
        self._deploy()

    @property
    def count(self) -> int:
        return len(self._completed)

    def body(self, target: str) -> bytes:
        return _body(TARGETS.index(target), self.count - 1)

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        over = threading.Event()
        self._first = self.count
        with ThreadPoolExecutor(1) as thread:
            deploying = thread.submit(self._deploy_until, over)
            try:
                yield
            finally:
                over.set()
            deploying.result()  # What went wrong there is raised here.

    def judge(self, seen: Path) -> tuple[list[str], float]:
        """What is wrong with what deployed.lua wrote down of the last time, and the longest for which a version was answered after the
        next one was in place."""
        faults, stale_s = [], 0.0
        if self.count == self._first:
            faults.append("nothing was deployed")
        for line in seen.read_text().splitlines():
            name, figure = line.split()
            if name == "broken" and int(figure):
                faults.append(f"{figure} answers that are no version of a page as a whole")
            elif name != "broken" and int(name) + 1 < self.count:
                stale_s = max(stale_s, float(figure) - self._completed[int(name) + 1])
        return faults, stale_s

    def _deploy_until(self, over: threading.Event) -> None:
        due = time.monotonic() + EVERY_S
        while not over.wait(max(0.0, due - time.monotonic())):
            self._deploy()
            due += EVERY_S

    def _deploy(self) -> None:
        version = self.count
        for page, target in enumerate(TARGETS):
            place = self._root / target.lstrip("/")
            partial = place.with_name(f".{place.name}.{version:06}")
            partial.write_bytes(_body(page, version))
            partial.replace(place)
        self._completed.append(time.monotonic())


def _body(page: int, version: int) -> bytes:
    lines = LINES_MAX - version % LENGTHS
    stamp = f"{version:08} {lines:03} {page:03} ".encode()
    return stamp + stamp.join(_texts(page)[:lines])


@functools.cache
def _texts(page: int) -> list[bytes]:
    """Words, as compressible as a page is."""
    chance = random.Random(page)
    room = LINE_BYTES - STAMP_BYTES - 1
    return [" ".join(chance.choices(_WORDS, k=room)).encode()[:room] + b"\n" for _ in range(LINES_MAX)]
