"""When a timer is due: rules that give the same points in time, called slots, on every machine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from noria.errors import InvalidOption, shown
from noria.model.spans import read_seconds

if TYPE_CHECKING:
    from cronsim import CronSim

SHORTEST: Final = 0.1
LONGEST: Final = 366 * 86_400.0
"""Seconds between two slots of `Every`, at least and at most."""
MAX_EXPRESSION: Final = 200
"""Characters of a cron expression."""


class Every(Struct, frozen=True, tag="every"):
    """Slots at whole multiples of a period, counted from the epoch, so that every process agrees on them.

    Attributes:
        seconds: the period.
    """

    seconds: float

    def slots(self, after: float) -> Iterator[float]:
        """The slots later than a time, in order, without end; all times are seconds since the epoch."""
        turn = math.floor(after / self.seconds)
        while True:
            # A slot divided by its period may be a hair less than its number.
            if (slot := turn * self.seconds) > after:
                yield slot
            turn += 1

    def __str__(self) -> str:
        return f"every {self.seconds:g} s"


class Cron(Struct, frozen=True, tag="cron"):
    """Slots by a cron expression in a time zone.

    When clocks change, as Debian's cron does (its manual, cron(8)): jobs at fixed times that fall into a skipped hour
    run right after it, and those in a repeated hour run once; jobs whose minute or hour is a star go on by real time.

    Attributes:
        expression: five fields (minute, hour, day of month, month, day of week), or six with seconds first.
        tz: the name of the zone, as "Asia/Shanghai".
    """

    expression: str
    tz: str = "UTC"

    def slots(self, after: float) -> Iterator[float]:
        """As `Every.slots`; they may end: where none comes for 50 years."""
        start = datetime.fromtimestamp(after, UTC if self.tz == "UTC" else ZoneInfo(self.tz))
        for slot in _sim(self.expression, start):
            yield slot.timestamp()

    def __str__(self) -> str:
        return f"cron {self.expression} ({self.tz})"


Rule = Every | Cron


def _sim(expression: str, start: datetime) -> CronSim:
    from cronsim import CronSim  # most programs have no timer

    return CronSim(expression, start)


def in_words(rule: Rule) -> str:
    """When a rule is due, as people say it: "Every 10 s", or "At 03:00 every day (Asia/Shanghai)"."""
    if isinstance(rule, Every):
        return f"Every {rule.seconds:g} s"
    return f"{_sim(rule.expression, datetime.fromtimestamp(0, UTC)).explain()} ({rule.tz})"


def following(rule: Rule, after: float) -> float | None:
    """The first slot later than a time; None if there is none."""
    return next(rule.slots(after), None)


def between(rule: Rule, after: float, until: float, most: int) -> list[float]:
    """The slots later than a time and up to another one, the first `most` of them."""
    return list(islice(takewhile(lambda slot: slot <= until, rule.slots(after)), most))


def every(period: float | str | timedelta) -> Every:
    """Check a period: seconds, text such as "10s" or "1h30m", or a timedelta.

    Raises:
        InvalidOption: it is none of these, or not from a tenth of a second to 366 days.
    """
    seconds = _seconds(period)
    if not SHORTEST <= seconds <= LONGEST:
        raise InvalidOption(f"a timer's period is from 0.1 s to 366 days, not {shown(period)}", field="every")
    return Every(seconds)


def _seconds(period: object) -> float:
    if isinstance(period, timedelta):
        return period.total_seconds()
    if isinstance(period, str):
        return read_seconds(period)
    if isinstance(period, int | float) and not isinstance(period, bool):
        return float(period)
    raise InvalidOption(
        f'a timer\'s period is a number of seconds, or text such as "10s", not {shown(period)}', field="every"
    )


def cron(expression: str, tz: str = "UTC") -> Cron:
    """Check a cron expression and the name of a zone.

    Raises:
        InvalidOption: the expression cannot be read, has no slot within 50 years, or this machine knows no such zone.
    """
    zone = _zone(tz)
    if not isinstance(expression, str) or not 0 < len(expression) <= MAX_EXPRESSION:
        raise InvalidOption(
            f"a cron expression is text of at most {MAX_EXPRESSION} characters, not {shown(expression)}",
            field="cron",
        )
    from cronsim import CronSimError

    rule = Cron(" ".join(expression.split()), tz)
    try:
        first = next(_sim(rule.expression, datetime(2026, 1, 1, tzinfo=zone)), None)
    except CronSimError as error:
        raise InvalidOption(
            f"{shown(expression)} is no cron expression: {str(error).lower()}; "
            'write minute, hour, day of month, month and day of week, such as "0 3 * * *"',
            field="cron",
        ) from None
    if first is None:
        raise InvalidOption(f"{shown(expression)} never comes: no slot within 50 years", field="cron")
    return rule


def _zone(name: str) -> ZoneInfo:
    if isinstance(name, str) and 0 < len(name) <= 64:
        try:
            return ZoneInfo(name)
        except (
            LookupError,
            ValueError,
            OSError,
        ):  # what zoneinfo raises for no zone, for paths, and for folders
            pass
    raise InvalidOption(
        f'this machine knows no time zone {shown(name)}; write a name such as "Europe/Berlin"', field="tz"
    )
