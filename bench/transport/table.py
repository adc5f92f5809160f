"""Medians of a run as Markdown: cost, its ratios with their quartiles, requests a second, and the 99th percentile at a fixed rate."""

import statistics
from collections.abc import Callable, Sequence

from cells import Cell
from cores import Cores
from spread import Spread

CONTROL = "sockets"
# What other builds of the sample are compared with, if it is measured.
PRESENT = "millrace"


def markdown(cells: list[Cell], transports: list[str], builds: Sequence[str] = ()) -> str:
    parts = []
    for cores in Cores:
        mine = [cell for cell in cells if cell.cores == cores.value]
        if mine:
            parts += [f"### {_TITLES[cores]}", "", *_costs(mine, transports, cores), "", *_speeds(mine, transports), ""]
            parts += _between(mine, [*builds, *(name for name in transports if name == PRESENT)]) if builds else []
    parts += [
        f"x: the ratio of {CONTROL}' cost to this one's, in the CPU time of the first table; higher is better. Of two builds it is the",
        "other way round: lower is better. Ratios are of each round, here their median with its quartiles.",
        "p99: of the answers' times at a rate of half of what sockets could do at most (the median of the rounds),",
        "the median of the rounds' medians of windows of a second.",
    ]
    return "\n".join(parts)


_TITLES = {
    Cores.ONE: "One core for the server, another for the load",
    Cores.BOTH: "Two cores for the server and the load together",
}


def _costs(cells: list[Cell], transports: list[str], cores: Cores) -> list[str]:
    """CPU us per request: of the core where it is the server's own, and of the process."""
    heads = ["row", "connections"]
    for transport in transports:
        heads += [f"{transport}, core us", f"{transport}, process us"] if cores is Cores.ONE else [f"{transport}, process us"]
    heads += [f"x {transport}" for transport in transports if transport != CONTROL]
    lines = _begin(heads)
    for row, connections in _rows(cells):
        fields = [row, str(connections)]
        for transport in transports:
            mine = _good(cells, row, connections, transport)
            if cores is Cores.ONE:
                fields.append(_median(mine, lambda cell: cell.core_us, "{:.1f}"))
            fields.append(_median(mine, lambda cell: cell.process_us, "{:.1f}"))
        fields += [_ratio(cells, row, connections, CONTROL, transport) for transport in transports if transport != CONTROL]
        lines.append(_line(fields))
    return lines


def _speeds(cells: list[Cell], transports: list[str]) -> list[str]:
    heads = ["row", "connections", *(f"{transport}, requests/s" for transport in transports), "rate/s",
             *(f"{transport}, p99 us" for transport in transports), "rounds"]
    lines = _begin(heads)
    for row, connections in _rows(cells):
        fields = [row, str(connections)]
        groups = [_good(cells, row, connections, transport) for transport in transports]
        for mine in groups:
            bound = "> " if any(cell.is_load_bound for cell in mine) else ""
            fields.append(bound + _median(mine, lambda cell: cell.requests_per_s, "{:,.0f}"))
        fields.append(_median([cell for mine in groups for cell in mine], lambda cell: cell.rate, "{:,.0f}"))
        for transport in transports:
            paced = [cell for cell in cells if (cell.row, cell.connections, cell.transport) == (row, connections, transport)]
            fields.append(_median(paced, lambda cell: cell.p99_us, "{:,.0f}"))
        # Not every transport is in every row.
        fields.append(str(min((len(mine) for mine in groups if mine), default=0)))
        lines.append(_line(fields))
    if any(cell.is_load_bound for cell in cells):
        lines += ["", "`>`: the load was the bottleneck, the server could do more; its cost per request stands."]
    return lines


def _between(cells: list[Cell], builds: list[str]) -> list[str]:
    """What a request costs with each build over what it costs with the first one."""
    first, *others = builds
    lines = _begin(["row", "connections", *(f"{other} / {first}" for other in others)])
    for row, connections in _rows(cells):
        lines.append(_line([row, str(connections), *(_ratio(cells, row, connections, other, first) for other in others)]))
    return [*lines, ""] if others else []


def _ratio(cells: list[Cell], row: str, connections: int, numerator: str, denominator: str) -> str:
    costs = {cell.round: _cost(cell) for cell in _good(cells, row, connections, numerator)}
    ratios = [costs[cell.round] / _cost(cell) for cell in _good(cells, row, connections, denominator) if cell.round in costs]
    return str(Spread.of(ratios)) if ratios else "-"


def _cost(cell: Cell) -> float:
    return cell.core_us if cell.core_us is not None else cell.process_us


def _median(cells: list[Cell], of: Callable[[Cell], float | None], form: str) -> str:
    values = [value for cell in cells if (value := of(cell)) is not None]
    return form.format(statistics.median(values)) if values else "-"


def _good(cells: list[Cell], row: str, connections: int, transport: str) -> list[Cell]:
    return [cell for cell in cells if (cell.row, cell.connections, cell.transport) == (row, connections, transport) and not cell.faults]


def _rows(cells: list[Cell]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((cell.row, cell.connections) for cell in cells))


def _begin(heads: list[str]) -> list[str]:
    return [_line(heads), "|" + "---|" * len(heads)]


def _line(fields: list[str]) -> str:
    return f"| {' | '.join(fields)} |"
