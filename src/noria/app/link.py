"""An open backend on one event loop, and which of an application's belongs to the loop that runs."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast
from weakref import WeakSet

from noria import ids
from noria.aio import Crew
from noria.app.outcomes import Outcomes
from noria.backends.contract import Backend, DocWrite, Joins
from noria.clock import Clock
from noria.errors import ConfigError, Conflict, InvalidInput, NotRunning, QueueFull
from noria.model.claim import NEW
from noria.model.job import NewJob, Receipt
from noria.model.limits import MAX_BATCH, POLL
from noria.model.wording import count
from noria.worker import Worker

log = logging.getLogger("noria.app")

Prepare = Callable[[Backend], Awaitable[None]]

_CLOSING = 2.0
"""Seconds that listeners and readers get to end."""
_SELDOM = 86_400.0
"""Seconds between looks at a backend in this very thread, whose hints are never lost."""


class Link:
    """A backend, open on one loop, with those who wait for outcomes on it.

    Attributes:
        loop: the loop to which it belongs.
        backend: started while `ready`.
        holders: how many `async with` blocks keep it open.
        workers: those that were made on it.
    """

    def __init__(self, backend: Backend, clock: Clock, poll: float, prepare: Prepare) -> None:
        self.loop = asyncio.get_running_loop()
        self.backend = backend
        self.holders = 0
        self.ready = False
        self.workers: WeakSet[Worker] = WeakSet()
        self._lock = asyncio.Lock()
        self._prepare = prepare
        self._crew = Crew("noria.app", self._fault)
        self.outcomes = Outcomes(backend, self._crew, clock, poll)

    async def open(self) -> None:
        """Start the backend; who comes second waits for the first."""
        async with self._lock:
            if not self.ready:
                await self.backend.start()
                await self._prepare(self.backend)
                self.ready = True

    async def dismiss(self, *, now: bool) -> None:
        """End the workers that still run: within their grace, or now; also now when this is cancelled."""
        if any(worker.ending.running for worker in self.workers):
            how = "it stops now, and what it runs is handed back" if now else "it drains first"
            log.warning("the application is left while its worker runs: %s", how)
        try:
            await self._dismissed(now)
        except asyncio.CancelledError:
            await self._dismissed(True)
            raise

    async def _dismissed(self, now: bool) -> None:
        for worker in [each for each in self.workers if each.ending.dismiss(now=now)]:
            await worker.ending.over()

    async def close(self) -> None:
        """End all waits and close the backend."""
        self.ready = False
        self.outcomes.close(
            NotRunning("the application was closed while this waited for a job; the job goes on")
        )
        await self._crew.aclose(_CLOSING)
        await self.backend.aclose()

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        """Enqueue jobs, in pushes of at most 1,000; documents go along with the first.

        Raises:
            InvalidInput: the backend took all but some; the message names the first of these.
            QueueFull: their queues took all but some, which it names.
            Conflict: the backend took all but some, whose ids jobs of other tasks have.
            BackendError: some pushes may not have been done; repeating them with the same jobs is safe.
        """
        receipts: list[Receipt] = []
        for start in range(0, len(jobs), MAX_BATCH):
            portion = jobs[start : start + MAX_BATCH]
            along = docs and not start
            receipts += await (self.backend.push(portion, docs) if along else self.backend.push(portion))
        await self._check_taken(jobs, receipts)
        return receipts

    async def push_within(self, conn: object, jobs: Sequence[NewJob]) -> list[Receipt]:
        """Enqueue jobs in the transaction of a caller's own connection.

        Raises:
            ConfigError: the backend has no transactions to join.
            InvalidInput, BackendError: as `Joins.push_within`, and as `push`.
            Conflict: jobs of other tasks have some of the ids. The caller's transaction must be undone.
        """
        if not self.backend.capabilities.transactional:
            raise ConfigError("this backend cannot join a transaction of yours: only PostgreSQL can")
        joins = cast(Joins, self.backend)
        receipts: list[Receipt] = []
        for start in range(0, len(jobs), MAX_BATCH):
            receipts += await joins.push_within(conn, jobs[start : start + MAX_BATCH])
        await self._check_taken(jobs, receipts)
        return receipts

    async def push_one(self, job: NewJob, docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        """Enqueue a job that somebody is likely to wait for, in one step with documents.

        Raises:
            Conflict: a document has another version; nothing was done. And as `push`.
        """
        receipts = await self.push(self.outcomes.expect((job,)), docs)
        if receipts[0].status not in NEW:
            # Another channel, or none, is in the job that stands for it, and it may have ended long ago.
            self.outcomes.unexpect(job.id)
        return receipts

    async def _check_taken(self, jobs: Sequence[NewJob], receipts: Sequence[Receipt]) -> None:
        """See that the backend took all of them, and that who has their ids is of the same tasks."""
        for job, receipt in zip(jobs, receipts, strict=True):
            if receipt.status == "rejected":
                self.outcomes.unexpect(job.id)
                if not receipt.full:
                    raise InvalidInput(f"the backend refused a job of task {job.task!r}: {receipt.why}")
        full = [(job, receipt) for job, receipt in zip(jobs, receipts, strict=True) if receipt.full]
        if full:
            raise queue_full(full, len(jobs))
        await self._compare([job for job, receipt in zip(jobs, receipts, strict=True) if receipt.why == "id"])

    async def _compare(self, repeated: Sequence[NewJob]) -> None:
        """See that jobs that were there already are of the same tasks."""
        there = await self.backend.get([job.id for job in repeated]) if repeated else []
        for job, record in zip(repeated, there, strict=True):
            if record is not None and record.task != job.task:
                self.outcomes.unexpect(job.id)
                raise Conflict(
                    f"job {ids.to_text(job.id)} is of task {record.task!r}, and cannot be one of task {job.task!r}"
                )

    def _fault(self, name: str, error: BaseException) -> None:
        log.error("%s failed; waiters go on by polling", name, exc_info=error)


def queue_full(refused: Sequence[tuple[NewJob, Receipt]], among: int) -> QueueFull:
    """What to raise for jobs that their queues had no room for."""
    job, receipt = refused[0]
    which = "" if among == 1 else f" (of {count(among, 'job')}, {len(refused):,} were refused)"
    return QueueFull(
        f"a job of task {job.task!r} was not enqueued: {receipt.why}{which}",
        queue=job.queue,
        job_ids=tuple(ids.to_text(job.id) for job, _ in refused),
    )


class Links:
    """The open links of one application, one a loop.

    Args:
        connect: makes the backend of a new link.
        clock: the one by which a new link tells time.
        prepare: what is to be done with a backend that was just opened.
        shared: whether `connect` gives the same object each time, which only one loop can have.
    """

    def __init__(
        self, connect: Callable[[], Backend], clock: Callable[[], Clock], prepare: Prepare, *, shared: bool
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._prepare = prepare
        self._shared = shared
        self._poll = POLL
        self._links: dict[asyncio.AbstractEventLoop, Link] = {}
        self._pid = os.getpid()

    def here(self) -> Link:
        """The link of the loop that runs.

        Raises:
            NotRunning: the application is not open on it, or no loop runs.
        """
        try:
            link = self._links.get(asyncio.get_running_loop())
        except RuntimeError:
            raise NotRunning("no event loop runs here; use app.sync from code without one") from None
        if link is None or not link.ready:
            raise NotRunning("the application is not open in this event loop; use `async with app:` first")
        return link

    def any(self) -> Link | None:
        """A link that is open on some loop, if there is one."""
        self._disown()
        return next(
            (link for link in list(self._links.values()) if link.ready and link.loop.is_running()), None
        )

    async def enter(self) -> Link:
        """Open the link of this loop, or hold it once more.

        Raises:
            ConfigError: the backend cannot be used as configured.
            Unavailable: it cannot be reached.
        """
        self._disown()
        link = self._links.get(asyncio.get_running_loop())
        if link is None:
            if self._shared and self._links:
                raise ConfigError(
                    "this application was given one backend object, and that is open in another event loop; "
                    "give it a URL, so that each loop gets a backend of its own"
                )
            link = Link(self._connect(), self._clock(), self._poll, self._prepare)
            self._links[link.loop] = link
        link.holders += 1
        try:
            await link.open()
        except BaseException:
            await self.leave()
            raise
        return link

    async def leave(self, *, now: bool = False) -> None:
        """Undo one `enter`; the last one ends the workers of the link, and closes it.

        Args:
            now: whether workers hand back at once what they run.
        """
        link = self._links[asyncio.get_running_loop()]
        link.holders -= 1
        try:
            if link.holders == 0:
                await link.dismiss(now=now)
        finally:
            # What a worker runs may have opened and left it meanwhile.
            if link.holders == 0 and self._links.pop(link.loop, None) is not None:
                await link.close()

    @contextmanager
    def borrowed(self, connect: Callable[[], Backend]) -> Iterator[None]:
        """Make links of one other backend for a while; who waits for outcomes relies on its hints.

        Raises:
            ConfigError: a link is open.
        """
        if self._links:
            raise ConfigError("the application is open; leave `async with app:` first")
        known = self._connect, self._shared, self._poll
        self._connect, self._shared, self._poll = connect, True, _SELDOM
        try:
            yield
        finally:
            self._connect, self._shared, self._poll = known

    def _disown(self) -> None:
        """In a process that was forked: what is open belongs to the parent, whose loops do not run here."""
        if self._pid != os.getpid():
            self._links = {}
            self._pid = os.getpid()
