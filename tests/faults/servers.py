"""The servers of the fault tests, each with one way to take it down, bring it back, and end its connections."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from tests.support import postgres, redis

KINDS: Final = ("redis", "postgresql")


class Server(Protocol):
    """A server of one test's own.

    Attributes:
        kind: one of `KINDS`.
        port: where it listens.
        url: as an application gets it.
    """

    kind: str
    port: int
    url: str

    def through(self, port: int) -> str:
        """The URL of the same store by way of a proxy."""

    def down(self) -> None:
        """End it as a crash of its process does. What it had confirmed is on its disk."""

    def up(self) -> None:
        """Start it on its port, with what it kept; returns when it serves."""

    def hang_up(self) -> None:
        """End every connection that processes of Noria have."""


class RedisServer:
    """Redis, with a log that is synced before anything is confirmed."""

    kind = "redis"

    def __init__(self, private: redis.PrivateServer) -> None:
        self.private = private
        self.port = private.port
        self.url = self.through(private.port)

    def through(self, port: int) -> str:
        return f"redis://127.0.0.1:{port}?namespace={self.private.address.namespace}"

    def down(self) -> None:
        self.private.kill()

    def up(self) -> None:
        self.private.start()

    def hang_up(self) -> None:
        with self.private.client() as client:
            for kind in ("normal", "pubsub"):
                client.ask("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


class PostgresServer:
    """PostgreSQL. Its `fsync` is off: that costs what it kept when its machine dies, and not when its process does."""

    kind = "postgresql"

    def __init__(self, private: postgres.PrivateServer) -> None:
        self.private = private
        self.port = private.port
        self.url = self.through(private.port)

    def through(self, port: int) -> str:
        return f"postgresql://postgres@127.0.0.1:{port}/postgres?namespace=shop"

    def down(self) -> None:
        self.private.stop(signal.SIGQUIT)

    def up(self) -> None:
        self.private.start()

    def hang_up(self) -> None:
        postgres.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'noria'",
            self.private.url,
        )


@contextmanager
def server_of(kind: str) -> Iterator[Server]:
    """A server that runs, and is gone afterwards."""
    if kind == "redis":
        with redis.private_server(appendfsync="always") as private:
            yield RedisServer(private)
    else:
        with postgres.private_server() as there:
            yield PostgresServer(there)
