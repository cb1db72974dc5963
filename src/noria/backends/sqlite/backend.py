"""How an application makes the backend: all its settings, with the defaults an expert would choose."""

from __future__ import annotations

import os
from pathlib import Path

from noria.backends.bus import Bus
from noria.backends.sqlite.engine import Engine
from noria.backends.sqlite.settings import MEMORY, Settings, Synchronous
from noria.backends.sqlite.store import SqliteStore
from noria.clock import Clock
from noria.errors import ConfigError
from noria.ids import IdSource
from noria.model.limits import KEEP_DEAD, KEEP_SUCCEEDED, KEEP_SUCCEEDED_AT_MOST, PARK_FOR, POLL


class SqliteBackend(SqliteStore):
    """A store in one SQLite file, for any number of processes on one machine.

    Args:
        path: the file, which `start` makes if it is missing; ":memory:" for a store that ends with the object,
            which needs `inline`.
        runtime: a directory of this user alone, for wake-up sockets.
        clock, ids: time and randomness.
        synchronous: "full" survives the loss of power, "normal" and "off" only the death of processes.
        timeout: seconds within which each call ends.
        keep_succeeded, keep_succeeded_at_most: how long, and how many, records of ended jobs are kept.
        keep_dead: seconds for which dead letters are kept.
        park_for: seconds for which a job waits for a worker that knows its task.
        poll: seconds after which a waiting lease looks again, hint or not.
        inline: run the engine in the caller, without threads, so that a simulated clock rules everything.
        sockets: whether to exchange hints with other processes; unless said, all but inline backends do.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        runtime: Path,
        clock: Clock,
        ids: IdSource,
        synchronous: Synchronous = "full",
        timeout: float = 30.0,
        keep_succeeded: float = KEEP_SUCCEEDED,
        keep_succeeded_at_most: int = KEEP_SUCCEEDED_AT_MOST,
        keep_dead: float = KEEP_DEAD,
        park_for: float = PARK_FOR,
        poll: float = POLL,
        inline: bool = False,
        sockets: bool | None = None,
    ) -> None:
        settings = Settings(
            path=_absolute(path),
            runtime=runtime,
            synchronous=synchronous,
            timeout=timeout,
            keep_succeeded=keep_succeeded,
            keep_succeeded_at_most=keep_succeeded_at_most,
            keep_dead=keep_dead,
            park_for=park_for,
            poll=poll,
            inline=inline,
            sockets=not inline if sockets is None else sockets,
        )
        if settings.in_memory and not inline:
            raise ConfigError(
                "a SQLite database in memory belongs to one connection: pass inline=True, or name a file"
            )
        super().__init__(settings, clock, ids, Engine(settings, clock), Bus(), owns_engine=True)


def _absolute(path: str | Path) -> str:
    """The file that is meant now: a handler may change the working directory of its process.

    Links are followed, as SQLite does for the name of its log: all processes must share one log and one lock.
    """
    return str(path) if str(path) == MEMORY else os.path.realpath(path)
