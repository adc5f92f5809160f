"""One measurement of one transport, and what speaks against it."""

import statistics
from dataclasses import dataclass, field

import load
from cores import Cores
from rows import Row
from server import Application
from window import LoadFailure, Window

# Below this the server fell ever further behind: how far is a matter of the window's length.
REACHED_SHARE_MIN = 0.97
# One stall of the machine's is the percentile of the window that it falls into: many short windows say what is usual, a long one does not.
PACED_WINDOW_S = 1


@dataclass
class Cell:
    """`core_us`: the server's core, with all that the kernel does for it; only where the core is its own. `process_us`: its process.

    `p99s_us` has one of each window at `rate` requests a second that counts, and `paced_faults` what speaks against the others.
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
    p99s_us: list[int] = field(default_factory=list)
    paced_faults: list[str] = field(default_factory=list)

    @property
    def p99_us(self) -> float | None:
        return statistics.median(self.p99s_us) if self.p99s_us else None


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


def pace(application: Application, row: Row, cell: Cell, rate: float) -> None:
    """A window at a fixed rate; its percentile goes into the cell. One that does not count leaves its fault."""
    cell.rate = rate
    try:
        counted, window = Window.of(application, lambda: load.pace(application, row, cell.connections, PACED_WINDOW_S, rate))
    except LoadFailure as failure:
        cell.paced_faults.append(str(failure))
        return
    faults = window.disturbances(application)
    if counted.requests_per_s < rate * REACHED_SHARE_MIN:
        faults.append(f"{counted.requests_per_s:,.0f}/s of {rate:,.0f}/s were reached")
    if faults:
        cell.paced_faults += faults
        return
    cell.p99s_us.append(counted.p99_us)
