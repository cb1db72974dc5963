"""The way of a job from the loop into a thread and back, for handlers with something of theirs on the loop."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any, Protocol

from noria.worker.context import Context
from noria.worker.threads import Threads


class Bound(Protocol):
    """The run that an errand is for."""

    context: Context | None
    handle: asyncio.Task[None] | None


class Around(Protocol):
    """The runner."""

    loop: asyncio.AbstractEventLoop
    closed: bool


class Errand:
    """Runs a function of one job in a thread, and lets nothing around it go on before it has ended.

    A thread cannot be interrupted. While it runs, the run has no handle: so it is told to end, and its outcome
    recorded, as that of any handler in a thread. Whatever stands around it on the loop, such as the clean-up of
    what it uses, waits for it, even when it is cancelled; but not once the worker has ended, since a thread that
    never returns must not keep its process alive.
    """

    __slots__ = ("_pool", "_run", "_runner")

    def __init__(self, run: Bound, runner: Around, pool: Threads) -> None:
        self._run = run
        self._runner = runner
        self._pool = pool

    async def __call__(self, function: Callable[[], Any]) -> Any:
        """Returns and raises what the function does.

        Raises:
            CancelledError: the caller was cancelled meanwhile; the function has ended all the same.
        """
        told: list[Any] = []
        error: list[BaseException] = []
        done = self._runner.loop.create_future()

        def work() -> None:
            try:
                told.append(function())
            except BaseException as raised:  # noqa: BLE001 - crosses over to the loop, whatever it is
                error.append(raised)

        # What middleware has set for this job holds in its thread as well.
        context = contextvars.copy_context()
        handle, self._run.handle = self._run.handle, None
        self._pool.submit(lambda: context.run(work), lambda: done.set_result(None))
        try:
            await self._ended(done)
        finally:
            self._run.handle = handle
        if error:
            raise error[0]
        return told[0]

    async def _ended(self, done: asyncio.Future[None]) -> None:
        cancelled: asyncio.CancelledError | None = None
        while not done.done():
            try:
                await asyncio.shield(done)
            except asyncio.CancelledError as told:
                if self._runner.closed:
                    raise
                cancelled = told
                if self._run.context is not None:
                    self._run.context.stop()
        if cancelled is not None:
            raise cancelled
