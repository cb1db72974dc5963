"""What a command works on: an application, or an open backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

from noria import aio
from noria.app.application import Noria
from noria.app.config import backend_url
from noria.app.connect import connect, read_url, without_credentials
from noria.backends.contract import Backend
from noria.cli.exits import ImportFault, NoAnswer
from noria.cli.flags import Flags
from noria.cli.loading import load
from noria.clock import SystemClock
from noria.errors import Unavailable
from noria.ids import IdSource

T = TypeVar("T")


def application(flags: Flags, named: str | None) -> Noria:
    """The application of this run: as named, or by `--app` or NORIA_APP; on the backend of `--url`, if given.

    Raises:
        ImportFault: none is named, or it cannot be imported.
        ConfigError: the URL names no backend.
    """
    name = named or flags.app
    if name is None:
        raise ImportFault(
            "which application? name it as module:attribute or path/to/file.py, by --app or NORIA_APP"
        )
    app = load(name)
    if flags.url is not None:
        read_url(flags.url)
        app.url = flags.url
    return app


def url_of(flags: Flags) -> str:
    """The backend of a run without application."""
    return flags.url or backend_url()


@asynccontextmanager
async def opened(app: Noria, seconds: float) -> AsyncIterator[Noria]:
    """The application, open; an answer is bounded both ways."""
    await answer(app.__aenter__(), seconds)
    try:
        yield app
    finally:
        await answer(app.__aexit__(None, None, None), seconds)


@asynccontextmanager
async def opened_store(flags: Flags) -> AsyncIterator[Backend]:
    """The backend by itself, open; only `enqueue` and workers make one that is not there.

    Raises:
        Unavailable: there is none at this place, or it cannot be reached.
        ConfigError: it cannot be used.
    """
    url = url_of(flags)
    if flags.app is not None and flags.url is None:
        app = load(flags.app)
        if app._backend is not None:  # given by the user, who knows where it is
            async with opened(app, flags.timeout):
                yield app.backend
            return
        url = app.url or backend_url()
    check_there(url)
    clock = SystemClock()
    backend = connect(url, clock, IdSource(clock))
    await answer(backend.start(), flags.timeout)
    try:
        yield backend
    finally:
        await answer(backend.aclose(), flags.timeout)


def check_there(url: str) -> None:
    """Looking at a store must not make one.

    Raises:
        Unavailable: there is no file.
    """
    path = read_url(url).path
    if not path.exists():
        raise Unavailable(
            f"there is no store at {without_credentials(url)} ({path.absolute()}); name one by --url, or let "
            "`noria worker` or `noria enqueue` make it"
        )


async def answer(work: Awaitable[T], seconds: float) -> T:
    """What the backend answers within that many seconds.

    Raises:
        NoAnswer: nothing.
    """
    scope = aio.bounded(seconds)
    try:
        async with scope:
            return await work
    except TimeoutError:
        if not scope.expired():
            raise
        raise NoAnswer(f"the backend did not answer within {seconds:g} s (--timeout)") from None
