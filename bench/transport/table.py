"""Medians of a run as Markdown: cost, requests a second, and the 99th percentile at a fixed rate."""

import statistics
from collections.abc import Callable

from cells import Cell
from cores import Cores

CONTROL = "sockets"


def markdown(cells: list[Cell], transports: list[str]) -> str:
    parts = []
    for cores in Cores:
        mine = [cell for cell in cells if cell.cores == cores.value]
        if mine:
            parts += [f"### {_TITLES[cores]}", "", *_costs(mine, transports, cores), "", *_speeds(mine, transports), ""]
    parts += [
        f"x: the median of the rounds' ratios of {CONTROL}' cost to this one's, in the CPU time of the first table; higher is better.",
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
        fields += [_ratio(cells, row, connections, transport) for transport in transports if transport != CONTROL]
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


def _ratio(cells: list[Cell], row: str, connections: int, transport: str) -> str:
    control = {cell.round: _cost(cell) for cell in _good(cells, row, connections, CONTROL)}
    ratios = [control[cell.round] / _cost(cell) for cell in _good(cells, row, connections, transport) if cell.round in control]
    return f"{statistics.median(ratios):.2f}" if ratios else "-"


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
