"""Medians and ratios of a run, as Markdown."""

import statistics
from dataclasses import dataclass

from cell import Cell
from rows import Row
from spread import Spread

OURS = "millrace"


@dataclass
class RowCell(Cell):
    """A server in one row and one round."""

    row: str = ""
    mbit_per_s: float = 0


@dataclass(frozen=True)
class Line:
    """One server in one row: medians over the rounds that count. `x`: on the loopback its cost over ours, over a path our goodput over its."""

    row: str
    server: str
    rounds: int
    requests_per_s: float
    mbit_per_s: float
    core_us_per_request: float
    x: Spread | None
    p50_us: float | None
    p99_us: float | None
    goal: float | None

    @property
    def verdict(self) -> str:
        if self.goal is None or self.x is None:
            return "-"
        if self.x.low < self.goal <= self.x.high:
            return f"{self.goal:.1f}, open"
        return f"{self.goal:.1f}, {'met' if self.x.median >= self.goal else 'missed'}"


def summarize(cells: list[RowCell], rows: list[Row]) -> list[Line]:
    lines = []
    for row in rows:
        good = [cell for cell in cells if cell.row == row.name and not cell.faults]
        for server in dict.fromkeys(cell.server for cell in good):
            mine = [cell for cell in good if cell.server == server]
            both = ratios(row, good, mine)
            lines.append(Line(
                row.name, server, len(mine),
                statistics.median(cell.requests_per_s for cell in mine),
                statistics.median(cell.mbit_per_s for cell in mine),
                statistics.median(cell.core_us_per_request for cell in mine),
                Spread.of(both) if both and server != OURS else None,
                _median([cell.p50_us for cell in mine]),
                _median([cell.p99_us for cell in mine]),
                row.goals.get(server)))
    return lines


def ratios(row: Row, good: list[RowCell], mine: list[RowCell]) -> list[float]:
    ours = {cell.round: cell for cell in good if cell.server == OURS}
    if row.path.is_loopback:
        return [cell.core_us_per_request / ours[cell.round].core_us_per_request for cell in mine if cell.round in ours]
    return [ours[cell.round].mbit_per_s / cell.mbit_per_s for cell in mine if cell.round in ours and cell.mbit_per_s > 0]


def markdown(lines: list[Line], rounds: int) -> str:
    heads = ["row", "server", "requests/s", "Mbit/s", "CPU us/request", "x", "goal", "p50 us", "p99 us", "rounds"]
    said = [_line(heads), "|" + "---|" * len(heads)]
    for line in lines:
        said.append(_line([
            line.row, line.server, f"{line.requests_per_s:,.0f}", f"{line.mbit_per_s:,.0f}", f"{line.core_us_per_request:.2f}",
            str(line.x) if line.x else "-", line.verdict, _text(line.p50_us), _text(line.p99_us), f"{line.rounds} of {rounds}"]))
    said += ["", "x: on the loopback, that server's CPU per request over ours; over a path, our goodput over its. Medians of the rounds' ratios;"
             " higher is better for us."]
    return "\n".join(said)


def pairs(cells: list[RowCell], rows: list[Row]) -> str:
    said = []
    for row in rows:
        good = [cell for cell in cells if cell.row == row.name and not cell.faults]
        for server in dict.fromkeys(cell.server for cell in good if cell.server != OURS):
            both = ratios(row, good, [cell for cell in good if cell.server == server])
            said.append(f"{row.name:<20} {server}: {' '.join(f'{ratio:.2f}' for ratio in both)}")
    return "\n".join(said)


def _median(values: list[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _text(value: float | None) -> str:
    return f"{value:,.0f}" if value is not None else "-"


def _line(fields: list[str]) -> str:
    return f"| {' | '.join(fields)} |"
