"""Where `noria bench` measures: a file beside the store, or a namespace on its server, which is gone afterwards."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import apsw

from noria.app.config import runtime_folder
from noria.app.connect import Postgres, Redis, Sqlite, read_url
from noria.cli.output import Output
from noria.clock import SystemClock
from noria.errors import ConfigError, NoriaError, Unavailable
from noria.ids import system_entropy

Facts = dict[str, Any]


def apart(url: str, seconds: float, out: Output) -> AbstractContextManager[str]:
    """The URL of an empty store in the same place, with the same options; gone after the block.

    Args:
        seconds: for each answer of a server.
        out: told of what could not be removed.

    Raises:
        ConfigError, Unavailable: nothing can be written there.
    """
    store = read_url(url)
    if isinstance(store, Sqlite):
        return _beside(store)
    return _within(url, f"noria_bench_{system_entropy(8).hex()}", seconds, out)


async def describe(url: str, seconds: float) -> Facts:
    """How the store writes, for programs. It is open in this process."""
    store = read_url(url)
    if isinstance(store, Redis):
        return await _describe_redis(store, seconds)
    if isinstance(store, Postgres):
        return await asyncio.to_thread(_describe_postgres, store, seconds)
    return _describe_file(store)


def words(facts: Facts) -> str:
    """The same for people."""
    if "sqlite" in facts:
        pragmas = (
            f"journal {facts['journal_mode']}, synchronous {facts['synchronous']}, pages {facts['page_size']}"
        )
        return f"a temporary file; SQLite {facts['sqlite']}, {pragmas}"
    settings = ", ".join(f"{name} {value}" for name, value in facts["settings"].items())
    latency = f"{facts['latency'] * 1000:.2f} ms for a call that does nothing"
    return f"a namespace of its own; {facts['server']}, {settings}; {latency}; CPU is this process's alone"


# ---- a file


@contextmanager
def _beside(store: Sqlite) -> Iterator[str]:
    try:
        folder = Path(tempfile.mkdtemp(prefix=".noria-bench-", dir=store.path.absolute().parent))
    except OSError as error:
        raise Unavailable(f"{store.path.absolute().parent} cannot be written: {error.strerror}") from error
    file = folder / "bench.db"
    try:
        yield f"sqlite:///{file}?synchronous={store.synchronous}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            shutil.rmtree(runtime_folder(file), ignore_errors=True)


def _describe_file(store: Sqlite) -> Facts:
    connection = apsw.Connection(str(store.path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        pragmas = {name: connection.pragma(name) for name in ("journal_mode", "page_size")}
    finally:
        connection.close()
    return {"sqlite": apsw.sqlite_lib_version(), "synchronous": store.synchronous, **pragmas}


# ---- a server


@contextmanager
def _within(url: str, name: str, seconds: float, out: Output) -> Iterator[str]:
    # The options are split by hand: a parser would lose the slashes of a URL without host.
    base, _, query = url.partition("?")
    options = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if key != "namespace"]
    there = f"{base}?{urlencode([*options, ('namespace', name)])}"
    store = read_url(there)
    try:
        yield there
    finally:
        try:
            _drop(store, seconds)
        except NoriaError as error:
            out.warn(f"the namespace {name} is left on the server: {error}")


def _drop(store: object, seconds: float) -> None:
    if isinstance(store, Redis):
        from noria.backends.redis.drop import drop as drop_keys
        from noria.backends.redis.settings import Settings

        asyncio.run(drop_keys(Settings(address=store.address, timeout=seconds)))
    elif isinstance(store, Postgres):
        from noria.backends.postgres.backend import settings_of
        from noria.backends.postgres.database import drop as drop_schema

        drop_schema(settings_of(store.conninfo, store.namespace, timeout=seconds), SystemClock())
    else:
        raise ConfigError("there is nothing to drop")


async def _describe_redis(store: Redis, seconds: float) -> Facts:
    from noria.backends.redis.look import look
    from noria.backends.redis.settings import Settings

    found = await look(Settings(address=store.address, timeout=seconds), SystemClock())
    appended = found.told.get("aof_enabled") == "1"
    settings = {
        "appendonly": "yes" if appended else "no",
        **({"appendfsync": found.appendfsync} if appended and found.appendfsync else {}),
        "maxmemory-policy": found.told.get("maxmemory_policy", "unknown"),
    }
    server = f"Redis {found.told.get('redis_version', 'unknown')}"
    return {"server": server, "settings": settings, "latency": found.latency}


def _describe_postgres(store: Postgres, seconds: float) -> Facts:
    from noria.backends.postgres.backend import settings_of
    from noria.backends.postgres.database import look, standing

    settings, clock = settings_of(store.conninfo, store.namespace, timeout=seconds), SystemClock()
    found, server = look(settings, clock), standing(settings, clock).details["server"]
    shown = {
        "fsync": "on" if found.fsync else "off",
        "synchronous_commit": found.synchronous_commit,
        "autovacuum": "on" if found.autovacuum else "off",
    }
    return {"server": server, "settings": shown, "latency": found.latency}
