"""One cell of a run: a server under one load, for one window of time."""

import hashlib
import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from places import BENCH, FILE_NAME
from running import LOAD_CORE, SERVER_CORE, RunningServer

# One of the two cores must be the bottleneck, or the window holds a stall. Where it is the load's, the
# cost per request stands (time is charged only when the server works) but requests/s is wrk's figure:
# wrk needs about 8 us for a 10 KB reply, so no server cheaper than that fills its own core.
BUSY_SHARE_MIN = 0.90
# Above this the core's time holds too much of somebody else's work.
STRANGE_SHARE_MAX = 0.05


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
    strange_share: float = 0
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


def warm_up(running: RunningServer, connections: int, seconds: int) -> None:
    _load(running, connections, seconds)


def measure(running: RunningServer, connections: int, round_: int, seconds: int, reply_bytes: int) -> Cell:
    """One window. The cell says itself what speaks against it."""
    cell = Cell(running.server.name, connections, round_)
    server_before, load_before = CoreTimes.now(SERVER_CORE), CoreTimes.now(LOAD_CORE)
    threads_before, started = running.thread_times_ns(), time.monotonic()
    load = _load(running, connections, seconds)
    server_core = CoreTimes.now(SERVER_CORE).since(server_before)
    load_core = CoreTimes.now(LOAD_CORE).since(load_before)
    threads_after, ended = running.thread_times_ns(), time.monotonic()

    cell.requests = load["requests"]
    cell.requests_per_s = load["requests"] / load["duration_us"] * 1e6
    cell.core_us_per_request = server_core.busy * 1e6 / max(load["requests"], 1)
    cell.busy_share, cell.load_busy_share = server_core.busy_share, load_core.busy_share
    cell.strange_share = _strange_share(threads_before, threads_after, ended - started)
    cell.p50_us, cell.p99_us = load["p50_us"], load["p99_us"]
    cell.faults = _faults(cell, load, running, reply_bytes)
    return cell


def _load(running: RunningServer, connections: int, seconds: int) -> dict[str, int]:
    result = subprocess.run(
        ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
         "-s", str(BENCH / "harness" / "summary.lua"), _url(running)],
        check=True, capture_output=True, text=True)
    return json.loads(result.stderr)


def _url(running: RunningServer) -> str:
    return f"http://127.0.0.1:{running.port}/{FILE_NAME}"


def _strange_share(before: dict[int, tuple[int, int]], after: dict[int, tuple[int, int]], window_s: float) -> float:
    """How much of the window others had the server's core.

    The busiest thread waited for it so long; less what its siblings ran meanwhile, for they are the
    server's own. Unlike the ticks of /proc/stat this is exact, whatever the kernel's accounting.
    """
    ran_and_waited = [
        (after[thread][0] - before.get(thread, (0, 0))[0], after[thread][1] - before.get(thread, (0, 0))[1])
        for thread in after
    ]
    if not ran_and_waited:
        return 0
    busiest_ran, busiest_waited = max(ran_and_waited)
    siblings_ran = sum(ran for ran, _ in ran_and_waited) - busiest_ran
    return max(0, busiest_waited - siblings_ran) / 1e9 / window_s


def _faults(cell: Cell, load: dict[str, int], running: RunningServer, reply_bytes: int) -> list[str]:
    faults = []
    if running.has_exited():
        faults.append("the server ended")
    if strange := running.strange_listeners():
        faults.append(f"{strange} listeners of others on the port")
    for kind in ("connect", "read", "write", "timeout"):
        if load[kind]:
            faults.append(f"{load[kind]} {kind} errors")
    # wrk counts 400 and above here; a redirect or an empty 2xx shows in the bytes.
    if load["status"]:
        faults.append(f"{load['status']} replies that are not 2xx")
    # Beyond the completed replies each connection may hold a part of one when the window ends.
    if not load["requests"] * reply_bytes <= load["bytes"] <= (load["requests"] + cell.connections) * reply_bytes:
        faults.append(f"{load['bytes']} bytes for {load['requests']} replies of {reply_bytes}")
    if max(cell.busy_share, cell.load_busy_share) < BUSY_SHARE_MIN:
        faults.append(f"neither core was busy: the server's {cell.busy_share:.0%}, the load's {cell.load_busy_share:.0%}")
    if cell.strange_share > STRANGE_SHARE_MAX:
        faults.append(f"others had core {SERVER_CORE} for {cell.strange_share:.0%} of the window")
    return faults
