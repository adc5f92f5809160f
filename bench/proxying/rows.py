"""What is asked through a proxy, and how."""

import re
import subprocess
from dataclasses import dataclass

from running import LOAD_CORE, pinned

SMALL_BYTES = 1_024
LARGE_BYTES = 102_400


@dataclass(frozen=True)
class Row:
    """One load: the protocol in front, the size of an answer, the connections."""

    protocol: str
    size: str
    connections: int

    @property
    def name(self) -> str:
        return f"{self.protocol}-{self.size}-{self.connections}"

    @property
    def is_http2(self) -> bool:
        return self.protocol == "h2c"

    @property
    def body_bytes(self) -> int:
        return SMALL_BYTES if self.size == "1k" else LARGE_BYTES


ROWS = [Row(protocol, size, connections) for protocol in ("http", "h2c") for size in ("1k", "100k") for connections in (64, 512)]


@dataclass(frozen=True)
class Counted:
    """What a load has got."""

    requests: int
    seconds: float
    faults: list[str]


def press(row: Row, port: int, seconds: int) -> Counted:
    """Asks for so long, as fast as it can."""
    url = f"http://127.0.0.1:{port}/{row.size}"
    return _h2load(row, url, seconds) if row.is_http2 else _wrk(row, url, seconds)


def _wrk(row: Row, url: str, seconds: int) -> Counted:
    text = _run(["wrk", "-t", "1", "-c", str(row.connections), "-d", f"{seconds}s", "--timeout", "10s", url])
    total = re.search(r"(\d+) requests in ([\d.]+)(m?s)", text)
    if not total:
        return Counted(0, seconds, [f"wrk: {text.strip()}"])
    faults = re.findall(r"^ *(Socket errors: .*|Non-2xx or 3xx responses: .*)$", text, re.MULTILINE)
    return Counted(int(total[1]), float(total[2]) / (1000 if total[3] == "ms" else 1), faults)


def _h2load(row: Row, url: str, seconds: int) -> Counted:
    # A stream at a time, so that as many requests are under way as over HTTP/1.1.
    text = _run(["h2load", "-c", str(row.connections), "-m", "1", "-D", str(seconds), url])
    done = re.search(r"requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text)
    codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
    if not done or not codes:
        return Counted(0, seconds, [f"h2load: {text.strip()[-300:]}"])
    others = sum(int(codes[group]) for group in (2, 3, 4))
    faults = [f"{others} answers of another status"] if others else []
    return Counted(int(codes[1]), seconds, faults)


def _run(command: list[str]) -> str:
    return subprocess.run(pinned(LOAD_CORE, command), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
