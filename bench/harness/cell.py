"""One cell of a run: a server under one load, for one window of time."""

import hashlib
import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from places import BENCH, FILE_NAME
from running import LOAD_CORE, SERVER_CORE, RunningServer, pinned

# One of the two cores must be the bottleneck, or the window holds a stall. Where it is the load's, the
# cost per request stands (time is charged only when the server works) but requests/s is wrk's figure:
# wrk needs about 8 us for a 10 KB reply, so no server cheaper than that fills its own core.
BUSY_SHARE_MIN = 0.90
# Of one core and the window. Above this the cores' times hold too much of somebody else's work.
OTHERS_SHARE_MAX = 0.05


class LoadFailure(Exception):
    """wrk could not do its work, as when the server has gone."""


@dataclass
class Cell:
    """What was measured, and why it does not count when `faults` is not empty."""

    server: str
    connections: int
    round: int
    requests: int = 0
    requests_per_s: float = 0
    core_us_per_request: float = 0
    busy_share: float = 0
    load_busy_share: float = 0
    others_share: float = 0
    p50_us: int = 0
    p99_us: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def is_load_bound(self) -> bool:
        return self.busy_share < BUSY_SHARE_MIN


@dataclass(frozen=True)
class CoreTimes:
    """Seconds of a core since boot.

    The core and not the process: the kernel does much of a server's work in soft interrupts, and
    charges them to whoever is running, to ksoftirqd or to nobody, as it was configured; ring workers
    and polling threads hide in the same way. On a core of its own all of it is the server's.
    """

    busy: float
    total: float

    @staticmethod
    def now(core: int) -> "CoreTimes":
        line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{core} "))
        ticks_per_s = os.sysconf("SC_CLK_TCK")
        user, nice, system, idle, iowait, irq, softirq, steal = (int(word) / ticks_per_s for word in line.split()[1:9])
        busy = user + nice + system + irq + softirq
        return CoreTimes(busy, busy + idle + iowait + steal)

    def since(self, before: "CoreTimes") -> "CoreTimes":
        return CoreTimes(self.busy - before.busy, self.total - before.total)

    @property
    def busy_share(self) -> float:
        return self.busy / self.total


def check_reply(running: RunningServer) -> tuple[int, list[str]]:
    """One request by curl: the bytes of the whole reply, and what is wrong with it."""
    result = subprocess.run(
        ["curl", "-sS", "--max-time", "10", "-w", "%{stderr}%{http_code} %{size_header}", _url(running)],
        capture_output=True)
    if result.returncode != 0:
        return 0, [f"curl: {result.stderr.decode(errors='replace').strip()}"]
    status, head_bytes = result.stderr.decode().split()
    faults = []
    if status != "200":
        faults.append(f"status {status}")
    expected = running.server.body
    if len(result.stdout) != len(expected):
        faults.append(f"a body of {len(result.stdout)} bytes instead of {len(expected)}")
    elif hashlib.sha256(result.stdout).digest() != hashlib.sha256(expected).digest():
        faults.append("a body of the right length and the wrong bytes")
    return int(head_bytes) + len(result.stdout), faults


@dataclass(frozen=True)
class Load:
    connections: int
    warmup_s: int
    seconds: int


def measure(running: RunningServer, load: Load, round_: int, reply_bytes: int) -> Cell:
    """A warm-up and one window. The cell says itself what speaks against it."""
    cell = Cell(running.server.name, load.connections, round_)
    try:
        _run_wrk(running, load.connections, load.warmup_s)
        _measure_window(cell, running, load.seconds, reply_bytes)
    except LoadFailure as failure:
        cell.faults.append(str(failure))
    return cell


def _measure_window(cell: Cell, running: RunningServer, seconds: int, reply_bytes: int) -> None:
    server_before, load_before = CoreTimes.now(SERVER_CORE), CoreTimes.now(LOAD_CORE)
    others_before, started = running.others_ran_s(), time.monotonic()
    counted = _run_wrk(running, cell.connections, seconds)
    server_core = CoreTimes.now(SERVER_CORE).since(server_before)
    load_core = CoreTimes.now(LOAD_CORE).since(load_before)
    others_after, ended = running.others_ran_s(), time.monotonic()

    cell.requests = counted["requests"]
    cell.requests_per_s = counted["requests"] / counted["duration_us"] * 1e6
    cell.core_us_per_request = server_core.busy * 1e6 / max(counted["requests"], 1)
    cell.busy_share, cell.load_busy_share = server_core.busy_share, load_core.busy_share
    cell.others_share = (others_after - others_before) / (ended - started)
    cell.p50_us, cell.p99_us = counted["p50_us"], counted["p99_us"]
    cell.faults = _faults(cell, counted, running, reply_bytes)


def _run_wrk(running: RunningServer, connections: int, seconds: int) -> dict[str, int]:
    result = subprocess.run(
        pinned(LOAD_CORE, [
            "wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
            "-s", str(BENCH / "harness" / "summary.lua"), _url(running)]),
        capture_output=True, text=True)
    if result.returncode != 0:
        raise LoadFailure(f"wrk: {(result.stderr or result.stdout).strip()}")
    return json.loads(result.stderr)


def _url(running: RunningServer) -> str:
    return f"http://127.0.0.1:{running.port}/{FILE_NAME}"


def _faults(cell: Cell, counted: dict[str, int], running: RunningServer, reply_bytes: int) -> list[str]:
    faults = []
    if running.has_exited():
        faults.append("the server ended")
    if strange := running.strange_listeners():
        faults.append(f"{strange} listeners of others on the port")
    for kind in ("connect", "read", "write", "timeout"):
        if counted[kind]:
            faults.append(f"{counted[kind]} {kind} errors")
    # wrk counts 400 and above here; a redirect or an empty 2xx shows in the bytes.
    if counted["status"]:
        faults.append(f"{counted['status']} replies that are not 2xx")
    # Beyond the completed replies each connection may hold a part of one when the window ends.
    if not counted["requests"] * reply_bytes <= counted["bytes"] <= (counted["requests"] + cell.connections) * reply_bytes:
        faults.append(f"{counted['bytes']} bytes for {counted['requests']} replies of {reply_bytes}")
    if max(cell.busy_share, cell.load_busy_share) < BUSY_SHARE_MIN:
        faults.append(f"neither core was busy: the server's {cell.busy_share:.0%}, the load's {cell.load_busy_share:.0%}")
    if cell.others_share > OTHERS_SHARE_MAX:
        faults.append(f"others ran for {cell.others_share:.0%} of the window")
    return faults
