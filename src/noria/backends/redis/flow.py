"""How many jobs came and went: counted by each script as it moves them, read without looking at any job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Final, cast

from noria.backends.contract import Flow, Point
from noria.backends.redis.call import Call, Request, Steps
from noria.backends.redis.settings import Settings
from noria.backends.units import millis
from noria.model.flow import Word
from noria.model.limits import FLOW_FOR

MINUTE: Final = 60_000
"""Milliseconds."""

KEPT: Final = round(FLOW_FOR / 60)
"""Minutes for which numbers by the minute are kept."""

LEEWAY: Final = 60
"""Minutes for which those that may go are left, so that an idle store is not written to each minute."""

_Number = tuple[Word, str, str, int]


@dataclass(slots=True)
class Totals(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Since the store began."""
        ((fresh, flat),) = yield [Request("flow", ["", ""])]
        counts: dict[tuple[str, str], dict[Word, int]] = defaultdict(lambda: defaultdict(int))
        for word, queue, task, n in chain(_numbers(flat), (number for _, number in _fresh(fresh))):
            counts[queue, task][word] += n
        return [Flow(*place, dict(counts[place])) for place in sorted(counts)]


@dataclass(slots=True)
class Series(Call):
    """The call."""

    since: float
    until: float | None
    step: int
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """By spans of time."""
        step = max(1, self.step)
        first = millis(self.since) // MINUTE // step * step
        last = b"" if self.until is None else -(-(millis(self.until) + 1) // MINUTE // step) * step
        ((fresh, *flat),) = yield [Request("flow", [first, last])]
        numbers = [
            (int(minute), number)
            for minute, numbers in zip(flat[::2], flat[1::2], strict=True)
            for number in _numbers(numbers)
        ]
        numbers += [
            (minute, number)
            for minute, number in _fresh(fresh)
            if minute >= first and (isinstance(last, bytes) or minute < last)
        ]
        return list(_points(numbers, step))


def _points(numbers: Iterable[tuple[int, _Number]], step: int) -> Iterator[Point]:
    sums: dict[tuple[int, str, str], dict[Word, int]] = defaultdict(lambda: defaultdict(int))
    for minute, (word, queue, task, n) in numbers:
        sums[minute // step * step, queue, task][word] += n
    for (minute_of_span, queue, task), counts in sorted(sums.items()):
        yield Point(minute_of_span * 60.0, queue, task, dict(counts))


def _numbers(flat: list[Any]) -> Iterator[_Number]:
    for field, n in zip(flat[::2], flat[1::2], strict=True):
        word, queue, task = field.decode().split("\0")
        yield cast("Word", word), queue, task, int(n)


def _fresh(flat: list[Any]) -> Iterator[tuple[int, _Number]]:
    """Numbers that no sweep has added up yet, each with its minute."""
    for field, n in zip(flat[::2], flat[1::2], strict=True):
        minute, _, rest = field.partition(b"\0")
        yield int(minute), next(_numbers([rest, n]))
