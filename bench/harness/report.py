"""Medians and ratios of a run, as a table and as JSON."""

import json
import platform
import statistics
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import network
from cell import Cell
from places import REPOSITORY


LOAD_BOUND = "> the load generator was the bottleneck: the server can do more requests/s; its cost per request stands."

# How it is measured: another number where figures cannot stand beside those of before. 2, since a run's other servers count as others, and
# what is paced is paced alike on all wires.
METHOD = 3

# Servers, applications and peers, and how they are built; not how they are measured.
MEASURED = (
    "src", "Directory.Build.props", "Directory.Packages.props", "bench/limit", "bench/Millrace.Fronts", "bench/peers", "samples/WebApi")


@dataclass(frozen=True)
class Row:
    """One server at one number of connections: medians over the rounds that count.

    The ratios are medians of the rounds' own ratios, since a machine's speed drifts between rounds
    more than two servers differ. `x_limit`: cost over limit's, lower is better, 1 is the kernel's own.
    `x_nginx`: nginx's cost over this one's, higher is better. `x_millrace`: cost over that of Millrace alone, lower is better.
    """

    server: str
    connections: int
    rounds: int
    requests_per_s: float
    is_load_bound: bool
    core_us_per_request: float
    x_limit: float | None
    x_nginx: float | None
    x_millrace: float | None


def summarize(cells: list[Cell]) -> list[Row]:
    good = [cell for cell in cells if not cell.faults]
    cost = {(cell.server, cell.connections, cell.round): cell.core_us_per_request for cell in good}
    rows = []
    for server, connections in dict.fromkeys((cell.server, cell.connections) for cell in sorted(good, key=lambda cell: cell.connections)):
        mine = [cell for cell in good if (cell.server, cell.connections) == (server, connections)]
        to_limit = _ratios(cost, mine, "limit")
        to_nginx = _ratios(cost, mine, "nginx")
        to_millrace = _ratios(cost, mine, "millrace")
        rows.append(Row(
            server, connections, len(mine),
            statistics.median(cell.requests_per_s for cell in mine),
            any(cell.is_load_bound for cell in mine),
            statistics.median(cell.core_us_per_request for cell in mine),
            statistics.median(to_limit) if to_limit else None,
            1 / statistics.median(to_nginx) if to_nginx else None,
            statistics.median(to_millrace) if to_millrace else None))
    return rows


def markdown(rows: list[Row], rounds: int) -> str:
    """What those who look on cost, as documents have it."""
    lines = ["| connections | server | requests/s | core us/request | x millrace | rounds |", "|---:|---|---:|---:|---:|---|"]
    lines += [
        f"| {row.connections} | {row.server} | {_rate_text(row).strip()} | {row.core_us_per_request:.2f}"
        f" | {_ratio_text(row.x_millrace).strip()} | {row.rounds} of {rounds} |" for row in rows]
    lines += ["", "x millrace: cost over that of Millrace alone, lower is better."]
    if any(row.is_load_bound for row in rows):
        lines.append(LOAD_BOUND)
    return "\n".join(lines)


def table(rows: list[Row], rounds: int) -> str:
    lines = [f"{'connections':>11}  {'server':<12} {'requests/s':>10}  {'CPU us/request':>14}  {'x limit':>7}  {'x nginx':>7}  rounds"]
    for row in rows:
        lines.append(
            f"{row.connections:>11}  {row.server:<12} {_rate_text(row):>10}  {row.core_us_per_request:>14.2f}"
            f"  {_ratio_text(row.x_limit)}  {_ratio_text(row.x_nginx)}  {row.rounds} of {rounds}")
    lines.append("x limit: cost over the kernel's own, lower is better. x nginx: nginx's cost over this one's, higher is better.")
    if any(row.is_load_bound for row in rows):
        lines.append(LOAD_BOUND)
    return "\n".join(lines)


def write(path: Path, settings: dict[str, object], cells: list[Cell], rows: list[Row], failures: dict[str, str]) -> None:
    path.write_text(as_json({
        "conditions": conditions() | settings,
        "failures": failures,
        "summary": [asdict(row) for row in rows],
        "cells": [asdict(cell) for cell in cells],
    }))


def as_json(sections: dict[str, object]) -> str:
    """With a line for each entry of a list, so that files of two runs can be compared by eye."""
    return "{" + ",\n".join(f"{json.dumps(name)}: {_section(content)}" for name, content in sections.items()) + "}\n"


def _section(content: object) -> str:
    return "[\n" + ",\n".join(map(json.dumps, content)) + "]" if isinstance(content, list) else json.dumps(content, indent=1)


def _ratios(cost: dict[tuple[str, int, int], float], mine: list[Cell], other: str) -> list[float]:
    return [
        cell.core_us_per_request / cost[other, cell.connections, cell.round]
        for cell in mine if (other, cell.connections, cell.round) in cost
    ]


def _rate_text(row: Row) -> str:
    return f"{'> ' if row.is_load_bound else ''}{row.requests_per_s:,.0f}"


def _ratio_text(ratio: float | None) -> str:
    return f"{ratio:7.2f}" if ratio is not None else f"{'-':>7}"


def conditions() -> dict[str, object]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": said(["git", "-C", str(REPOSITORY), "rev-parse", "HEAD"]),
        "program": program(),
        "method": METHOD,
        "dirty": said(["git", "-C", str(REPOSITORY), "status", "--porcelain"]) != "",
        "congestion_control": network.congestion_control(),
        "kernel": platform.release(),
        "cpu": next(line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
        "nginx": said(["nginx", "-v"]),
        "wrk": said(["wrk", "-v"]).splitlines()[0],
        "gcc": said(["gcc", "-dumpfullversion"]),
    }


def program() -> str:
    """What is measured, by the names that git has for its content: what else a commit changes makes no other figures."""
    return said(["git", "-C", str(REPOSITORY), "rev-parse", *(f"HEAD:{part}" for part in MEASURED)]).replace("\n", " ")


def said(command: list[str]) -> str:
    # wrk -v exits with 1 and nginx -v writes to stderr: what they say is what is asked.
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.strip()
