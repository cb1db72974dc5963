"""The backends that the contract is run against: one factory each.

A factory knows how to make a fresh namespace and how to open a backend on it, as often as is asked, in this process
or in another one. Nothing else in this folder names a backend.
"""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from noria.backends.contract import Backend
from noria.backends.sqlite import SqliteBackend
from noria.clock import Clock
from noria.ids import IdSource
from tests.support.remote import Server

Mode = Literal["inline", "threaded", "restarted"]
"""How the calls of a test reach the store: in this thread; through the real shell; through the real shell in a
process that is killed, again and again, between the calls."""


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

    def fresh(self, folder: Path) -> str:
        """The address of a namespace that nobody has used. `folder` is empty and has a short path."""
        ...

    def open(
        self, address: str, mode: Mode, clock: Clock, options: Options, beside: Backend | None = None
    ) -> Backend:
        """A backend on this namespace, not yet started; `beside` is one that has it open in this process."""
        ...


class Sqlite:
    """A database file of its own for each test. What the tests check is not the loss of power: no syncs."""

    name = "sqlite"
    modes: tuple[Mode, ...] = ("inline", "threaded", "restarted")

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


FACTORIES: dict[str, Factory] = {factory.name: factory for factory in (Sqlite(),)}


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
