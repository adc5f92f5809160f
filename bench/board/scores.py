"""Costs and ratios of a run, as Markdown."""

import statistics
from dataclasses import dataclass, field

from profiles import OURS, PEERS, PROFILES, SERVERS
from spread import Spread


@dataclass
class ArenaCell:
    """One server in one profile and one round. `group_us`: of its control group, or of its processes where it has none.

    `cost_us`: of the server's core, or else `group_us`.
    """

    profile: str
    server: str
    round: int
    connections: int = 0
    requests: int = 0
    requests_per_s: float = 0
    cost_us: float = 0
    group_us: float = 0
    p99_us: int | None = None
    is_load_bound: bool = False
    is_of_group: bool = False
    faults: list[str] = field(default_factory=list)


def markdown(cells: list[ArenaCell], cost: str = "core") -> str:
    good = [cell for cell in cells if not cell.faults]
    names = [name for name in SERVERS if any(cell.server == name for cell in good)]
    profiles = [profile for profile in PROFILES if any(cell.profile == profile.name for cell in good)]
    lines = [_line(["profile", "connections", *(f"{name}, us" for name in names)]), "|---|---:|" + "---:|" * len(names)]
    for profile in profiles:
        costs = [_cost([cell for cell in good if (cell.profile, cell.server) == (profile.name, name)]) for name in names]
        lines.append(_line([profile.name, str(profile.connections), *costs]))
    whose = "core" if cost == "core" else "control group"
    lines += ["", f"us: processor time of the server's {whose} per request, median of the rounds. In latency-10k it is that of the control",
              "group, and the 99th percentile is beside it. `>`: the load was the bottleneck; the cost stands.", ""]
    peers = [name for name in PEERS if name in names]
    lines += [
        _line(["profile", "ours", "requests/s", *(f"x {name}" for name in peers), "rounds"]),
        "|---|---|---:|" + "---:|" * len(peers) + "---:|"]
    for profile in profiles:
        for name in OURS:
            mine = [cell for cell in good if (cell.profile, cell.server) == (profile.name, name)]
            if mine:
                bound = "> " if any(cell.is_load_bound for cell in mine) else ""
                speed = f"{bound}{statistics.median(cell.requests_per_s for cell in mine):,.0f}"
                lines.append(_line([profile.name, name, speed, *(_ratio(good, mine, peer) for peer in peers), str(len(mine))]))
    lines += ["", "x: the peer's cost over ours in the same round, median with quartiles; higher is better."]
    return "\n".join(lines)


def _cost(mine: list[ArenaCell]) -> str:
    if not mine:
        return ""
    p99s = [cell.p99_us for cell in mine if cell.p99_us is not None]
    paced = f" (p99 {statistics.median(p99s):,.0f})" if p99s and mine[0].profile.startswith("latency") else ""
    return f"{statistics.median(cell.cost_us for cell in mine):.2f}{paced}"


def _ratio(good: list[ArenaCell], mine: list[ArenaCell], peer: str) -> str:
    theirs = {cell.round: cell.cost_us for cell in good if (cell.profile, cell.server) == (mine[0].profile, peer)}
    ratios = [theirs[cell.round] / cell.cost_us for cell in mine if cell.round in theirs]
    return str(Spread.of(ratios)) if ratios else ""


def _line(fields: list[str]) -> str:
    return f"| {' | '.join(fields)} |"
