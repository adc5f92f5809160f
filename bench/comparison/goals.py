"""What the numbers must be, and whether they are."""

from dataclasses import dataclass, replace
from enum import Enum

from results import Place, Results, RowCell
from spread import Spread

NGINX = ("nginx", "nginx-copy")
# Beside the kernel's own cost the one is the aim, and the other passes: a limit's own figure moves by as much.
AIM, PASSES = 1.06, 1.12


class Source(Enum):
    """Whose run has the figures."""

    RUN = "bench/run"
    HTTPS = "bench/https"
    KESTREL = "bench/kestrel"


class Verdict(Enum):
    MET = "met"
    NEAR = "passes"
    MISSED = "missed"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class Goal:
    """`at_most`: the server's figure over the first other's. `at_least`: the others' over the server's, of each of them.

    `passes`: up to where it is no miss, though not what is aimed at.
    """

    title: str
    row: str
    connections: int
    server: str
    others: tuple[str, ...]
    at_most: float | None = None
    passes: float | None = None
    at_least: float | None = None
    source: Source = Source.RUN
    figure: str = "cost"

    @property
    def text(self) -> str:
        other = self.others[0]
        if self.figure != "cost":
            return f"{self.figure} at most {self.at_most} x {other}'s"
        if self.at_most is not None:
            return f"at most {self.at_most} x {other}{f' ({self.passes} passes)' if self.passes else ''}"
        return f"{other} costs at least {self.at_least} x"


@dataclass(frozen=True)
class Judgement:
    """`seen` is the ratio that the goal speaks of; of several others the worst."""

    goal: Goal
    seen: Spread | None
    other: str
    verdict: Verdict


def _beside(row: str, connections: int, title: str, limit: float, nginx: float, server: str = "millrace", own: str = "limit") -> list[Goal]:
    return [
        Goal(title, row, connections, server, (own,), at_most=limit, passes=PASSES if limit == AIM else None),
        Goal(title, row, connections, server, NGINX, at_least=nginx),
    ]


def _kestrel(row: str, connections: int, ratio: float) -> list[Goal]:
    of_all = Goal(f"Kestrel, {row}", row, connections, "millrace", ("sockets",), source=Source.KESTREL)
    return [replace(of_all, at_least=ratio), replace(of_all, at_most=0.5, figure="p99 at an equal rate")]


GOALS = [
    Goal("1 KB", "1k", 64, "millrace", ("limit",), at_most=AIM, passes=PASSES),
    Goal("1 KB", "1k", 64, "millrace", ("lwan",), at_least=1.0),
    *_beside("10k", 64, "10 KB", AIM, 1.4),
    Goal("10 KB", "10k", 64, "millrace", ("lwan",), at_least=1.0),
    *_beside("10k", 512, "10 KB", AIM, 1.6),
    Goal("10 KB", "10k", 512, "millrace", ("lwan",), at_least=1.1),
    *_beside("10k", 64, "10 KB, read at each request", AIM, 1.25, "millrace-read", "limit-read"),
    *_beside("100k", 64, "100 KB", 1.1, 1.3),
    *_beside("1m", 16, "1 MB", 1.25, 1.8),
    Goal("1 MB", "1m", 16, "millrace", ("lighttpd",), at_least=1.0),
    Goal("10 KB", "10k", 64, "millrace", ("map-static-assets",), at_least=4.6),
    Goal("10 KB, PipeReader and PipeWriter", "10k", 64, "millrace-pipe", NGINX, at_least=1.27),
    # What Kestrel itself does leaves no room for 2.0, docs/adr/0010.
    *_kestrel("plaintext", 64, 1.7),
    *_kestrel("plaintext", 512, 1.7),
    *_kestrel("json", 64, 1.7),
    *_kestrel("10k", 64, 1.5),
    *_kestrel("https", 64, 1.4),
    Goal("HTTPS/1.1, 10 KB", "https", 64, "millrace", NGINX, at_least=1.2, source=Source.HTTPS),
    Goal("HTTP/2 over TLS, 16 x 16 streams, 10 KB", "http2", 16, "millrace", NGINX, at_least=1.3, source=Source.HTTPS),
]
# Whose column would have to come from elsewhere: its goals are shown, and nobody can judge them here.
ABSENT = {"lwan": "not in Debian, and not built from source"}


def asked() -> dict[tuple[str, int], set[str]]:
    """Where this run's goals speak, and of whom."""
    places: dict[tuple[str, int], set[str]] = {}
    for goal in GOALS:
        if goal.source is Source.RUN:
            places.setdefault((goal.row, goal.connections), set()).update((goal.server, *goal.others))
    return places


def judge(goal: Goal, cells: dict[Source, list[RowCell]], late: list[RowCell]) -> Judgement:
    """`late`: of bench/kestrel, with the percentile at a fixed rate where the cost would be."""
    mine = Results(late if goal.figure != "cost" else cells.get(goal.source, []))
    place = Place("one", goal.row, goal.connections)
    ratios = {other: ratio for other in goal.others if (ratio := mine.ratio(place, goal.server, other)) is not None}
    if not ratios:
        return Judgement(goal, None, goal.others[0], Verdict.UNKNOWN)
    # The other that is cheapest beside this server is the one that a claim must hold against.
    other, ratio = max(ratios.items(), key=lambda item: item[1].median)
    if goal.at_most is not None:
        return Judgement(goal, ratio, other, _verdict(ratio.median <= goal.at_most, ratio.median <= (goal.passes or 0)))
    seen = ratio.inverse
    return Judgement(goal, seen, other, _verdict(seen.median >= goal.at_least, False))


def _verdict(is_met: bool, is_near: bool) -> Verdict:
    return Verdict.MET if is_met else Verdict.NEAR if is_near else Verdict.MISSED
