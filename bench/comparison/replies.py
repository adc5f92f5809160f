"""What a server answers to a row's requests, looked at by curl before anything is measured."""

import subprocess
from dataclasses import dataclass, field

import cell
import files
from field import Runner
from rows import PART_BYTES, PART_FIRST, Ask, Life, Row

# Of many, the first are looked at.
TARGETS_MAX = 20


@dataclass(frozen=True)
class Reply:
    """`sizes`: the bytes of whole replies, one for each target that was looked at; `head_bytes`: of their heads, on average.

    `fields`: what requests say, as wrk and curl are told.
    """

    sizes: list[int]
    head_bytes: float
    fields: list[str]
    faults: list[str] = field(default_factory=list)


def look(runner: Runner, row: Row) -> Reply:
    fields, faults = _fields(runner, row)
    sizes, bodies_bytes = [], 0
    for target in files.targets(row)[:TARGETS_MAX]:
        body = runner.deployments.body(target) if runner.deployments else files.body(row, target)
        if runner.entrant.is_filler:
            body = b"x" * runner.ground.file_bytes
        options = [*fields, "--http1.1", *(["--compressed"] if row.is_coded else [])]
        count, wrong = cell.check_reply(runner.url(target), body, options, status=row.ask.status)
        # A server that sends texts as they are has another task than the others.
        if row.is_coded and files.is_coded(target) and not wrong and count >= len(body or b""):
            wrong.append(f"{count} bytes, so it was not coded")
        sizes.append(count)
        bodies_bytes += len(body or b"")
        faults += [f"{target}: {fault}" for fault in wrong]
    return Reply(sizes, (sum(sizes) - bodies_bytes) / len(sizes), fields, faults)


def _fields(runner: Runner, row: Row) -> tuple[list[str], list[str]]:
    lines = []
    if row.life is Life.ONE_REQUEST:
        lines.append("Connection: close")
    if row.ask is Ask.MIX:
        lines.append("Accept-Encoding: gzip")
    if row.ask is Ask.PART:
        lines.append(f"Range: bytes={PART_FIRST}-{PART_FIRST + PART_BYTES - 1}")
    if row.ask is Ask.UNCHANGED:
        tag = _entity_tag(runner, row)
        if tag is None:
            return [], ["no entity tag to ask with"]
        lines.append(f"If-None-Match: {tag}")
    return [word for line in lines for word in ("-H", line)], []


def _entity_tag(runner: Runner, row: Row) -> str | None:
    """Every server has tags of its own."""
    head = subprocess.run(
        ["curl", "-sS", "--max-time", "10", "-D", "-", "-o", "/dev/null", runner.url(files.targets(row)[0])],
        capture_output=True, text=True)
    for line in head.stdout.splitlines():
        name, _, value = line.partition(":")
        if name.lower() == "etag":
            return value.strip()
    return None
