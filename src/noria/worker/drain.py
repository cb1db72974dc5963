"""The end of a worker's work: what runs may finish, within the grace; the rest is handed back."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from typing import Final

from noria import aio
from noria.model.wording import count
from noria.worker.held import label
from noria.worker.judge import Doom
from noria.worker.run import Runner

log = logging.getLogger("noria.worker")

CLEAN_UP: Final = 0.05
"""Seconds that handlers get to clean up after they were told to end."""
_LOOK: Final = 0.02
_QUIET: Final = 1.0
"""Seconds before it is told what is waited for."""
_TELL_EVERY: Final = 5.0
"""Seconds after which that is told again."""
_NAMED: Final = 3
"""Running jobs that are named then; the others are counted."""


class Exit(Enum):
    """How a worker came to its end.

    CLEAN: all that it had begun was finished. CUT: the grace was over; running jobs were handed back, or
    outcomes could not be recorded any more. REPLACE: it asked for a new process in its place, because of its
    memory or of a handler that does not end, and has drained.
    """

    CLEAN = "clean"
    CUT = "cut"
    REPLACE = "replace"


async def finish(runner: Runner, hasten: asyncio.Event, seconds: float) -> bool:
    """Let running jobs end; then hand back those that have not.

    Args:
        hasten: set when nobody wants to wait any more.
        seconds: how long they may take.

    Returns:
        whether all had ended.
    """
    await _waited(runner, hasten, seconds)
    left_over = runner.unfinished()
    for run in left_over:
        runner.doom(run, Doom.DRAIN)
    # A handler that had its chance is handed back as it is.
    await aio.happened(asyncio.Event(), CLEAN_UP if left_over else 0)
    for run in runner.unfinished():
        runner.hand_back(run)
    return not left_over


async def _waited(runner: Runner, hasten: asyncio.Event, seconds: float) -> None:
    now = runner.loop.time()
    end, tell = now + seconds, now + _QUIET
    while runner.unfinished() and not hasten.is_set() and now < end:
        if now >= tell:
            tell = now + _TELL_EVERY
            _tell_who_is_waited_for(runner, end - now)
        await aio.happened(hasten, _LOOK)
        now = runner.loop.time()


def _tell_who_is_waited_for(runner: Runner, seconds: float) -> None:
    runs = runner.unfinished()
    named = ", ".join(label(run.lease) for run in runs[:_NAMED])
    more = f" and {len(runs) - _NAMED:,} more" if len(runs) > _NAMED else ""
    log.warning(
        "draining: waiting up to %.0f s more for %s: %s%s; asked to stop again, it hands them back at once",
        seconds, count(len(runs), "job"), named, more,
    )  # fmt: skip
