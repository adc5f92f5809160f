"""One measurement of one transport, and what speaks against it."""

from dataclasses import dataclass, field

import load
from cores import Cores
from rows import Row
from server import Application
from window import LoadFailure, Window

# Below this the server fell ever further behind: how far is a matter of the window's length.
REACHED_SHARE_MIN = 0.97


@dataclass
class Cell:
    """`core_us`: the server's core, with all that the kernel does for it; only where the core is its own. `process_us`: its process.

    `p99_us` is of a window of its own, at `rate` requests a second.
    """

    row: str
    connections: int
    cores: str
    transport: str
    round: int
    requests_per_s: float = 0
    process_us: float = 0
    core_us: float | None = None
    is_load_bound: bool = False
    faults: list[str] = field(default_factory=list)
    rate: float | None = None
    p99_us: int | None = None
    paced_faults: list[str] = field(default_factory=list)


def press(application: Application, row: Row, connections: int, seconds: int, round_: int) -> Cell:
    """A window under as much load as goes."""
    cell = Cell(row.name, connections, application.cores.value, application.transport, round_)
    try:
        counted, window = Window.of(application, lambda: load.press(application, row, connections, seconds))
    except LoadFailure as failure:
        cell.faults.append(str(failure))
        return cell

    requests = max(counted.requests, 1)
    cell.requests_per_s = counted.requests_per_s
    cell.process_us = window.processor_s * 1e6 / requests
    if application.cores is Cores.ONE:
        cell.core_us = window.server_core.busy * 1e6 / requests
        cell.is_load_bound = window.is_load_bound
    cell.faults = window.faults(application)
    if counted.errors:
        cell.faults.append(f"{counted.errors} errors")
    return cell


def pace(application: Application, row: Row, cell: Cell, seconds: int, rate: float) -> None:
    """A window at a fixed rate; the percentile goes into the cell."""
    cell.rate = rate
    try:
        counted, window = Window.of(application, lambda: load.pace(application, row, cell.connections, seconds, rate))
    except LoadFailure as failure:
        cell.paced_faults.append(str(failure))
        return
    cell.p99_us = counted.p99_us
    cell.paced_faults = window.disturbances(application)
    if counted.requests_per_s < rate * REACHED_SHARE_MIN:
        cell.paced_faults.append(f"{counted.requests_per_s:,.0f}/s of {rate:,.0f}/s were reached")
