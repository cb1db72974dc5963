"""How many jobs came and went: counted by each transaction in one statement, read without looking at any job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from noria.backends.contract import Flow, Point
from noria.backends.sql.call import Call
from noria.backends.sql.rows import decode
from noria.backends.sql.transaction import MINUTE, Transaction
from noria.backends.units import millis
from noria.model.flow import Word
from noria.model.limits import FLOW_FOR

LEEWAY: Final = 60
"""Minutes for which those that may go are left, so that an idle store is not written to each minute."""


@dataclass(slots=True)
class Totals(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[Flow]:
        """Since the store began."""
        lines = decode(work.row("flow_totals")[0], list[tuple[str, str, dict[Word, int]]])
        return [Flow(*line) for line in lines]


@dataclass(slots=True)
class Series(Call):
    """The call."""

    since: float
    until: float | None
    step: int
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[Point]:
        """By spans of time."""
        step = max(1, self.step)
        first = millis(self.since) // MINUTE // step * step
        last = work.now if self.until is None else millis(self.until)
        found = work.row("flow_series", first, -(-(last + 1) // MINUTE // step) * step, step)[0]
        lines = decode(found, list[tuple[int, str, str, dict[Word, int]]])
        return [Point(minute * 60.0, queue, task, counts) for minute, queue, task, counts in lines]


def horizon(now: int) -> int:
    """The first minute that is kept."""
    return (now - millis(FLOW_FOR)) // MINUTE


def drop_old(work: Transaction, limit: int) -> None:
    """Drop minutes that are kept no longer; what they counted stays in the totals."""
    work.run("flow_drop", horizon(work.now), limit)
