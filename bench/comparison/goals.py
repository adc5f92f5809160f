"""What the numbers must be, and whether they are."""

from dataclasses import dataclass, replace
from enum import Enum

from results import Place, Results, RowCell
from spread import Spread

NGINX = ("nginx", "nginx-copy")
# Those that send large files by reference: what the kernel then does on the client's core is counted too.
BY_REFERENCE = (*NGINX, "lighttpd", "lwan")


class Source(Enum):
    """Whose run has the figures."""

    RUN = "bench/run"
    HTTPS = "bench/https"
    KESTREL = "bench/kestrel"
    PROXY = "bench/proxy"


class Figure(Enum):
    """What a goal compares."""

    COST = "cost"
    BOTH_CORES = "cost of both cores"
    LATE = "p99 at an equal rate"


class Verdict(Enum):
    MISSED = "missed"
    OPEN = "open"
    MET = "met"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class Goal:
    """`at_most`: the server's figure over the other's. `at_least`: the others' over the server's, of each of them."""

    row: str
    connections: int
    others: tuple[str, ...]
    at_most: float | None = None
    at_least: float | None = None
    source: Source = Source.RUN
    figure: Figure = Figure.COST
    server: str = "millrace"

    @property
    def text(self) -> str:
        what = "" if self.figure is Figure.COST else f"{self.figure.value}: "
        return f"{what}at most {self.at_most} x {self.others[0]}" if self.at_most else f"{what}{self.others[0]} at least {self.at_least} x"


@dataclass(frozen=True)
class Judgement:
    """`seen` is the ratio that the goal speaks of; of several others the worst."""

    goal: Goal
    seen: Spread | None
    other: str
    verdict: Verdict


def _site(rows: str, numbers: tuple[int, ...], ratio: float) -> list[Goal]:
    return [Goal(f"{rows}-{number}", number, NGINX, at_least=ratio, source=Source.HTTPS) for number in numbers]


def _kestrel(row: str, connections: int, ratio: float) -> list[Goal]:
    of_all = Goal(row, connections, ("sockets",), at_least=ratio, source=Source.KESTREL)
    return [of_all, replace(of_all, at_least=None, at_most=0.33, figure=Figure.LATE)]


def _proxy(row: str, connections: int) -> list[Goal]:
    return [
        Goal(row, connections, ("nginx",), at_least=1.2, source=Source.PROXY),
        Goal(row, connections, ("haproxy",), at_least=1.0, source=Source.PROXY),
    ]


GOALS = [
    Goal("10k", 64, ("limit",), at_most=1.06),
    Goal("10k", 512, ("limit",), at_most=1.06),
    Goal("100k", 64, BY_REFERENCE, at_least=1.0, figure=Figure.BOTH_CORES),
    Goal("1m", 16, BY_REFERENCE, at_least=1.0, figure=Figure.BOTH_CORES),
    *_site("site-http", (64, 512, 1024), 1.5),
    *_site("site-https", (64, 256, 1024), 1.6),
    *_site("site-http2", (16, 64, 256), 1.6),
    *_site("site-http2-plain", (16, 64, 256), 1.3),
    *_kestrel("plaintext", 64, 1.8),
    *_kestrel("plaintext", 512, 1.6),
    *_kestrel("json", 64, 1.8),
    *_kestrel("json", 512, 1.6),
    *(goal for protocol in ("http", "h2c") for size in ("1k", "100k") for number in (64, 512)
      for goal in _proxy(f"{protocol}-{size}-{number}", number)),
]


def asked() -> dict[tuple[str, int], set[str]]:
    """Where this run's goals speak, and of whom."""
    places: dict[tuple[str, int], set[str]] = {}
    for goal in GOALS:
        if goal.source is Source.RUN:
            places.setdefault((goal.row, goal.connections), set()).update((goal.server, *goal.others))
    return places


def judge(goal: Goal, cells: dict[Source, list[RowCell]], late: list[RowCell]) -> Judgement:
    """`late`: of bench/kestrel, with the percentile at a fixed rate where the cost would be."""
    mine = Results(late if goal.figure is Figure.LATE else cells.get(goal.source, []))
    cost = "with_load_us" if goal.figure is Figure.BOTH_CORES else "core_us_per_request"
    place = Place("one", goal.row, goal.connections)
    ratios = {other: ratio for other in goal.others if (ratio := mine.ratio(place, goal.server, other, cost)) is not None}
    if not ratios:
        return Judgement(goal, None, goal.others[0], Verdict.UNKNOWN)
    # The other that is cheapest beside this server is the one that a claim must hold against.
    other, ratio = max(ratios.items(), key=lambda item: item[1].median)
    if goal.at_most is not None:
        return Judgement(goal, ratio, other, _verdict(ratio.low <= goal.at_most, ratio.high <= goal.at_most))
    seen = ratio.inverse
    return Judgement(goal, seen, other, _verdict(seen.high >= goal.at_least, seen.low >= goal.at_least))


def _verdict(*quartiles_meet: bool) -> Verdict:
    """A row whose quartiles lie on both sides of its goal is open, whatever its median."""
    return Verdict.MET if all(quartiles_meet) else Verdict.OPEN if any(quartiles_meet) else Verdict.MISSED
