"""How an application makes the backend: all its settings, with the defaults an expert would choose."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from noria.backends.postgres.address import complete, shown
from noria.backends.postgres.settings import NAMESPACE, Settings
from noria.backends.postgres.store import PostgresStore
from noria.clock import Clock
from noria.errors import ConfigError
from noria.ids import IdSource
from noria.model.limits import KEEP_DEAD, KEEP_SUCCEEDED, KEEP_SUCCEEDED_AT_MOST, PARK_FOR, POLL

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,39}")


class PostgresBackend(PostgresStore):
    """A store in one schema of a PostgreSQL database, for any number of processes on any number of machines.

    Args:
        conninfo: a URL or a list of keywords, as libpq takes them.
        namespace: the schema, which `start` makes if it is missing.
        clock, ids: time within this process, and randomness.
        timeout: seconds within which each call ends.
        keep_succeeded, keep_succeeded_at_most: how long, and how many, records of ended jobs are kept.
        keep_dead: seconds for which dead letters are kept.
        park_for: seconds for which a job waits for a worker that knows its task.
        poll: seconds after which a waiting lease looks again, hint or not.
        wall: the time, in place of the server's; for tests.

    Raises:
        ConfigError: libpq cannot read `conninfo`, or the namespace has a name that is not allowed.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        clock: Clock,
        ids: IdSource,
        namespace: str = NAMESPACE,
        timeout: float = 30.0,
        keep_succeeded: float = KEEP_SUCCEEDED,
        keep_succeeded_at_most: int = KEEP_SUCCEEDED_AT_MOST,
        keep_dead: float = KEEP_DEAD,
        park_for: float = PARK_FOR,
        poll: float = POLL,
        wall: Callable[[], float] | None = None,
    ) -> None:
        settings = settings_of(
            conninfo,
            namespace,
            timeout=timeout,
            keep_succeeded=keep_succeeded,
            keep_succeeded_at_most=keep_succeeded_at_most,
            keep_dead=keep_dead,
            park_for=park_for,
            poll=poll,
            wall=wall,
        )
        super().__init__(settings, clock, ids)


def settings_of(conninfo: str, namespace: str, **settings: Any) -> Settings:
    """The settings of a store: see `PostgresBackend`."""
    return Settings(
        conninfo=complete(conninfo), shown=shown(conninfo), namespace=checked(namespace), **settings
    )


def checked(namespace: str) -> str:
    """A namespace whose name may stand in SQL.

    Raises:
        ConfigError: it may not.
    """
    if not _NAME.fullmatch(namespace) or namespace.startswith("pg_") or namespace == "public":
        raise ConfigError(
            f"the namespace cannot be {namespace!r:.60}: it has at most 40 small letters, digits and underscores, "
            "begins with no digit, and is neither public nor begins with pg_"
        )
    return namespace
