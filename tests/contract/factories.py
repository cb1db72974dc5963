"""The backends that the contract is run against: one factory each.

A factory knows how to make a fresh namespace and how to open a backend on it, as often as is asked, in this process
or in another one. Nothing else in this folder names a backend.
"""

from __future__ import annotations

import asyncio
import random
import socket
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from noria.backends.contract import Backend
from noria.backends.postgres import PostgresBackend
from noria.backends.redis import RedisBackend
from noria.backends.sqlite import SqliteBackend
from noria.clock import Clock
from noria.ids import IdSource
from noria.testing.mishaps import Plan
from noria.testing.play import Play, compose
from noria.testing.proxy import Proxy
from tests.support import postgres, redis
from tests.support.remote import Server

Mode = Literal["inline", "threaded", "restarted", "proxied"]
"""How the calls of a test reach the store: in this thread; through the real shell; through the real shell in a
process that is killed, again and again, between the calls; through the real shell and a proxy that delivers everything
in pieces of any size, some of them late."""


class Options(Struct, frozen=True, omit_defaults=True):
    """What a test may set about its store; None leaves it to the backend."""

    timeout: float = 20.0
    poll: float | None = None
    keep_succeeded: float | None = None
    keep_succeeded_at_most: int | None = None
    keep_dead: float | None = None
    park_for: float | None = None

    def given(self) -> dict[str, Any]:
        """The settings that were given, as keyword arguments."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class Factory(Protocol):
    """One kind of backend."""

    name: str
    modes: tuple[Mode, ...]
    lasting: bool
    """Whether what it keeps outlives its process; if so, it is run "restarted"."""

    def fresh(self, folder: Path) -> str:
        """The address of a namespace that nobody has used. `folder` is empty and has a short path."""
        ...

    def open(
        self, address: str, mode: Mode, clock: Clock, options: Options, beside: Backend | None = None
    ) -> Backend:
        """A backend on this namespace, not yet started; `beside` is one that has it open in this process."""
        ...

    def drop(self, address: str) -> None:
        """Leave nothing of a namespace behind; every process that had it open has ended."""
        ...

    def missing(self) -> str:
        """Why it cannot be tested on this machine; empty if it can."""
        ...


class Sqlite:
    """A database file of its own for each test. What the tests check is not the loss of power: no syncs."""

    name = "sqlite"
    modes: tuple[Mode, ...] = ("inline", "threaded", "restarted")
    lasting = True

    def fresh(self, folder: Path) -> str:
        return str(folder / "noria.db")

    def open(
        self, address: str, mode: Mode, clock: Clock, options: Options, beside: Backend | None = None
    ) -> Backend:
        ids = IdSource(clock)
        if mode == "inline" and isinstance(beside, SqliteBackend):
            return beside.sibling(ids)
        runtime = Path(address).with_name("run")
        runtime.mkdir(mode=0o700, exist_ok=True)
        return SqliteBackend(
            address,
            runtime=runtime,
            clock=clock,
            ids=ids,
            synchronous="off",
            inline=mode == "inline",
            **options.given(),
        )

    def drop(self, address: str) -> None:
        """Its folder goes with the test."""

    def missing(self) -> str:
        return ""


class Redis:
    """A namespace of its own for each test, on the server that the tests were given."""

    name = "redis"
    modes: tuple[Mode, ...] = ("threaded", "restarted", "proxied")
    lasting = True

    def fresh(self, folder: Path) -> str:
        return redis.fresh_namespace()

    def open(
        self, address: str, mode: Mode, clock: Clock, options: Options, beside: Backend | None = None
    ) -> Backend:
        server = redis.server(address)
        if mode == "proxied":
            proxy = _chopping(server.host, server.port)
            server = replace(server, host="127.0.0.1", port=proxy.port)
        return RedisBackend(
            server,
            clock=clock,
            ids=IdSource(clock),
            persistence="none",
            server_time=False,
            **options.given(),
        )

    def drop(self, address: str) -> None:
        redis.drop_namespace(address)

    def missing(self) -> str:
        return redis.missing()


class Postgres:
    """A schema of its own for each test, in a database that all of them share. Time is the test's, not the server's."""

    name = "postgres"
    modes: tuple[Mode, ...] = ("threaded", "restarted", "proxied")
    lasting = True

    def fresh(self, folder: Path) -> str:
        return postgres.fresh_namespace()

    def drop(self, address: str) -> None:
        postgres.drop_namespace(address)

    def open(
        self, address: str, mode: Mode, clock: Clock, options: Options, beside: Backend | None = None
    ) -> Backend:
        server = postgres.SERVER
        if mode == "proxied":
            parts = urlsplit(server)
            server = _chopping(str(parts.hostname), parts.port or 5432).through(server)
        return PostgresBackend(
            server,
            namespace=address,
            clock=clock,
            ids=IdSource(clock),
            wall=clock.wall,
            **options.given(),
        )

    def missing(self) -> str:
        return postgres.missing()


class Testing:
    """What `noria.testing.run` gives an application and its worker: a store in memory, and both of its wrappers."""

    name = "testing"
    modes: tuple[Mode, ...] = ("inline",)
    lasting = False

    def __init__(self) -> None:
        self._machine: tuple[str, Play] | None = None

    def fresh(self, folder: Path) -> str:
        return str(folder)

    def drop(self, address: str) -> None:
        """It was in memory."""

    def open(
        self, address: str, mode: Mode, clock: Clock, options: Options, beside: Backend | None = None
    ) -> Backend:
        if self._machine is None or self._machine[0] != address:
            self._machine = address, compose(clock, lambda: IdSource(clock), _unread, **options.given())
        # An application's way and a worker's, one behind the other.
        play = self._machine[1]
        return cast(
            Backend,
            play.fateful(Plan(), behind=play.witness(), die=_never, doubled=_never, over=_never),
        )

    def missing(self) -> str:
        return ""


@cache
def _chopping(host: str, port: int) -> Proxy:
    """The proxy in front of a server, one for all tests of this process."""
    proxy = Proxy(host, port)
    proxy.chop(random.Random(1))
    return proxy


def _unread(task: str, body: bytes, codec: str) -> dict[str, Any]:
    return {}


def _never() -> None:
    raise AssertionError("nothing was planned")


FACTORIES: dict[str, Factory] = {
    factory.name: factory for factory in (Sqlite(), Redis(), Postgres(), Testing())
}


class Order(Struct, frozen=True):
    """What another process is to open."""

    factory: str
    address: str
    options: Options


def serve(sock: socket.socket, what: str) -> None:
    """Be that process, until the other side closes the socket or kills us."""
    order = msgspec.json.decode(what, type=Order)
    factory = FACTORIES[order.factory]
    server = Server(lambda clock: factory.open(order.address, "restarted", clock, order.options))
    asyncio.run(server.run(sock))
