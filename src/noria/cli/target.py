"""What a command works on: an application, or an open backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from noria import aio
from noria.app.application import Noria
from noria.app.config import backend_url
from noria.app.connect import Place, Postgres, Redis, Sqlite, connect, read_url, without_credentials
from noria.backends.contract import Backend
from noria.cli.exits import ImportFault, NoAnswer
from noria.cli.flags import Flags
from noria.cli.loading import load
from noria.clock import SystemClock
from noria.errors import ConfigError, Unavailable
from noria.ids import IdSource

T = TypeVar("T")

_ASKED: Final = 10.0
"""Seconds within which a server says whether there is a store."""


def application(flags: Flags, named: str | None) -> Noria:
    """The application of this run: as named, or by `--app` or NORIA_APP; on the backend of `--url`, if given.

    Raises:
        ImportFault: none is named, or it cannot be imported.
        ConfigError: the URL names no backend.
    """
    check_no_front(flags)
    app = load(name_of(flags, named))
    if flags.url is not None:
        read_url(flags.url)
        app.url = flags.url
    return app


def name_of(flags: Flags, named: str | None) -> str:
    """The name of the application of this run.

    Raises:
        ImportFault: there is none.
    """
    name = named or flags.app
    if name is None:
        raise ImportFault(
            "which application? name it as module:attribute or path/to/file.py, by --app or NORIA_APP"
        )
    return name


def url_of(flags: Flags) -> str:
    """The backend of a run without application.

    Raises:
        ConfigError: the URL is that of a front.
    """
    check_no_front(flags)
    return flags.url or backend_url()


def is_front(url: str | None) -> bool:
    """Whether a URL means a front, and not a backend."""
    return url is not None and url.lower().startswith(("http://", "https://"))


def check_no_front(flags: Flags) -> None:
    """This command works on a backend itself.

    Raises:
        ConfigError: `--url` names a front.
    """
    if is_front(flags.url):
        raise ConfigError(
            "this command works on the backend itself, and not through a front: give its own URL by --url or "
            "NORIA_URL, such as sqlite:///noria.db"
        )


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
        if app.where is None:  # its user has made the backend, and knows where it is
            async with opened(app, flags.timeout):
                yield app.backend
            return
        url = app.where
    check_there(url)
    clock = SystemClock()
    backend = connect(url, clock, IdSource(clock))
    await answer(backend.start(), flags.timeout)
    try:
        yield backend
    finally:
        await answer(backend.aclose(), flags.timeout)


def is_there(url: str) -> bool:
    """Whether there is a store.

    Raises:
        ConfigError, Unavailable: a server cannot be asked.
    """
    store = read_url(url)
    if isinstance(store, Redis):
        try:
            from noria.backends.redis.line import is_used
        except ModuleNotFoundError:
            return True  # whoever connects is told which package is missing
        from noria.backends.redis.settings import Settings

        return is_used(Settings(address=store.address, timeout=_ASKED), SystemClock())
    if isinstance(store, Sqlite):
        return store.path.exists()
    from noria.backends.postgres.backend import settings_of
    from noria.backends.postgres.database import standing

    return standing(settings_of(store.conninfo, store.namespace, timeout=_ASKED), SystemClock()).version > 0


def check_there(url: str) -> None:
    """Looking at a store must not make one.

    Raises:
        Unavailable: there is none.
    """
    if not is_there(url):
        store = read_url(url)
        raise Unavailable(
            f"there is no store at {without_credentials(url)} ({_where(store)}); name one by --url, or let "
            "`noria worker` or `noria enqueue` make it"
        )


def _where(store: Place) -> str:
    if isinstance(store, Sqlite):
        return str(store.path.absolute())
    return f"namespace {store.namespace if isinstance(store, Postgres) else store.address.namespace}"


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
