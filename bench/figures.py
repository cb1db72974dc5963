"""What was measured: metrics, readings, and the series of them over all repetitions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that can be read off a measurement.

    Attributes:
        key: what gates and results call it, such as "drain.rate".
        title: for tables.
        unit: of its values.
        higher: whether more is better.
    """

    key: str
    title: str
    unit: str
    higher: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A value of a metric in one repetition, measured over n jobs, seconds or whatever the metric counts."""

    metric: Metric
    value: float
    n: int


@dataclass(slots=True)
class Series:
    """All values of a metric for one contestant, by repetition."""

    metric: Metric
    side: str
    n: int
    values: dict[int, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Of all repetitions."""
        return statistics.median(self.values.values())

    @property
    def spread(self) -> float:
        """Half of the range, as a part of the median."""
        return half_range(self.values.values())


class Figures:
    """The series of a run."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str], Series] = {}

    def __iter__(self) -> Iterator[Series]:
        return iter(self._series.values())

    def add(self, side: str, repetition: int, reading: Reading) -> None:
        """Keep what one repetition gave."""
        key = reading.metric.key, side
        series = self._series.setdefault(key, Series(reading.metric, side, reading.n))
        series.values[repetition] = reading.value

    def find(self, key: str, side: str) -> Series | None:
        """The series of a metric and a contestant, if it was measured."""
        return self._series.get((key, side))

    def ratios(self, over: tuple[str, str], under: tuple[str, str]) -> list[float]:
        """One series divided by another, each repetition by itself."""
        above, below = self.find(*over), self.find(*under)
        if above is None or below is None:
            return []
        return [value / below.values[at] for at, value in above.values.items() if at in below.values]


def half_range(values: Iterable[float]) -> float:
    """Half of the range of values as a part of their median; the "±" of all tables."""
    found = list(values)
    middle = statistics.median(found)
    return (max(found) - min(found)) / 2 / middle if middle else 0.0


def quantile(values: list[float], part: float) -> float:
    """The smallest value that at least this part of all values does not exceed."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]
