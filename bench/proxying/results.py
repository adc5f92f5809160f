"""The cost of a request through each proxy, and the ratios of rounds."""

from dataclasses import dataclass, field

from rows import ROWS
from spread import Spread

# At most HAProxy's cost, and nginx's at least 1.2 times ours.
GOALS = {"haproxy": 1.0, "nginx": 1.2}


@dataclass
class ProxyCell:
    """One proxy, one load, one round."""

    server: str
    row: str
    round: int
    us_per_request: float = 0
    requests_per_s: float = 0
    core_busy: float = 0
    faults: list[str] = field(default_factory=list)


def markdown(cells: list[ProxyCell], names: list[str]) -> str:
    others = [name for name in names if name != "millrace"]
    head = ["row", *(f"{name} us" for name in names), *(f"x {name}" for name in others), "goals"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in [row.name for row in ROWS]:
        of_row = [cell for cell in cells if cell.row == row and not cell.faults]
        if not of_row:
            continue
        costs = [_spread([cell.us_per_request for cell in of_row if cell.server == name]) for name in names]
        ratios = {name: _ratio(of_row, name) for name in others}
        verdicts = [
            f"{name} {'met' if ratio.median >= GOALS[name] else 'missed'}" for name, ratio in ratios.items() if ratio and name in GOALS]
        texts = [str(spread) if spread else "" for spread in [*costs, *ratios.values()]]
        lines.append(f"| {row} | {' | '.join(texts)} | {', '.join(verdicts)} |")
    return "\n".join(lines)


def _spread(values: list[float]) -> Spread | None:
    return Spread.of(values) if values else None


def _ratio(cells: list[ProxyCell], name: str) -> Spread | None:
    """Another's cost over ours, round by round: higher is better."""
    ours = {cell.round: cell.us_per_request for cell in cells if cell.server == "millrace"}
    return _spread([cell.us_per_request / ours[cell.round] for cell in cells if cell.server == name and cell.round in ours])
