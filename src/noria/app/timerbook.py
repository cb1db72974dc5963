"""The timers of a store as they are written there: read, paused, run out of turn, filled in, made and deleted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from noria import ids
from noria.app import checks
from noria.backends.contract import Backend, Doc, DocWrite
from noria.clock import Clock
from noria.errors import BackendError, Conflict, InvalidOption, ScheduleNotFound, WrongState, shown
from noria.ids import IdSource
from noria.model import schedule as timers
from noria.model import timetable
from noria.model.names import check_name, check_text
from noria.model.schedule import KIND, Rest, Schedule, Standing
from noria.model.wording import count as quantity
from noria.worker.timer import CHANGED, decode, readable, take, write

_TRIES: Final = 50
"""How often a change is tried again that others were quicker than."""
_REASON: Final = 512

Check = Callable[[Schedule | None], None]
"""Looks at a timer as it was read, before it is changed; raises to refuse. None: there is none."""


def anything(schedule: Schedule | None) -> None:
    """Refuses nothing."""


class TimerBook:
    """The timers of a store. Each coroutine raises `BackendError` if the backend does not answer.

    Those that name one raise `ScheduleNotFound` if there is none of that name, and what `check` raises.

    Args:
        backend: open.
        clock: for what is due, and since when it is paused.
        ids: for jobs.
    """

    def __init__(self, backend: Backend, clock: Clock, ids: IdSource) -> None:
        self._backend = backend
        self._clock = clock
        self._ids = ids

    async def page(self, after: str | None, most: int) -> tuple[list[tuple[str, Schedule]], str | None]:
        """Those behind a name, by name, but what cannot be read; and behind which name to go on, unless that is all."""
        docs = await self._backend.scan(KIND, after, most)
        found = [(doc.name, each) for doc in docs if (each := readable(doc)) is not None]
        return found, docs[-1].name if docs else None

    async def get(self, name: str) -> Schedule:
        """One of them."""
        return (await self._read(name))[1]

    async def pause(self, name: str, reason: str, by: str, check: Check = anything) -> Schedule:
        """Let no slot run."""
        note = check_text("reason", reason, _REASON) if reason else ""

        def paused(schedule: Schedule) -> Schedule:
            since = schedule.paused.since if schedule.paused is not None else self._clock.wall()
            return replace(schedule, paused=Rest(note, by, since))

        return await self._change(name, paused, check)

    async def resume(self, name: str, check: Check = anything) -> Schedule:
        """Go on with the next slot."""

        def resumed(schedule: Schedule) -> Schedule:
            if schedule.paused is None:
                return schedule
            now = self._clock.wall()
            caught = timers.step(schedule, now, live=False)
            return replace(schedule, paused=None, standing=caught.standing if caught else schedule.standing)

        return await self._change(name, resumed, check)

    async def run(self, name: str, check: Check = anything) -> Schedule:
        """Run it now, out of turn.

        Raises:
            WrongState: its last job has not ended, and its overlap is "skip".
        """
        for _ in range(_TRIES):
            doc, schedule = await self._read(name, check)
            live = await self._is_live(schedule.standing.job)
            step = timers.asked(schedule, self._clock.wall(), live=live)
            if step is None:
                raise WrongState(
                    f"timer {name!r} is not run now: its job {schedule.standing.job} has not ended, and its overlap "
                    'is "skip"'
                )
            try:
                done = await take(self._backend, self._ids, doc, schedule, step)
            except Conflict:
                continue
            await self._tell()
            return done
        raise _too_many(name)

    async def backfill(
        self, name: str, since: datetime, until: datetime, check: Check = anything
    ) -> tuple[int, Schedule]:
        """Run the slots of a time in the past once more; how many that is, and the timer.

        Raises:
            InvalidOption: see `Schedules.backfill`.
        """
        start, end = checks.moment("since", since), checks.moment("until", until)
        if not start < end <= self._clock.wall():
            raise InvalidOption("since is before until, and until is not to come", field="until")
        count = 0

        def filled(schedule: Schedule) -> Schedule:
            nonlocal count
            slots = timetable.between(schedule.rule, start, end, timers.CHUNK + 1)
            count = len(slots)
            backlog = (*schedule.standing.backlog, *slots)
            if len(backlog) > timers.CHUNK:
                raise InvalidOption(
                    f"timer {name!r}: at most {quantity(timers.CHUNK, 'slot')} wait to be run again; say less time",
                    field="since",
                )
            return replace(schedule, standing=replace(schedule.standing, backlog=backlog))

        done = await self._change(name, filled, check)
        return count, done

    async def put(self, name: str, made: Schedule, check: Check = anything) -> Schedule:
        """Make it, or change one that a person made; it goes on where it was.

        Raises:
            WrongState: one of this name is declared in code.
        """
        made = replace(made, source="api", standing=Standing(self._clock.wall()))
        for _ in range(_TRIES):
            [doc] = await self._backend.read(KIND, [name])
            stored = None if doc is None else decode(doc)
            check(stored)
            if stored is not None and stored.source == "code":
                raise WrongState(
                    f"timer {name!r} is declared in code; change it there, or give this one another name"
                )
            wanted = timers.renewed(stored, made)
            if wanted == stored or await self._written(name, doc, wanted):
                return wanted
        raise _too_many(name)

    async def delete(self, name: str, check: Check = anything) -> None:
        """Delete it; its jobs stay."""
        for _ in range(_TRIES):
            doc, _ = await self._read(name, check)
            try:
                await self._backend.write([DocWrite(KIND, name, None, if_version=doc.version)])
            except Conflict:
                continue
            return await self._tell()
        raise _too_many(name)

    # -- how it is done --------------------------------------------------------------------------------------

    async def _read(self, name: str, check: Check = anything) -> tuple[Doc, Schedule]:
        check_name("schedule", name)
        [doc] = await self._backend.read(KIND, [name])
        if doc is None:
            raise not_there(name)
        schedule = decode(doc)
        check(schedule)
        return doc, schedule

    async def _change(self, name: str, change: Callable[[Schedule], Schedule], check: Check) -> Schedule:
        for _ in range(_TRIES):
            doc, schedule = await self._read(name, check)
            changed = change(schedule)
            if changed == schedule or await self._written(name, doc, changed):
                return changed
        raise _too_many(name)

    async def _written(self, name: str, doc: Doc | None, schedule: Schedule) -> bool:
        try:
            await self._backend.write([write(name, schedule, 0 if doc is None else doc.version)])
        except Conflict:
            return False
        await self._tell()
        return True

    async def _tell(self) -> None:
        """Let workers look now; without this they do within seconds."""
        with suppress(BackendError):
            await self._backend.notify(CHANGED)

    async def _is_live(self, job: str) -> bool:
        [record] = await self._backend.get([ids.from_text(job)]) if job else [None]
        return record is not None and not record.state.final


def not_there(name: str) -> ScheduleNotFound:
    """That there is none of a name."""
    return ScheduleNotFound(f"there is no timer {shown(name)}; timers of code are there once a worker ran")


def _too_many(name: str) -> Conflict:
    return Conflict(f"timer {name!r} changes too often just now; try again")
