"""A store on a server that is reached through a proxy, and that is looked at past the proxy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from noria.backends.contract import Backend, Hint
from noria.backends.postgres import PostgresBackend
from noria.backends.redis import RedisBackend
from noria.clock import SystemClock
from noria.errors import BackendError
from noria.ids import IdSource
from noria.testing.proxy import Proxy
from tests.support import postgres, redis

CLOCK = SystemClock()
IDS = IdSource(CLOCK)
T = TypeVar("T")


class Site:
    """One namespace.

    Attributes:
        proxy: in front of the server.
        sure: a backend that does not go through it.
    """

    def __init__(self, proxy: Proxy, make: Callable[[int | None, dict[str, Any]], Backend]) -> None:
        self.proxy = proxy
        self._make = make
        self.sure = make(None, {})

    def make(self, **options: Any) -> Backend:
        """A backend behind the proxy, not yet started."""
        return self._make(self.proxy.port, options)

    @asynccontextmanager
    async def opened(self, **options: Any) -> AsyncIterator[Backend]:
        """A started backend behind the proxy."""
        backend = self.make(**options)
        await backend.start()
        try:
            yield backend
        finally:
            self.proxy.heal()
            await backend.aclose()


@asynccontextmanager
async def site_on(server: str) -> AsyncIterator[Site]:
    """A fresh namespace on a Redis or PostgreSQL server, gone afterwards."""
    support = {"redis": redis, "postgres": postgres}[server]
    name = support.fresh_namespace()
    proxy, make = (_redis if server == "redis" else _postgres)(name)
    with proxy:
        site = Site(proxy, make)
        await site.sure.start()
        try:
            yield site
        finally:
            await site.sure.aclose()
            support.drop_namespace(name)


def _redis(name: str) -> tuple[Proxy, Any]:
    address = redis.server(name)

    def make(port: int | None, options: dict[str, Any]) -> Backend:
        there = address if port is None else replace(address, host="127.0.0.1", port=port)
        return RedisBackend(there, clock=CLOCK, ids=IDS, persistence="none", **{"timeout": 10.0, **options})

    return Proxy(address.host, address.port), make


def _postgres(name: str) -> tuple[Proxy, Any]:
    proxy = Proxy.before(postgres.SERVER)

    def make(port: int | None, options: dict[str, Any]) -> Backend:
        server = postgres.SERVER if port is None else proxy.through(postgres.SERVER)
        return PostgresBackend(server, namespace=name, clock=CLOCK, ids=IDS, **{"timeout": 10.0, **options})

    return proxy, make


async def insisted(call: Callable[[], Awaitable[T]]) -> T:
    """Make a call until it is answered."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await call()
            except BackendError:
                await asyncio.sleep(0.01)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def heard_at_last(site: Site, hints: AsyncIterator[Hint], payload: bytes) -> list[Hint]:
    """Send a hint again and again, past the proxy, until it is heard; all that was heard."""
    heard: list[Hint] = []

    async def hear() -> None:
        async for hint in hints:
            heard.append(hint)
            if hint.payload == payload:
                return

    hearing = asyncio.ensure_future(hear())
    async with asyncio.timeout(60):
        while not hearing.done():
            await site.sure.notify("queue:q", payload)
            await asyncio.wait([hearing], timeout=0.02)
    await hearing
    return heard
