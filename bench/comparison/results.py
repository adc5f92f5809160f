"""Medians of a run, and ratios of what was measured in the same round."""

import statistics
from dataclasses import asdict, dataclass, fields

from cell import Cell
from spread import Spread


@dataclass
class RowCell(Cell):
    """A server in one row, under one number of connections, in one round. `resident_bytes`: after the window.

    `stale_s`: the longest for which an older version was answered. `waits_us`: of its core for each request, where the disk is waited for.
    """

    row: str = ""
    cores: str = "one"
    resident_bytes: int = 0
    stale_s: float | None = None
    waits_us: float | None = None

    @staticmethod
    def read(stored: dict[str, object]) -> "RowCell":
        known = {field.name for field in fields(RowCell)}
        return RowCell(**{name: value for name, value in stored.items() if name in known})

    @property
    def load_us(self) -> float | None:
        """Of the load's core for each request; none where the cores are shared.

        What the kernel sends when a client has read is charged to the client's core, on the loopback.
        """
        is_known = self.cores == "one" and self.busy_share > 0
        return self.core_us_per_request * self.load_busy_share / self.busy_share if is_known else None

    @property
    def with_load_us(self) -> float | None:
        """What both cores, the server's and the load's, took for each request."""
        return self.core_us_per_request + self.load_us if self.load_us is not None else None

    @property
    def place(self) -> "Place":
        return Place(self.cores, self.row, self.connections)


@dataclass(frozen=True)
class Place:
    """Where servers meet."""

    cores: str
    row: str
    connections: int

    @property
    def shared(self) -> str:
        """What to say of it where not every server has a core of its own."""
        return ", both cores" if self.cores == "both" else ""


# In the order of Line.
_ALWAYS = ("user_us", "system_us", "interrupts_us", "requests_per_s")
_SOMETIMES = ("load_us", "p50_us", "p99_us", "p999_us", "waits_us")


@dataclass(frozen=True)
class Line:
    """One server in one place, over the rounds that count."""

    place: Place
    server: str
    rounds: int
    cost_us: Spread
    user_us: float
    system_us: float
    interrupts_us: float
    requests_per_s: float
    is_load_bound: bool
    load_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    waits_us: float | None
    resident_bytes: float
    stale_s: float | None


class Results:
    """All cells that count."""

    def __init__(self, cells: list[RowCell]):
        self._good = [cell for cell in cells if not cell.faults]

    @property
    def places(self) -> list[Place]:
        return list(dict.fromkeys(cell.place for cell in self._good))

    def lines(self, place: Place) -> list[Line]:
        """The cheapest first."""
        servers = dict.fromkeys(cell.server for cell in self._good if cell.place == place)
        return sorted((self._line(place, server) for server in servers), key=lambda line: line.cost_us.median)

    def ratio(self, place: Place, server: str, other: str, cost: str = "core_us_per_request") -> Spread | None:
        ratios = self.ratios(place, server, other, cost)
        return Spread.of(ratios) if ratios else None

    def ratios(self, place: Place, server: str, other: str, cost: str = "core_us_per_request") -> list[float]:
        """The server's cost over the other's, in the rounds that have both: a machine's speed drifts between rounds more than two servers
        differ."""
        mine, theirs = self._costs(place, server, cost), self._costs(place, other, cost)
        return [mine[round_] / theirs[round_] for round_ in mine if round_ in theirs]

    def _costs(self, place: Place, server: str, cost: str) -> dict[int, float]:
        return {cell.round: value for cell in self._of(place, server) if (value := getattr(cell, cost)) is not None}

    def _line(self, place: Place, server: str) -> Line:
        mine = self._of(place, server)
        return Line(
            place, server, len(mine),
            Spread.of([cell.core_us_per_request for cell in mine]),
            *(statistics.median(getattr(cell, name) for cell in mine) for name in _ALWAYS),
            any(cell.is_load_bound for cell in mine),
            *(_median([getattr(cell, name) for cell in mine]) for name in _SOMETIMES),
            statistics.median(cell.resident_bytes for cell in mine),
            # Not what it mostly was: once is enough for those who got it.
            max((cell.stale_s for cell in mine if cell.stale_s is not None), default=None))

    def _of(self, place: Place, server: str) -> list[RowCell]:
        return [cell for cell in self._good if cell.place == place and cell.server == server]


def summary(results: Results) -> list[dict[str, object]]:
    return [asdict(line) for place in results.places for line in results.lines(place)]


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
