"""How many jobs came and went: counted by each script as it moves them, read without looking at any job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
        (flat,) = yield [Request("flow", ["", ""])]
        counts: dict[tuple[str, str], dict[Word, int]] = defaultdict(dict)
        for word, queue, task, n in _numbers(flat):
            counts[queue, task][word] = n
        return [Flow(*place, counts[place]) for place in sorted(counts)]


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
        (flat,) = yield [Request("flow", [first, last])]
        return list(_points(zip(flat[::2], flat[1::2], strict=True), step))


def _points(minutes: Iterable[tuple[bytes, list[Any]]], step: int) -> Iterator[Point]:
    sums: dict[tuple[int, str, str], dict[Word, int]] = defaultdict(lambda: defaultdict(int))
    for minute, flat in minutes:
        for word, queue, task, n in _numbers(flat):
            sums[int(minute) // step * step, queue, task][word] += n
    for (minute_of_span, queue, task), counts in sorted(sums.items()):
        yield Point(minute_of_span * 60.0, queue, task, dict(counts))


def _numbers(flat: list[Any]) -> Iterator[_Number]:
    for field, n in zip(flat[::2], flat[1::2], strict=True):
        word, queue, task = field.decode().split("\0")
        yield cast("Word", word), queue, task, int(n)
