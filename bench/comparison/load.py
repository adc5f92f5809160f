"""The load of a row: as much as goes, by wrk, on the load's cores."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field

import cell
import cold
import files
import tree
from field import Runner
from places import ARTIFACTS, BENCH
from replies import Reply
from rows import Ask, Root, Row
from running import pinned

TARGETS = ARTIFACTS / "run-targets.txt"
SEEN = ARTIFACTS / "run-seen.txt"
REQUESTS = BENCH / "comparison" / "requests.lua"
DEPLOYED = BENCH / "comparison" / "deployed.lua"
# From here on a window may hold more beginnings and ends of replies than whole ones: what counts is bytes.
LARGE_BYTES = 1024 * 1024
# wrk calls what takes longer a failure: by default two seconds, which is little for the last of many readers of 100 MB.
PATIENCE_S = 120
# Heads are as long as a length and an entity tag are.
HEAD_SLACK_BYTES = 8

Wrapping = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Counted:
    """What wrk saw. `requests`: of large replies the bytes' worth of them, as they need not be whole.

    `stale_s`: of a site that is deployed meanwhile.
    """

    requests: float
    seconds: float
    p50_us: int | None
    p99_us: int | None
    p999_us: int | None
    faults: list[str] = field(default_factory=list)
    stale_s: float | None = None


def prepare(row: Row) -> list[str]:
    """What a window of the row needs before it; what is wrong with it."""
    return cold.drop() if row.root is Root.COLD else []


def press(runner: Runner, row: Row, connections: int, reply: Reply, seconds: int, wrap: Wrapping = lambda command: command) -> Counted:
    targets = files.targets(row)
    cores = runner.ground.cores
    deployments = runner.deployments
    script = DEPLOYED if deployments else REQUESTS if row.depth > 1 or len(targets) > 1 else cell.SUMMARY
    TARGETS.write_text("\n".join(targets) + "\n")
    environment = os.environ | {
        "MILLRACE_SUMMARY": str(cell.SUMMARY), "MILLRACE_DEPTH": str(row.depth), "MILLRACE_TARGETS": str(TARGETS),
        "MILLRACE_REQUESTS": str(REQUESTS), "MILLRACE_SEEN": str(SEEN)}
    command = cell.wrk_command(
        runner.url(targets[0]), connections, seconds, script, cores.count, [f"--timeout={PATIENCE_S}s", *reply.fields])
    with deployments.going_on() if deployments else contextlib.nullcontext():
        counted = cell.read_wrk(wrap(pinned(cores.of_load, command)), environment)
    if deployments:
        # Versions differ in length: bodies are judged where they arrive, and not by their sum.
        torn, stale_s = deployments.judge(SEEN)
        faults = cell.wrk_errors(counted) + torn
    else:
        faults, stale_s = _faults(counted, row, connections * row.depth, reply), None
    # A window without a whole reply has no percentiles.
    times = [counted[name] if counted["requests"] else None for name in ("p50_us", "p99_us", "p999_us")]
    return Counted(_requests(counted, reply), counted["duration_us"] / 1e6, *times, faults, stale_s)


def _requests(counted: dict[str, int], reply: Reply) -> float:
    is_large = len(reply.sizes) == 1 and reply.sizes[0] >= LARGE_BYTES
    return counted["bytes"] / reply.sizes[0] if is_large else counted["requests"]


def _faults(counted: dict[str, int], row: Row, in_flight: int, reply: Reply) -> list[str]:
    if row.ask is Ask.MISSING:
        # wrk counts 400 and above here, and all of them should be.
        others = counted["requests"] - counted["status"]
        faults = cell.wrk_faults(counted | {"status": 0}, in_flight, reply.sizes[0])
        return [*faults, f"{others} replies that are no errors"] if others else faults
    if len(reply.sizes) == 1:
        return cell.wrk_faults(counted, in_flight, reply.sizes[0])
    # They are asked for in turn: but for one turn, and for what is in flight at the end, all were answered equally often.
    expected = counted["requests"] * sum(reply.sizes) / len(reply.sizes)
    slack = (in_flight + len(reply.sizes)) * max(reply.sizes)
    if row.root is Root.COLD:
        slack += counted["requests"] * HEAD_SLACK_BYTES
    if row.root is Root.TREE:
        expected = tree.body_bytes(counted["requests"]) + counted["requests"] * reply.head_bytes
        slack = in_flight * tree.LARGEST + counted["requests"] * HEAD_SLACK_BYTES
    faults = cell.wrk_errors(counted)
    if abs(counted["bytes"] - expected) > slack:
        faults.append(f"{counted['bytes']} bytes in place of about {expected:.0f}")
    if row.root is Root.COLD and counted["requests"] + in_flight > cold.FILES:
        faults.append(f"all {cold.FILES} files were asked for, and then some again: the window is too long for this disk")
    return faults
