"""What is measured: the rows of the table."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Path:
    """Between the load and the server: of each direction. All zero: the loopback."""

    delay_ms: float = 0
    loss_percent: float = 0
    rate_mbit: int = 0

    @property
    def is_loopback(self) -> bool:
        return self == Path()


@dataclass(frozen=True)
class Row:
    """`goals`: how many times another's cost (on the loopback) must be ours at least; over a path, our goodput over another's."""

    name: str
    files: str
    connections: int
    streams: int
    path: Path = field(default_factory=Path)
    goals: dict[str, float] = field(default_factory=dict)


TEN, TWENTY, LARGE = "the one file of 10 KB", "the twenty files of sitefiles.py with brotli, in turn", "one file of 8 MiB"
# At most twice what our HTTP/2 costs, and a third of what Caddy does.
_COSTS = {"millrace-http2": 0.5, "caddy": 3.0}
# A path loses nothing of the control's goodput to the protocol.
_GOODPUT = {"millrace-http2": 1.0}


ROWS = [
    Row("10k", TEN, 64, 16, goals=_COSTS),
    Row("site", TWENTY, 64, 16, goals=_COSTS),
    Row("large", LARGE, 4, 1),
    Row("path-10k-delay", TEN, 64, 16, Path(15, 0, 200)),
    Row("path-10k-loss", TEN, 64, 16, Path(0, 1, 200)),
    Row("path-10k-both", TEN, 64, 16, Path(15, 1, 200)),
    Row("path-site-both", TWENTY, 64, 16, Path(15, 1, 200)),
    Row("path-large-delay", LARGE, 1, 1, Path(15, 0, 100), goals=_GOODPUT),
    Row("path-large-both", LARGE, 1, 1, Path(15, 1, 100), goals=_GOODPUT),
]
USUAL = ["10k", "site", "path-large-delay", "path-large-both"]
