"""A run's file: all that was measured, from which the report is made."""

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import report
from goals import Source
from places import RESULTS
from results import Place, Results, RowCell, summary

# More than a run has.
ROUNDS_MAX = 1_000_000
# What is compared, in the version that it calls itself.
_VERSIONS = {
    "lighttpd": ["lighttpd", "-v"], "h2o": ["h2o", "-v"], "caddy": ["caddy", "version"], "lwan": ["lwan", "--version"],
    "dotnet": ["dotnet", "--version"],
}


@dataclass(frozen=True)
class CallCount:
    """System calls of a server's processes, for each request."""

    cores: str
    row: str
    connections: int
    server: str
    each: float


@dataclass
class Record:
    conditions: dict[str, object]
    cells: list[RowCell] = field(default_factory=list)
    calls: list[CallCount] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """In one go: a run that is broken off leaves the last whole one."""
        partial = path.with_suffix(".partial")
        partial.write_text(report.as_json({
            "conditions": self.conditions,
            "failures": self.failures,
            "summary": summary(Results(self.cells)),
            "calls": [asdict(count) for count in self.calls],
            "cells": [asdict(cell) for cell in self.cells],
        }))
        partial.replace(path)


def conditions(settings: dict[str, object]) -> dict[str, object]:
    return report.conditions() | {name: _version(command) for name, command in _VERSIONS.items()} | settings


def _version(command: list[str]) -> str:
    try:
        said = report.said(command)
    except OSError:
        return "missing"
    return version_in(said)


def version_in(said: str) -> str:
    """With what git counts since, where no release was built."""
    found = re.search(r"\d+(?:\.\d+)+(?:-\d+-g[0-9a-f]+)?", said)
    return found[0] if found else said


@dataclass
class Collection:
    """What one or more files hold, of any source. `late`: bench/kestrel's percentiles at a fixed rate, as if they were costs.

    `sizes`: up to which a file goes which way. `conditions`: one of each file, in their order.
    """

    conditions: list[tuple[Source, dict[str, object]]] = field(default_factory=list)
    cells: dict[Source, list[RowCell]] = field(default_factory=dict)
    late: list[RowCell] = field(default_factory=list)
    calls: list[CallCount] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)

    def places(self, file: int) -> list[Place]:
        """Those whose figures are of the file with this number, in its order."""
        source, _ = self.conditions[file]
        return list(dict.fromkeys(cell.place for cell in self.cells[source] if cell.round // ROUNDS_MAX == file))


def stored_in(paths: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in paths]


def kept() -> list[dict[str, Any]]:
    """What docs/performance.md is made of, the oldest run first."""
    return sorted(stored_in(sorted(RESULTS.glob("*.json"))), key=lambda stored: str(stored["conditions"]["date"]))


def collect(files: list[dict[str, Any]]) -> Collection:
    """Of a row that is in several files, all rounds count where what was measured is the same; else the last file's."""
    collection = Collection()
    programs: dict[tuple[Source, Place], tuple[object, ...]] = {}
    for number, stored in enumerate(files):
        source = _source(stored)
        collection.conditions.append((source, stored["conditions"]))
        late: list[RowCell] = []
        if source is Source.PROXY:
            cells = [_of_proxy(cell) for cell in stored["cells"]]
        elif source is Source.KESTREL:
            cells = [
                _of_kestrel(cell, cell["core_us"] if cell["core_us"] is not None else cell["process_us"], cell["faults"])
                for cell in stored["cells"]]
            # What speaks against one of several windows does not speak against the others. Earlier runs had one, and stored no list.
            late = [_of_kestrel(cell, median(cell["p99s_us"]), []) for cell in stored["cells"] if cell.get("p99s_us")]
        else:
            cells = [RowCell.read(cell) for cell in stored["cells"]]
        for cell in cells + late:
            # Rounds of two runs are never the same: servers are compared within one.
            cell.round += number * ROUNDS_MAX
        program = (source, *_measured(stored["conditions"]))
        replaced = {cell.place for cell in cells if programs.get((source, cell.place), program) != program}
        programs |= {(source, cell.place): program for cell in cells}
        collection.cells[source] = [cell for cell in collection.cells.get(source, []) if cell.place not in replaced] + cells
        if source is Source.KESTREL:
            collection.late = [cell for cell in collection.late if cell.place not in replaced] + late
        if source is Source.RUN:
            collection.calls += [CallCount(**count) for count in stored["calls"]]
            again = {place.row for place in replaced}
            collection.failures = {name: failure for name, failure in collection.failures.items() if name.partition(", ")[0] not in again}
            collection.failures |= stored["failures"]
            collection.sizes |= stored["conditions"].get("sizes", {})
    measured = {f"{cell.row}, {cell.server}" for cell in collection.cells.get(Source.RUN, []) if not cell.faults}
    collection.failures = {name: failure for name, failure in collection.failures.items() if name not in measured}
    return collection


def _measured(conditions: dict[str, object]) -> tuple[object, ...]:
    """What was measured, and how."""
    return conditions.get("program", conditions["commit"]), conditions.get("method", 1), conditions["dirty"]


def _source(stored: dict[str, list]) -> Source:
    if "calls" in stored:
        return Source.RUN
    if any("us_per_request" in cell for cell in stored["cells"]):
        return Source.PROXY
    return Source.KESTREL if any("transport" in cell for cell in stored["cells"]) else Source.HTTPS


def _of_proxy(cell: dict[str, object]) -> RowCell:
    return RowCell(
        cell["server"], int(str(cell["row"]).rpartition("-")[2]), cell["round"], row=cell["row"],
        core_us_per_request=cell["us_per_request"], requests_per_s=cell["requests_per_s"], faults=cell["faults"])


def _of_kestrel(cell: dict[str, object], cost: float, faults: list[str]) -> RowCell:
    return RowCell(
        cell["transport"], cell["connections"], cell["round"], row=cell["row"], cores=cell["cores"],
        core_us_per_request=cost, requests_per_s=cell["requests_per_s"], is_load_bound=cell["is_load_bound"], faults=faults)
