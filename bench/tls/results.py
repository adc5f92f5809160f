"""Medians and ratios of a run, as Markdown."""

import statistics
from dataclasses import dataclass

from cell import Cell
from rows import Row
from spread import Spread

CONTROLS = ["nginx", "nginx-copy"]


@dataclass
class RowCell(Cell):
    """A server in one row and one round."""

    row: str = ""


@dataclass(frozen=True)
class Line:
    """One server in one row: medians over the rounds that count; `x` are medians of the rounds' own ratios."""

    row: str
    server: str
    rounds: int
    requests_per_s: float
    is_load_bound: bool
    core_us_per_request: float
    x: dict[str, Spread]
    p50_us: float | None
    p99_us: float | None
    goal: float | None

    @property
    def verdict(self) -> str:
        """Against the cheaper of the two; open where quartiles are on both sides of the goal."""
        if self.goal is None or not self.x:
            return "-"
        worst = min(self.x.values(), key=lambda ratio: ratio.median)
        if worst.low < self.goal <= worst.high:
            return "open"
        return "met" if worst.median >= self.goal else "missed"


def summarize(cells: list[RowCell], rows: list[Row]) -> list[Line]:
    lines = []
    for row in rows:
        good = [cell for cell in cells if cell.row == row.name and not cell.faults]
        for server in dict.fromkeys(cell.server for cell in good):
            mine = [cell for cell in good if cell.server == server]
            lines.append(Line(
                row.name, server, len(mine),
                statistics.median(cell.requests_per_s for cell in mine),
                any(cell.is_load_bound for cell in mine),
                statistics.median(cell.core_us_per_request for cell in mine),
                _ratios(good, mine),
                _median([cell.p50_us for cell in mine]),
                _median([cell.p99_us for cell in mine]),
                row.goals.get(server)))
    return lines


def markdown(lines: list[Line], rounds: int) -> str:
    ratios = [f"x {control}" for control in CONTROLS]
    heads = ["row", "server", "requests/s", "CPU us/request", *ratios, "goal", "p50 us", "p99 us", "rounds"]
    said = [_line(heads), "|" + "---|" * len(heads)]
    for line in lines:
        said.append(_line([
            line.row, line.server, f"{'> ' if line.is_load_bound else ''}{line.requests_per_s:,.0f}", f"{line.core_us_per_request:.2f}",
            *(str(line.x[control]) if control in line.x else "-" for control in CONTROLS), _goal_text(line),
            _text(line.p50_us, "{:,.0f}"), _text(line.p99_us, "{:,.0f}"), f"{line.rounds} of {rounds}"]))
    said += ["", "x: that one's cost over this one's, the median of the rounds' ratios; higher is better. The goal is against either."]
    if any(line.is_load_bound for line in lines):
        said.append("`>`: the load was the bottleneck, the server could do more; its cost per request stands.")
    return "\n".join(said)


def pairs(cells: list[RowCell], rows: list[Row]) -> str:
    """The cost of each control over each server's, round by round."""
    lines = []
    for row in rows:
        good = [cell for cell in cells if cell.row == row.name and not cell.faults]
        for server in dict.fromkeys(cell.server for cell in good if cell.server not in CONTROLS):
            for control, both in _both(good, [cell for cell in good if cell.server == server]).items():
                lines.append(f"{row.name:<20} {control} / {server}: {' '.join(f'{ratio:.2f}' for ratio in both)}")
    return "\n".join(lines)


def _ratios(good: list[RowCell], mine: list[RowCell]) -> dict[str, Spread]:
    return {control: Spread.of(both) for control, both in _both(good, mine).items()}


def _both(good: list[RowCell], mine: list[RowCell]) -> dict[str, list[float]]:
    """The cost of each control over this server's, in the rounds that both have."""
    ratios = {}
    for control in CONTROLS:
        cost = {cell.round: cell.core_us_per_request for cell in good if cell.server == control}
        if both := [cost[cell.round] / cell.core_us_per_request for cell in mine if cell.round in cost]:
            ratios[control] = both
    return ratios


def _median(values: list[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _goal_text(line: Line) -> str:
    if line.goal is None:
        return "-"
    return f"{line.goal:.1f}, {line.verdict}"


def _text(value: float | None, form: str) -> str:
    return form.format(value) if value is not None else "-"


def _line(fields: list[str]) -> str:
    return f"| {' | '.join(fields)} |"
