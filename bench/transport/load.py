"""The load: as much as goes (wrk, h2load), or at a fixed rate (pace), on the load's core."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from places import ARTIFACTS, BENCH
from rows import Life, Row, Wire
from server import Application
from window import LoadFailure

SUMMARY = BENCH / "harness" / "summary.lua"
PIPELINED = BENCH / "transport" / "pipelined.lua"
PACE = ARTIFACTS / "pace"
# What it calls the wires.
PACED = {Wire.HTTP1: "http", Wire.HTTPS1: "https", Wire.HTTPS2: "https2"}


@dataclass(frozen=True)
class Counted:
    """What the load's program saw."""

    requests: int
    seconds: float
    errors: int
    p99_us: int | None = None

    @property
    def requests_per_s(self) -> float:
        return self.requests / self.seconds


def press(application: Application, row: Row, connections: int, seconds: int) -> Counted:
    """As many requests as go."""
    if row.wire is Wire.HTTPS2:
        return _h2load(application, row, connections, seconds)
    return _wrk(application, row, connections, seconds)


def pace(application: Application, row: Row, connections: int, seconds: int, rate: float) -> Counted:
    """So many requests a second in all, and the 99th percentile of their times from when each was due."""
    said = _run(
        application,
        [str(PACE), PACED[row.wire], str(application.port), row.target, str(connections), f"{rate:.0f}", str(seconds), str(row.depth)],
        dict(os.environ))
    counted = json.loads(said.stdout)
    return Counted(counted["requests"], counted["seconds"], 0, counted["p99_us"])


def _wrk(application: Application, row: Row, connections: int, seconds: int) -> Counted:
    script = PIPELINED if row.depth > 1 else SUMMARY
    options = ["-H", "Connection: close"] if row.life is Life.ONE_REQUEST else []
    environment = os.environ | {"MILLRACE_SUMMARY": str(SUMMARY), "MILLRACE_DEPTH": str(row.depth)}
    said = _run(
        application,
        ["wrk", f"-t{application.cores.count}", f"-c{connections}", f"-d{seconds}s", "-s", str(script), *options, application.url],
        environment)
    counted = json.loads(said.stderr)
    errors = sum(counted[kind] for kind in ("connect", "read", "write", "timeout", "status"))
    return Counted(counted["requests"], counted["duration_us"] / 1e6, errors)


def _h2load(application: Application, row: Row, connections: int, seconds: int) -> Counted:
    said = _run(
        application,
        ["h2load", f"-t{application.cores.count}", f"-c{connections}", f"-m{row.depth}", f"-D{seconds}", application.url],
        dict(os.environ))
    total = re.search(r"requests: .* (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", said.stdout)
    status = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", said.stdout)
    if total is None or status is None:
        raise LoadFailure(f"h2load: {said.stdout}{said.stderr}")
    # At its end h2load cuts off what is in flight and calls that failed: only what it calls an error or a wrong status counts here.
    errors = int(total[5]) + sum(int(status[i]) for i in (2, 3, 4))
    return Counted(int(status[1]), float(seconds), errors)


def _run(application: Application, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    pinned = ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", application.cores.of_load, *command]
    result = subprocess.run(pinned, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise LoadFailure(f"{Path(command[0]).name}: {(result.stderr or result.stdout).strip()}")
    return result
