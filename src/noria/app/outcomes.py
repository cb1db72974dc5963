"""Waiting for jobs: one listener and few reads for any number of waiters.

A waiter is entered before its job is read, and the read asks for a hint in the same step, so that no
outcome can slip between the two. Once somebody has waited here, jobs are enqueued with the channel in them:
then their outcomes come by themselves, and waiting needs no read at all. Hints may be lost: who still waits
after a while is read again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec.structs import replace

from noria import aio, ids
from noria.aio import Crew
from noria.app.ending import Ending, ending_in, ending_of
from noria.app.explain import lapsed
from noria.backends.contract import Backend, Hint, Outline, Parts
from noria.backends.hearing import hear
from noria.clock import Clock
from noria.errors import BackendError, JobNotFound, NoriaError, WaitTimeout
from noria.ids import Id
from noria.model.job import NewJob, Record
from noria.model.limits import MAX_BATCH, POLL
from noria.model.state import State

MOST_EXPECTED: Final = 2_000
"""Jobs of this process whose outcomes are kept for who may yet wait for them; older ones are read instead."""

_outlines = msgspec.json.Decoder(list[Outline])


class Asks(Exception):
    """The job does not end before somebody has answered what it asks."""


class Following:
    """One who follows a job: `news` is set when it is worth a look, which is else taken every so many seconds."""

    def __init__(self, every: float) -> None:
        self.news = asyncio.Event()
        self.every = every


class Outcomes:
    """Tells waiters how their jobs ended. All of it belongs to one event loop.

    Args:
        backend: started.
        crew: owns the tasks that listen, read and poll; they begin with the first waiter.
        clock: tells when the time of a job is over.
        poll: seconds between looks while no hint comes.
    """

    def __init__(self, backend: Backend, crew: Crew, clock: Clock, poll: float = POLL) -> None:
        self._backend = backend
        self._clock = clock
        self._crew = crew
        self._every = poll
        self._waiting: dict[Id, set[asyncio.Future[Ending]]] = {}
        self._curious: dict[asyncio.Future[Ending], str] = {}
        self._asked: dict[Id, None] = {}
        # Jobs that were enqueued with our channel in them, and how they ended, as far as we were told.
        self._expected: dict[Id, Ending | None] = {}
        self._reading = self._polling = self._began = False
        self._listening = asyncio.Event()
        self._following: dict[Id, set[Following]] = {}

    @contextmanager
    def following(self, id: Id) -> Iterator[Following]:
        """Hear when something may have happened to a job that is read with our channel as its watch."""
        following = Following(self._every)
        self._following.setdefault(id, set()).add(following)
        self._listen_once()
        try:
            yield following
        finally:
            self._following[id].discard(following)
            if not self._following[id]:
                del self._following[id]

    def expect(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        """Have the outcomes of jobs that are about to be enqueued told here, if anybody ever waits here."""
        if not self._listening.is_set():
            return jobs
        for job in jobs:
            self._expected[job.id] = None
        while len(self._expected) > MOST_EXPECTED:
            del self._expected[next(iter(self._expected))]
        channel = self._backend.reply_channel
        return [replace(job, reply=channel) for job in jobs]

    def unexpect(self, id: Id) -> None:
        """The outcome of this job will not be told here by itself: whoever waits for it reads it."""
        self._expected.pop(id, None)

    async def wait(self, id: Id, seconds: float | None, known: str | None = None) -> Ending:
        """Wait until a job has ended.

        Args:
            seconds: at most; None is for ever.
            known: the wait is over as well when the job asks something, unless that is the question of this id.

        Raises:
            Asks: so it is.
            JobNotFound: there is no such job.
            WaitTimeout: the seconds were over first.
            BackendError: the job could not be read.
        """
        told = self._expected.get(id)
        if told is not None:
            del self._expected[id]
            return told
        future: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(id, set()).add(future)
        if known is not None:
            self._curious[future] = known
        self._begin()
        if id not in self._expected:
            self._ask((id,))
        scope = aio.bounded(seconds)
        try:
            if seconds is None:
                return await future
            async with scope:
                return await future
        except TimeoutError:
            if not scope.expired():
                raise
            raise WaitTimeout(
                f"job {ids.to_text(id)} had not ended after {seconds:g} s; it goes on"
            ) from None
        finally:
            self._forget(id, future)

    def close(self, error: NoriaError) -> None:
        """Nobody will hear of outcomes any more: end all waits with this error."""
        for id in list(self._waiting):
            self._fail(id, error)

    def _forget(self, id: Id, future: asyncio.Future[Ending]) -> None:
        self._curious.pop(future, None)
        futures = self._waiting.get(id)
        if futures is not None:
            futures.discard(future)
            if not futures:
                del self._waiting[id]

    # -- reading -------------------------------------------------------------------------------------------

    def _ask(self, wanted: Iterable[Id]) -> None:
        """Read these jobs soon, together with all that others ask for until then."""
        self._asked.update(dict.fromkeys(wanted))
        if not self._reading and self._asked:
            self._reading = True
            self._crew.start("read", self._read())

    async def _read(self) -> None:
        try:
            if not self._listening.is_set():
                await aio.happened(self._listening, POLL)
            while self._asked:
                batch = list(self._asked)[:MAX_BATCH]
                for id in batch:
                    del self._asked[id]
                await self._read_batch(batch)
        finally:
            self._reading = False

    async def _read_batch(self, batch: list[Id]) -> None:
        batch = [id for id in batch if id in self._waiting]
        try:
            records = await self._backend.get(batch, Parts.RESULT, watch=self._backend.reply_channel)
        except BackendError as error:
            for id in batch:
                self._fail(id, error)
            return
        await self._end_lapsed(record for record in records if record is not None)
        for id, record in zip(batch, records, strict=True):
            if record is None:
                self._fail(
                    id,
                    JobNotFound(
                        f"job {ids.to_text(id)} is not there: erased, pruned, or never enqueued here"
                    ),
                )
            elif (ending := ending_of(record)) is not None:
                self._resolve(id, ending)
            elif record.question:
                self._interrupt(id, record.question)

    async def _end_lapsed(self, records: Iterable[Record]) -> None:
        """Have jobs ended whose time is over, as a worker would if there were one; hints tell of them."""
        now = self._clock.wall()
        if any(lapsed(record, now) for record in records):
            with contextlib.suppress(BackendError):
                await self._backend.sweep(MAX_BATCH)

    def _resolve(self, id: Id, ending: Ending) -> None:
        for future in self._waiting.pop(id, ()):
            if not future.done():
                future.set_result(ending)

    def _interrupt(self, id: Id, question: str) -> None:
        """Tell those who want to know that the job asks something."""
        for future in self._waiting.get(id, ()):
            if self._curious.get(future, question) != question and not future.done():
                future.set_exception(Asks())

    def _fail(self, id: Id, error: NoriaError) -> None:
        for future in self._waiting.pop(id, ()):
            if not future.done():
                future.set_exception(error)

    # -- hearing -------------------------------------------------------------------------------------------

    def _listen_once(self) -> None:
        if not self._began:
            self._began = True
            self._crew.start("listen", self._listen())

    def _begin(self) -> None:
        self._listen_once()
        if not self._polling:
            self._polling = True
            self._crew.start("poll", self._poll())

    async def _listen(self) -> None:
        await hear(
            self._backend,
            self._backend.reply_channel,
            self._heard,
            pause=POLL,
            meanwhile="outcomes are polled for a while",
            tried=self._listening.set,
        )

    def _heard(self, hint: Hint) -> None:
        try:
            outlines = [] if hint.reset else _outlines.decode(hint.payload)
        except msgspec.DecodeError:
            outlines = []
        if not outlines:
            self._ask(self._waiting)
            self._stir(self._following)
        for outline in outlines:
            id = Id(bytes.fromhex(outline.id))
            self._stir((id,))
            if State(outline.state).final:
                self._told(id, ending_in(outline))
            elif any(each in self._curious for each in self._waiting.get(id, ())):
                self._ask((id,))

    def _stir(self, ids: Iterable[Id]) -> None:
        for id in ids:
            for following in self._following.get(id, ()):
                following.news.set()

    def _told(self, id: Id, ending: Ending | None) -> None:
        """A job has ended; how is not always said."""
        if ending is None:
            self._expected.pop(id, None)
            self._ask(each for each in (id,) if each in self._waiting)
            return
        if id in self._waiting:
            self._expected.pop(id, None)
            self._resolve(id, ending)
        elif id in self._expected:
            self._expected[id] = ending

    async def _poll(self) -> None:
        try:
            while self._waiting:
                await aio.sleep(self._every)
                self._ask(self._waiting)
        finally:
            self._polling = False
