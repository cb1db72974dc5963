"""Timers: any worker enqueues what is due, and a slot's job is stored together with the word that it is dealt with."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from noria import aio, ids
from noria.backends.contract import Board, Change, DocWrite, Hint, Hints, Ledger, Queue
from noria.backends.hearing import hear
from noria.clock import Clock
from noria.errors import BackendError, Conflict, InvalidInput
from noria.ids import Id, IdSource
from noria.model import schedule as timers
from noria.model.claim import NEW
from noria.model.document import Doc, Version
from noria.model.job import Receipt
from noria.model.schedule import KIND, Schedule, Step
from noria.model.settlement import Settlement
from noria.worker.outage import Outage
from noria.worker.outside import Outside
from noria.worker.settings import OUTAGE_AT_MOST

log = logging.getLogger("noria.worker")

RESCAN: Final = 5.0
"""Seconds between two looks for schedules that were made, changed or deleted elsewhere."""
_PAGE: Final = 100
_SOONEST: Final = 0.01

CHANGED: Final = "schedules"
"""The channel on which workers hear that a person has changed one."""

Declared = Mapping[str, Schedule]
"""The schedules of an application's code, by name."""


class Store(Queue, Ledger, Board, Hints, Protocol):
    """The parts of a backend that timers need."""


@dataclass(slots=True)
class _Look:
    """A schedule as it was last seen.

    Attributes:
        at: when to look at it next.
        over: whether its newest job has ended in this worker since.
    """

    schedule: Schedule
    at: float | None
    over: bool = False


class Timer:
    """Enqueues the jobs of schedules when their slots come; any number of workers may, and no slot runs twice.

    Each step of a schedule writes its document as it was read, with the job in the same step: of several workers
    one succeeds, and the others find that there is nothing left to do.

    Args:
        store: the backend.
        declared: the schedules of this application's code; None: nothing is done about timers.
        clock, ids: time and new ids.
        poll: seconds between two looks whether a job that others wait for has ended.
    """

    def __init__(
        self, *, store: Store, declared: Declared | None, clock: Clock, ids: IdSource, poll: float
    ) -> None:
        self._store = store
        self._idle = declared is None
        self._declared = declared or {}
        self._clock = clock
        self._ids = ids
        self._poll = poll
        self._rescan = max(RESCAN, poll)
        self._known: dict[str, _Look] = {}
        self._jobs: dict[Id, str] = {}
        self._scanned = float("-inf")
        self._told = False
        self._news = asyncio.Event()

    @classmethod
    def of(cls, store: Store, declared: Declared | None, outside: Outside, poll: float) -> Timer:
        """The timers of a worker."""
        ids = IdSource(outside.clock, outside.entropy)
        return cls(store=store, declared=declared, clock=outside.clock, ids=ids, poll=poll)

    def parts(self) -> dict[str, Coroutine[Any, Any, None]]:
        """What runs as long as the worker does, by name."""
        return {} if self._idle else {"timers": self.run(), "timer news": self.listen()}

    async def run(self) -> None:
        """For ever; a task of the worker's crew."""
        pause, outage = 0.0, Outage("timers run")
        while True:
            try:
                pause = await self.once()
                outage.over()
            except BackendError as error:
                outage.goes_on("cannot run timers", error)
                pause = min(max(2 * pause, self._poll), OUTAGE_AT_MOST)
            await aio.happened(self._news, pause)
            self._news.clear()

    async def listen(self) -> None:
        """Hear of changes at once, for ever; a task of the worker's crew."""
        await hear(
            self._store,
            CHANGED,
            self._heard,
            pause=RESCAN,
            meanwhile="changed schedules are seen after seconds",
        )

    def _heard(self, hint: Hint) -> None:
        self._scanned = float("-inf")
        self._news.set()

    def settled(self, end: Settlement) -> None:
        """A start has ended in this worker: perhaps a slot waits for the end of its job."""
        name = self._jobs.get(end.id)
        if name is None or not end.state.final:
            return
        look = self._known[name]
        look.over = True
        if timers.waits(look.schedule):
            look.at = 0.0
            self._news.set()

    async def once(self) -> float:
        """Do what is due; returns the seconds until the next look."""
        if not self._told:
            await self._tell()
            self._told = True
        if self._clock.monotonic() - self._scanned >= self._rescan:
            await self._scan()
        now = self._clock.wall()
        due = [name for name, look in self._known.items() if look.at is not None and look.at <= now]
        if due:
            await self._work_on(due)
        soonest = min(
            (look.at for look in self._known.values() if look.at is not None), default=now + self._rescan
        )
        return min(max(soonest - self._clock.wall(), _SOONEST), self._rescan)

    # -- what there is ---------------------------------------------------------------------------------------

    async def _tell(self) -> None:
        """Write the schedules of the code that differ from what is stored; the last worker to start is right."""
        names = list(self._declared)
        for name, doc in zip(names, await self._store.read(KIND, names), strict=True):
            stored = None if doc is None else readable(doc)
            wanted = timers.renewed(stored, self._declared[name])
            if wanted != stored:
                # Another worker of the same code may be telling the same just now.
                with suppress(Conflict):
                    await self._store.write([write(name, wanted, 0 if doc is None else doc.version)])

    async def _scan(self) -> None:
        """See what is stored: schedules of other code are left to workers that have it."""
        known: dict[str, Schedule] = {}
        after: str | None = None
        while page := await self._store.scan(KIND, after, _PAGE):
            known.update((doc.name, each) for doc in page if (each := readable(doc)) is not None)
            after = page[-1].name
        mine = {name: each for name, each in known.items() if each.source == "api" or name in self._declared}
        for name in self._known.keys() - mine.keys():
            self._forget(name)
        for name, schedule in mine.items():
            self._see(name, schedule)
        self._scanned = self._clock.monotonic()

    def _see(self, name: str, schedule: Schedule) -> None:
        before = self._forget(name)
        # It may have ended while this was on its way.
        over = before is not None and before.over and before.schedule.standing.job == schedule.standing.job
        at = timers.wakes(schedule, self._clock.wall(), self._poll)
        self._known[name] = _Look(schedule, 0.0 if over and timers.waits(schedule) else at, over)
        if schedule.standing.job:
            self._jobs[ids.from_text(schedule.standing.job)] = name

    def _forget(self, name: str) -> _Look | None:
        look = self._known.pop(name, None)
        if look is not None and look.schedule.standing.job:
            self._jobs.pop(ids.from_text(look.schedule.standing.job), None)
        return look

    # -- what is due -----------------------------------------------------------------------------------------

    async def _work_on(self, names: Sequence[str]) -> None:
        """Read afresh what is due, and do it.

        Raises:
            BackendError: of those that it could not do, the first one's; the others are done.
        """
        for name in names:
            self._known[name].over = False
        # A slot that comes while this looks is left to the next look: then it is known what is live at that time.
        now = self._clock.wall()
        docs = [doc for doc in await self._store.read(KIND, names) if doc is not None]
        fresh = [(doc, each) for doc in docs if (each := readable(doc)) is not None]
        for name in set(names) - {doc.name for doc, _ in fresh}:
            self._forget(name)
        live = await self._live([each.standing.job for _, each in fresh])
        ends = await asyncio.gather(
            *(self._one(doc, each, live, now) for doc, each in fresh), return_exceptions=True
        )
        for end in ends:
            if end is not None:
                raise end

    async def _live(self, jobs: Sequence[str]) -> frozenset[str]:
        """Which of these jobs have not ended."""
        known = [job for job in jobs if job]
        records = await self._store.get([ids.from_text(job) for job in known])
        pairs = zip(known, records, strict=True)
        return frozenset(job for job, record in pairs if record is not None and not record.state.final)

    async def _one(self, doc: Doc, schedule: Schedule, live: frozenset[str], now: float) -> None:
        step = timers.step(schedule, now, live=schedule.standing.job in live)
        try:
            self._see(
                doc.name,
                schedule if step is None else await take(self._store, self._ids, doc, schedule, step),
            )
        except Conflict:
            self._scanned = float("-inf")  # another worker was first: look again


async def take(store: Store, source: IdSource, doc: Doc, schedule: Schedule, step: Step) -> Schedule:
    """Take a step of a schedule, in one write; returns the schedule after it.

    Raises:
        Conflict: it is not as it was read; nothing was done, but that its last job may have been cancelled.
        BackendError: as the contract says; read it again before another try.
    """
    if step.cancel:
        note = f"the next run of schedule {doc.name} was due"
        await store.alter([ids.from_text(schedule.standing.job)], Change(kind="cancel", note=note))
    if step.run is not None:
        return await _run(store, source.next(), doc, replace(schedule, standing=step.standing), step.run)
    done = replace(schedule, standing=step.standing)
    await store.write([write(doc.name, done, doc.version)])
    return done


async def _run(store: Store, id: Id, doc: Doc, schedule: Schedule, slot: float) -> Schedule:
    """Enqueue the job of a slot."""
    at = slot + _spread(doc.name, slot, schedule.jitter)
    job = timers.job_of(schedule.template, id, doc.name, slot, at)
    done = replace(schedule, standing=timers.ran(schedule.standing, slot, ids.to_text(id)))
    [receipt] = await store.push([job], [write(doc.name, done, doc.version)])
    if receipt.status in NEW:
        return done
    if receipt.status != "rejected":
        return await _linked(store, doc.name, done, schedule, slot, receipt)
    log.error(
        "schedule %s: the job of its slot was refused, and the slot is skipped: %s", doc.name, receipt.why
    )
    refused = replace(schedule, standing=timers.skipped(schedule.standing, slot))
    await store.write([write(doc.name, refused, doc.version)])
    return refused


async def _linked(
    store: Store, name: str, done: Schedule, schedule: Schedule, slot: float, receipt: Receipt
) -> Schedule:
    """Note that another job with its unique key stands for that of a slot, or has got what it would have done."""
    told = timers.skipped(schedule.standing, slot)
    if receipt.status != "existing":
        told = timers.ran(schedule.standing, slot, ids.to_text(receipt.id))
    known = replace(schedule, standing=told)
    [doc] = await store.read(KIND, [name])
    if doc is not None and readable(doc) == done:  # else somebody else has gone on from there
        await store.write([write(name, known, doc.version)])
    return known


def write(name: str, schedule: Schedule, version: Version) -> DocWrite:
    """Write a schedule unless another one has since it was read; version 0: unless there is one."""
    return DocWrite(KIND, name, msgspec.json.encode(schedule), if_version=version)


def decode(doc: Doc) -> Schedule:
    """Read a schedule.

    Raises:
        InvalidInput: a newer version may have written it.
    """
    try:
        return msgspec.json.decode(doc.data, type=Schedule)
    except msgspec.MsgspecError as error:
        raise InvalidInput(
            f"schedule {doc.name} cannot be read: {error}; a newer version of Noria may have written it"
        ) from None


def readable(doc: Doc) -> Schedule | None:
    """A schedule; None, and a word in the log, if a newer version may have written it."""
    try:
        return decode(doc)
    except InvalidInput as error:
        log.error("%s; it does not run", error)
        return None


def _spread(name: str, slot: float, jitter: float) -> float:
    """Seconds from nothing to `jitter`, the same for a slot in every process."""
    return jitter * zlib.crc32(f"{name} {slot:.3f}".encode()) / 2**32
