"""How a worker comes to its end: who asks for it, what fails, and when it is over."""

from __future__ import annotations

import asyncio
import logging

from noria.errors import NoriaError

log = logging.getLogger("noria.worker")


class WorkerFault(NoriaError):
    """A part of the worker failed. It stops at once and loudly; its jobs run again elsewhere."""


class Ending:
    """The way of one worker to its end. All methods belong to the loop's thread.

    Attributes:
        stop: set when it leases no more.
        hasten: set when nobody waits for its running jobs any more.
        running: whether it has begun and is not over.
        fault: what failed first, once something has.
    """

    def __init__(self) -> None:
        self.stop, self.hasten, self._over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.running = False
        self.fault: WorkerFault | None = None
        self._asked = False

    def begin(self) -> bool:
        """Whether it may begin: not if it was dismissed before."""
        self.running = not self._over.is_set()
        return self.running

    def finish(self) -> None:
        """It is over."""
        self.running = False
        self._over.set()

    async def over(self) -> None:
        """Wait until it is over."""
        await self._over.wait()

    def drain(self, *, now: bool) -> None:
        """Somebody asks it to stop; whoever asks again does not want to wait."""
        if now or self._asked:
            self.hasten.set()
        self._asked = True
        self.stop.set()

    def dismiss(self, *, now: bool) -> bool:
        """What it works on is about to be closed.

        Returns:
            whether it runs, and `over` is to be awaited; if it does not, it never will.
        """
        if not self.running:
            self._over.set()
        elif now or not self._asked:
            self.drain(now=now)
        return self.running

    def fail(self, part: str, error: BaseException) -> None:
        """A part has failed, or others have cancelled it: stop at once; the first fault is kept."""
        if self.fault is None:
            story = f"{part} failed: {error!r}"
            if isinstance(error, asyncio.CancelledError):
                story = (
                    f"{part} was cancelled by others, as by a job that cancels every task of the event loop"
                )
            self.fault = WorkerFault(f"{story}; its jobs run again elsewhere")
            self.fault.__cause__ = error
            log.critical("%s; the worker stops", story)
        self.stop.set()
