"""A median with its quartiles."""

import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """A median and the quartiles around it; of a single round they are all it."""

    low: float
    median: float
    high: float
    count: int

    @staticmethod
    def of(values: list[float]) -> "Spread":
        if len(values) < 2:
            return Spread(values[0], values[0], values[0], len(values))
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return Spread(low, median, high, len(values))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"

    @property
    def inverse(self) -> "Spread":
        return Spread(1 / self.high, 1 / self.median, 1 / self.low, self.count)
