"""One cell of a run: a server under one load, for one window of time."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from places import BENCH, FILE_NAME
from running import LOAD_CORE, RunningServer, pinned
from window import LoadFailure, Window

SUMMARY = BENCH / "harness" / "summary.lua"


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
    p50_us: int | None = None
    p99_us: int | None = None
    p999_us: int | None = None
    user_us: float = 0
    system_us: float = 0
    interrupts_us: float = 0
    is_load_bound: bool = False
    faults: list[str] = field(default_factory=list)

    def take(self, window: Window, requests: int, seconds: float) -> None:
        self.requests, self.requests_per_s = requests, requests / seconds
        core, us_each = window.server_core, 1e6 / max(requests, 1)
        self.core_us_per_request = core.busy * us_each
        self.user_us, self.system_us, self.interrupts_us = core.user * us_each, core.system * us_each, core.interrupts * us_each
        self.busy_share, self.load_busy_share = window.server_core.busy_share, window.load_core.busy_share
        self.others_share, self.is_load_bound = window.others_share, window.is_load_bound


def check_reply(
        url: str, body: bytes | None, options: list[str] | None = None, environment: dict[str, str] | None = None,
        status: int = 200) -> tuple[int, list[str]]:
    """One request by curl: the bytes of the whole reply, and what is wrong with it. Without a body, any will do."""
    result = subprocess.run(
        ["curl", "-sS", "--max-time", "10", *(options or []), "-w", "%{stderr}%{http_code} %{size_header} %{size_download}", url],
        capture_output=True, env=environment)
    if result.returncode != 0:
        return 0, [f"curl: {result.stderr.decode(errors='replace').strip()}"]
    seen, head_bytes, body_bytes = (int(word) for word in result.stderr.split())
    faults = []
    if seen != status:
        faults.append(f"status {seen}")
    if body is not None and len(result.stdout) != len(body):
        faults.append(f"a body of {len(result.stdout)} bytes instead of {len(body)}")
    elif body is not None and result.stdout != body:
        faults.append("a body of the right length and the wrong bytes")
    # As they were sent: curl may have been asked to decode them.
    return head_bytes + body_bytes, faults


@dataclass(frozen=True)
class Load:
    connections: int
    warmup_s: int
    seconds: int


def measure(running: RunningServer, load: Load, round_: int, reply_bytes: int) -> Cell:
    """A warm-up and one window. The cell says itself what speaks against it."""
    cell = Cell(running.server.name, load.connections, round_)
    try:
        run_wrk(url_of(running), load.connections, load.warmup_s)
        _measure_window(cell, running, load.seconds, reply_bytes)
    except LoadFailure as failure:
        cell.faults.append(str(failure))
    return cell


def _measure_window(cell: Cell, running: RunningServer, seconds: int, reply_bytes: int) -> None:
    counted, window = Window.of(running, lambda: run_wrk(url_of(running), cell.connections, seconds))
    cell.take(window, counted["requests"], counted["duration_us"] / 1e6)
    cell.p50_us, cell.p99_us = counted["p50_us"], counted["p99_us"]
    cell.faults = window.faults(running) + wrk_faults(counted, cell.connections, reply_bytes)


def wrk_command(
        url: str, connections: int, seconds: int, script: Path = SUMMARY, threads: int = 1, options: Sequence[str] = ()) -> list[str]:
    return ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "-s", str(script), *options, url]


def run_wrk(url: str, connections: int, seconds: int, environment: dict[str, str] | None = None) -> dict[str, int]:
    return read_wrk(pinned(LOAD_CORE, wrk_command(url, connections, seconds)), environment)


def read_wrk(command: list[str], environment: dict[str, str] | None = None) -> dict[str, int]:
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise LoadFailure(f"wrk: {(result.stderr or result.stdout).strip()}")
    return json.loads(result.stderr)


def url_of(running: RunningServer) -> str:
    return f"http://127.0.0.1:{running.port}/{FILE_NAME}"


def wrk_errors(counted: dict[str, int]) -> list[str]:
    """What wrk itself calls an error."""
    faults = []
    for kind in ("connect", "read", "write", "timeout"):
        if counted[kind]:
            faults.append(f"{counted[kind]} {kind} errors")
    # wrk counts 400 and above here; a redirect or an empty 2xx shows in the bytes.
    if counted["status"]:
        faults.append(f"{counted['status']} replies that are not 2xx")
    return faults


def wrk_faults(counted: dict[str, int], connections: int, reply_bytes: int) -> list[str]:
    """What wrk saw that should not be."""
    faults = wrk_errors(counted)
    # Beyond the completed replies each connection may hold a part of one when the window ends.
    if not counted["requests"] * reply_bytes <= counted["bytes"] <= (counted["requests"] + connections) * reply_bytes:
        faults.append(f"{counted['bytes']} bytes for {counted['requests']} replies of {reply_bytes}")
    return faults
