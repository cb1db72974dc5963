"""An open backend on one event loop, and which of an application's belongs to the loop that runs."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence

from noria.aio import Crew
from noria.app.outcomes import Outcomes
from noria.backends.contract import Backend
from noria.errors import ConfigError, InvalidInput, NotRunning
from noria.model.job import NewJob, Receipt
from noria.model.limits import MAX_BATCH

log = logging.getLogger("noria.app")

_CLOSING = 2.0
"""Seconds that listeners and readers get to end."""


class Link:
    """A backend, open on one loop, with those who wait for outcomes on it.

    Attributes:
        loop: the loop to which it belongs.
        backend: started while `ready`.
        holders: how many `async with` blocks keep it open.
    """

    def __init__(self, backend: Backend) -> None:
        self.loop = asyncio.get_running_loop()
        self.backend = backend
        self.holders = 0
        self.ready = False
        self._lock = asyncio.Lock()
        self._crew = Crew("noria.app", self._fault)
        self.outcomes = Outcomes(backend, self._crew)

    async def open(self) -> None:
        """Start the backend; who comes second waits for the first."""
        async with self._lock:
            if not self.ready:
                await self.backend.start()
                self.ready = True

    async def close(self) -> None:
        """End all waits and close the backend."""
        self.ready = False
        self.outcomes.close(
            NotRunning("the application was closed while this waited for a job; the job goes on")
        )
        await self._crew.aclose(_CLOSING)
        await self.backend.aclose()

    async def push(self, jobs: Sequence[NewJob]) -> list[Receipt]:
        """Enqueue jobs, in pushes of at most 1,000.

        Raises:
            InvalidInput: the backend took all but some; the message names the first of these.
            BackendError: some pushes may not have been done; repeating them with the same jobs is safe.
        """
        receipts: list[Receipt] = []
        for start in range(0, len(jobs), MAX_BATCH):
            receipts += await self.backend.push(jobs[start : start + MAX_BATCH])
        for job, receipt in zip(jobs, receipts, strict=True):
            if receipt.status == "rejected":
                raise InvalidInput(f"the backend refused a job of task {job.task!r}: {receipt.why}")
        return receipts

    async def push_one(self, job: NewJob) -> list[Receipt]:
        """Enqueue a job that somebody is likely to wait for.

        Raises: as `push`.
        """
        return await self.push(self.outcomes.expect((job,)))

    def _fault(self, name: str, error: BaseException) -> None:
        log.error("%s failed; waiters go on by polling", name, exc_info=error)


class Links:
    """The open links of one application, one a loop.

    Args:
        connect: makes the backend of a new link.
        shared: whether `connect` gives the same object each time, which only one loop can have.
    """

    def __init__(self, connect: Callable[[], Backend], *, shared: bool) -> None:
        self._connect = connect
        self._shared = shared
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
            link = Link(self._connect())
            self._links[link.loop] = link
        link.holders += 1
        try:
            await link.open()
        except BaseException:
            await self.leave()
            raise
        return link

    async def leave(self) -> None:
        """Undo one `enter`; the last one closes the link."""
        link = self._links[asyncio.get_running_loop()]
        link.holders -= 1
        if link.holders == 0:
            del self._links[link.loop]
            await link.close()

    def _disown(self) -> None:
        """In a process that was forked: what is open belongs to the parent, whose loops do not run here."""
        if self._pid != os.getpid():
            self._links = {}
            self._pid = os.getpid()
