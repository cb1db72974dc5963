"""Who holds up a worker: the job that blocks the loop, a handler that does not end, memory that does not come back."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Final

from noria import aio
from noria.worker import memory
from noria.worker.held import Run, label

_FRAMES: Final = 12


class Watchdog:
    """Asks for a new process when this one cannot be mended.

    Args:
        every: seconds between looks.
        memory_limit: bytes; 0: as much as it likes.
        patience: seconds that a handler may go on after its outcome was settled without it; None: for ever.
        strays: those handlers, and since when, by the loop's time.
        replace: called once, with the reason.
    """

    def __init__(
        self,
        *,
        every: float,
        memory_limit: int,
        patience: float | None,
        strays: Mapping[Run, float],
        replace: Callable[[str], None],
    ) -> None:
        self._every = every
        self._memory_limit = memory_limit
        self._patience = patience
        self._strays = strays
        self._replace = replace

    async def run(self) -> None:
        """Look until there is a reason; a task of the worker's crew."""
        while not (why := self._reason()):
            await aio.sleep(self._every)
        self._replace(why)

    def _reason(self) -> str:
        held = memory.resident() if self._memory_limit else 0
        if held > self._memory_limit:
            return f"it holds {held / 2**20:.0f} MiB of memory, {self._memory_limit / 2**20:.0f} are allowed"
        if self._patience is not None:
            before = asyncio.get_running_loop().time() - self._patience
            stuck = [label(run.lease) for run, since in self._strays.items() if since < before]
            if stuck:
                return f"{stuck[0]} does not end, and keeps its slot"
        return ""


def culprit(loop: asyncio.AbstractEventLoop, runs: Iterable[Run]) -> str:
    """From another thread: the job whose coroutine takes the loop's turn now; empty if none does."""
    task = asyncio.current_task(loop)
    for run in list(runs):
        if run.handle is not None and run.handle is task:
            return label(run.lease)
    return ""


def stack_of(thread: int) -> str:
    """Where a thread stands now, by its number."""
    return _told(sys._current_frames().get(thread))


def stacks() -> str:
    """Where every thread of this process stands now."""
    frames = sys._current_frames()
    names = {each.ident: each.name for each in threading.enumerate()}
    return "\n".join(f"thread {names.get(ident, ident)}:\n{_told(frame)}" for ident, frame in frames.items())


def _told(frame: FrameType | None) -> str:
    return "".join(traceback.format_stack(frame)[-_FRAMES:]) if frame else "  (unknown)"
