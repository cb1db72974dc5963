"""The timers of a simulation: what its application declares, and who sees to it that they come to rest."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from noria import aio
from noria.app.timerbook import TimerBook
from noria.backends.contract import Doc
from noria.clock import Clock
from noria.errors import ScheduleNotFound
from noria.ids import IdSource, seeded
from noria.model.schedule import CatchUp, Overlap, Schedule, Standing, Template
from noria.model.timetable import Every, following
from noria.testing.deeds import Deed
from noria.testing.events import Fact
from noria.testing.scenario import QUEUES, Options
from noria.testing.standings import Late, Slots, Stood

WINDOW: Final = 3_600.0
"""Seconds for which slots are caught up on: longer than any simulation."""

_POLICIES: Final[tuple[tuple[Overlap, CatchUp], ...]] = (
    ("skip", "latest"),
    ("skip", "none"),
    ("queue_one", "latest"),
    ("queue_all", "latest"),
    ("queue_all", "all"),
    ("cancel_old", "latest"),
)


def declared(options: Options) -> dict[str, Schedule]:
    """The timers that every worker of a simulation declares; they have not begun."""
    dice = seeded(options.seed + 4)
    return {f"timer{number + 1}": _schedule(dice, options) for number in range(options.schedules)}


def begun(schedules: Mapping[str, Schedule], now: float) -> dict[str, Schedule]:
    """The same; those that are new begin now."""
    return {name: replace(each, standing=Standing(now)) for name, each in schedules.items()}


def _schedule(dice: random.Random, options: Options) -> Schedule:
    overlap, catch_up = dice.choice(_POLICIES)
    deed = Deed(seconds=dice.choice((0.0, 0.1, 1.0, 3.0)), fails=dice.choice((0, 0, 0, 1)))
    body = msgspec.json.encode(deed)
    return Schedule(
        rule=Every(dice.choice(options.periods)),
        template=Template(task="act", queue=dice.choice(QUEUES), body=body, attempts=2),
        overlap=overlap,
        catch_up=catch_up,
        window=WINDOW if catch_up == "all" else 0.0,
        jitter=dice.choice((0.0, 0.0, 0.3)),
        standing=Standing(0.0),
    )


def stood(doc: Doc, *, final: bool = False) -> Stood:
    """A schedule as a fact."""
    schedule = msgspec.json.decode(doc.data, type=Schedule)
    rule, standing = schedule.rule, schedule.standing
    assert isinstance(rule, Every), "simulated timers are periods"
    return Stood(
        name=doc.name,
        period=rule.seconds,
        overlap=schedule.overlap,
        catch_up=schedule.catch_up,
        last=standing.last,
        left_out=standing.skipped + standing.missed,
        waiting=standing.waiting,
        log=tuple(Slots(each.what, each.first, each.last) for each in standing.log),
        rested=schedule.paused is not None,
        final=final,
    )


class Timekeeper:
    """Waits until timers are up to date, tells of those that never are, and pauses all, so that a run comes to an end.

    Args:
        backend: nothing goes wrong with its calls.
        within: seconds in which every slot that has come must have been dealt with.
        note: told of timers that are late.
    """

    def __init__(
        self, backend: Any, clock: Clock, ids: IdSource, *, within: float, note: Callable[[Fact], None]
    ) -> None:
        self._book = TimerBook(backend, clock, ids)
        self._clock = clock
        self._within = within
        self._note = note

    async def stop(self, names: Mapping[str, Schedule]) -> None:
        """Have these come to rest."""
        until = asyncio.get_running_loop().time() + self._within
        while (late := [name for name in names if await self._is_behind(name)]) and (
            asyncio.get_running_loop().time() < until
        ):
            await aio.sleep(0.5)
        for name in late:
            self._note(Late(name=name))
        for name in names:
            with suppress(ScheduleNotFound):
                await self._book.pause(name, "the run ends", "world")

    async def _is_behind(self, name: str) -> bool:
        """Whether a slot has come that nobody has dealt with, or nobody has told of it yet."""
        try:
            schedule = await self._book.get(name)
        except ScheduleNotFound:
            return True
        slot = following(schedule.rule, schedule.standing.last)
        return schedule.paused is None and slot is not None and slot <= self._clock.wall()
