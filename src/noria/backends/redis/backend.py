"""How an application makes the backend: all its settings, with the defaults an expert would choose."""

from __future__ import annotations

from noria.backends.redis.address import Address
from noria.backends.redis.settings import Persistence, Settings
from noria.backends.redis.store import RedisStore
from noria.clock import Clock
from noria.ids import IdSource
from noria.model.limits import KEEP_DEAD, KEEP_SUCCEEDED, KEEP_SUCCEEDED_AT_MOST, PARK_FOR, POLL


class RedisBackend(RedisStore):
    """A store on one Redis server, for any number of processes on any number of machines.

    Args:
        address: the server, and the namespace on it.
        clock, ids: time and randomness.
        persistence: "asked" warns of a server without an append-only file; "none" is content with it.
        timeout: seconds within which each call ends.
        keep_succeeded, keep_succeeded_at_most: how long, and how many, records of ended jobs are kept.
        keep_dead: seconds for which dead letters are kept.
        park_for: seconds for which a job waits for a worker that knows its task.
        poll: seconds after which a waiting lease looks again, hint or not.
        server_time: due times and deadlines are read from the server's clock; if not, from `clock`.
    """

    def __init__(
        self,
        address: Address,
        *,
        clock: Clock,
        ids: IdSource,
        persistence: Persistence = "asked",
        timeout: float = 30.0,
        keep_succeeded: float = KEEP_SUCCEEDED,
        keep_succeeded_at_most: int = KEEP_SUCCEEDED_AT_MOST,
        keep_dead: float = KEEP_DEAD,
        park_for: float = PARK_FOR,
        poll: float = POLL,
        server_time: bool = True,
    ) -> None:
        settings = Settings(
            address=address,
            persistence=persistence,
            timeout=timeout,
            keep_succeeded=keep_succeeded,
            keep_succeeded_at_most=keep_succeeded_at_most,
            keep_dead=keep_dead,
            park_for=park_for,
            poll=poll,
            server_time=server_time,
        )
        super().__init__(settings, clock, ids)
