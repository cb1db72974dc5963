"""Calls that meet a transaction of somebody else, which has an id, a key or a row that they need and may keep it long.

All calls share a connection, so none of them may wait there for others. A call that is held up is tried again and again
over another connection, while the rest goes on; so is whatever comes meanwhile for the same keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

from noria import aio
from noria.backends.postgres.connection import SHARE
from noria.backends.postgres.faults import Held
from noria.backends.postgres.settings import Settings
from noria.backends.sql.alter import Alter
from noria.backends.sql.push import Push
from noria.clock import Clock
from noria.errors import Unavailable
from noria.ids import Id, jitter_source, system_entropy

Waiter = Push | Alter
"""A call that needs what others may have taken, and not yet committed."""

Key = Id | tuple[str, str]
"""The id of a job, or its task and unique key."""

FIRST_PAUSE: Final = 0.02
LONGEST_PAUSE: Final = 0.3
"""Seconds between two tries."""


class Waits:
    """The calls of one backend object that are held up."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._keys: Counter[Key] = Counter()

    def concern(self, call: Waiter) -> bool:
        """Whether another call is held up at what this one needs."""
        return bool(self._keys) and any(key in self._keys for key in keys_of(call))

    async def run(self, call: Waiter, ask: Callable[[], Awaitable[Any]]) -> Any:
        """Try a call until nobody holds it up.

        Raises:
            Unavailable: somebody does for too long. Nothing was done.
        """
        keys = Counter(keys_of(call))
        pauses = aio.Pauses(FIRST_PAUSE, LONGEST_PAUSE, jitter_source(system_entropy))
        patience = self._settings.timeout * SHARE
        until = self._clock.monotonic() + patience
        self._keys += keys
        try:
            while True:
                try:
                    return await ask()
                except Held as error:
                    if self._clock.monotonic() >= until:
                        raise Unavailable(f"{self._settings.store}: {_why(call, patience)}") from error
                await aio.sleep(pauses.next())
        finally:
            self._keys -= keys


def keys_of(call: Waiter) -> list[Key]:
    """What a call needs."""
    if isinstance(call, Alter):
        return list(call.ids)
    named = [(job.task, job.unique) for job in call.jobs if job.unique is not None]
    return [*(job.id for job in call.jobs), *named]


def _why(call: Waiter, patience: float) -> str:
    what = (
        f"a job, or its unique key, of {len(call.ids)} to change"
        if isinstance(call, Alter)
        else _pushed(call)
    )
    return (
        f"a transaction of somebody else holds {what}, and did not end within {patience:g} seconds: "
        "look for one that is kept open, in pg_stat_activity; nothing was done"
    )


def _pushed(call: Push) -> str:
    keyed = [f"{job.unique!r:.60} of task {job.task!r}" for job in call.jobs if job.unique is not None]
    if not keyed:
        return "the id of a job to enqueue"
    more = f", or one of {len(keyed) - 1} more," if len(keyed) > 1 else ""
    return f"the unique key {keyed[0]}{more}"
