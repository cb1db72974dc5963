"""The front of `noria up`: beside the worker in its process, or kept running as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from noria import aio, ids
from noria.app.application import Noria
from noria.app.config import api_key
from noria.cli.flags import Flags
from noria.cli.supervise import PYTHON, Front
from noria.front.extra import missing
from noria.front.listener import is_loopback, listen, url_of
from noria.worker.fleet import Program

if TYPE_CHECKING:
    from noria.front.server import Server

log = logging.getLogger("noria.cli")

SPARES: Final = 100
"""Ports that are tried after the one that was asked for, should others have it."""
_LAST: Final = 6.0
"""Seconds that requests and streams get to end, a little more than the server itself gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a front answers, or why there is none.

    Attributes:
        url: where; empty if there is none.
        port: which was asked for.
        locked: it asks for a key.
        missing: the package that it would need, if that is not installed.
    """

    url: str = ""
    port: int = 0
    locked: bool = False
    missing: str | None = None


async def site(app: Noria, url: str, port: int, *, asks: bool) -> Site:
    """What there is to tell of the front of an open application; one without a URL could not be had.

    Args:
        asks: it has a key besides those in the store.
    """
    if not url:
        return Site(missing=missing())
    from noria.front.keys import KeyRing

    keys = KeyRing(app.backend, None, app.home.clock, ids.system_entropy)
    locked = asks or not is_loopback(urlsplit(url).hostname or "") or await keys.any()
    return Site(url=url, port=port, locked=locked)


def apart(flags: Flags, named: str, host: str, port: int) -> Front:
    """A front as a process of its own; it keeps its port through every restart.

    Raises:
        ConfigError: no port can be had.
    """
    with listen(host, port, spares=SPARES) as found:
        url, taken = url_of(host, found), found.getsockname()[1]
    command = (*PYTHON, "serve", named, "--host", host, "--port", str(taken))
    loudness = "--verbose" if flags.verbose else "--quiet"
    where = {} if flags.url is None else {"NORIA_URL": flags.url, "NORIA_CONTEXT": ""}
    program = Program(
        name="front",
        command=(*command, loudness),
        environment={**os.environ, **where},
        alone=True,
        kind="front",
    )
    return Front(program=program, url=url, asks=api_key() is not None)


class Beside:
    """A front in the process of a worker; both drain together.

    Attributes:
        url: where it answers, once it is open.
    """

    def __init__(self, server: Server) -> None:
        self.url = ""
        self._server = server
        self._asked = False

    @contextlib.asynccontextmanager
    async def open(self, app: Noria, drain: Callable[[], None]) -> AsyncIterator[Beside]:
        """From when it listens until all its requests have ended.

        Args:
            app: the open application.
            drain: makes the worker drain, should the front fail.

        Raises:
            ConfigError: the address cannot be had, or others can reach it and there is no key.
        """
        settled, ended = asyncio.Event(), asyncio.Event()
        errors: list[BaseException] = []

        def failed(part: str, error: BaseException) -> None:
            errors.append(error)
            settled.set()
            drain()

        def ready(url: str) -> None:
            self.url = url
            settled.set()

        async def serve() -> None:
            try:
                await self._server.run(ready)
            finally:
                ended.set()

        crew = aio.Crew("noria.front", failed)
        crew.start("server", serve())
        await settled.wait()
        try:
            if not errors:
                yield self
        finally:
            await self._end(crew, ended)
        if errors:
            raise errors[0]

    async def _end(self, crew: aio.Crew, ended: asyncio.Event) -> None:
        if not self._asked:
            self.drain()
        if not await aio.happened(ended, _LAST):
            self._server.cut()
        await crew.aclose(1.0)

    def drain(self) -> None:
        """Answer all who wait, end event streams, and take no more requests; asked again: end now."""
        (self._server.cut if self._asked else self._server.stop)()
        self._asked = True
