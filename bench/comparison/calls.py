"""System calls per request, counted in a window that is not timed: counting slows the server down."""

import contextlib
import functools
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from field import Runner
from load import Counted, press
from places import ARTIFACTS
from replies import Reply
from rows import Row

EVENT = "raw_syscalls:sys_enter"
SAID = ARTIFACTS / "run-calls.txt"
SECONDS = 1
ATTACH_TIMEOUT_S = 10


@functools.cache
def tool() -> str | None:
    """perf, where the kernel lets it count; else strace, which stops the server at each call, so that one on io_uring makes fewer."""
    if shutil.which("perf"):
        tried = subprocess.run(["perf", "stat", "-x,", "-e", EVENT, "true"], capture_output=True, text=True)
        if tried.returncode == 0 and tried.stderr.partition(",")[0].strip().isdigit():
            return "perf"
    return "strace" if shutil.which("strace") else None


def per_request(runner: Runner, row: Row, connections: int, reply: Reply) -> float | None:
    match tool():
        case "perf":
            return _by_perf(runner, row, connections, reply)
        case "strace":
            return _by_strace(runner, row, connections, reply)
    return None


def _by_perf(runner: Runner, row: Row, connections: int, reply: Reply) -> float | None:
    watching = ["perf", "stat", "-x,", "-o", str(SAID), "-e", EVENT, "-p", _members(runner), "--"]
    counted = press(runner, row, connections, reply, SECONDS, lambda command: watching + command)
    return _each(r"^(\d+),[^,]*," + EVENT, counted)


def _by_strace(runner: Runner, row: Row, connections: int, reply: Reply) -> float | None:
    watching = subprocess.Popen(
        ["strace", "-f", "-c", "-o", str(SAID), "-p", _members(runner)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await_tracer(runner)
        counted = press(runner, row, connections, reply, SECONDS)
    finally:
        watching.send_signal(signal.SIGINT)
        watching.wait()
    # Seconds, microseconds each, calls and perhaps errors stand before the word.
    return _each(r"^\s*100\.00(?:\s+[\d.]+){1,2}\s+(\d+)(?:\s+\d+)?\s+total", counted)


def _each(pattern: str, counted: Counted) -> float | None:
    found = re.search(pattern, SAID.read_text(), re.MULTILINE)
    return int(found[1]) / counted.requests if found and counted.requests else None


def _members(runner: Runner) -> str:
    return ",".join(str(pid) for pid in runner.members())


def _await_tracer(runner: Runner) -> None:
    deadline = time.monotonic() + ATTACH_TIMEOUT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            if all("TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text() for pid in runner.members()):
                return
        time.sleep(0.05)
