"""From a URL to a backend: the only place that knows which backends there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from noria.app.config import runtime_folder
from noria.app.options import nearest
from noria.backends.contract import Backend
from noria.clock import Clock
from noria.errors import ConfigError, InvalidInput
from noria.ids import IdSource
from noria.model.names import check_name

if TYPE_CHECKING:
    from noria.backends.redis.address import Address

_LATER: Final = ("amqp", "amqps")
_REDIS: Final = ("redis", "rediss")
_REDIS_OPTIONS: Final = {
    "redis": ("namespace", "persistence"),
    "rediss": ("namespace", "persistence", "ca", "verify"),
}
_FORMS: Final = (
    "sqlite:///relative.db, sqlite:////absolute.db, postgresql://user@host/database or redis://host"
)
_SYNCHRONOUS: Final = ("full", "normal")


class Sqlite(NamedTuple):
    """Where an SQLite store is, and how it is opened."""

    path: Path
    synchronous: Literal["full", "normal"]

    @property
    def file(self) -> Path | None:
        """The file on this machine that holds the store, if one does."""
        return self.path


class Postgres(NamedTuple):
    """Where a PostgreSQL store is."""

    conninfo: str
    namespace: str
    path: Path
    """No file: the server, database and namespace, by which processes on one machine know that they share a store."""

    @property
    def file(self) -> Path | None:
        """Whatever files the server keeps are its own."""
        return None


class Redis(NamedTuple):
    """Where a Redis server is, which namespace on it is meant, and what is expected of it."""

    address: Address
    persistence: Literal["asked", "none"]

    @property
    def file(self) -> Path | None:
        """Whatever files the server keeps are its own."""
        return None

    @property
    def path(self) -> Path:
        """No file: the server, database and namespace, by which processes know that they share a store."""
        at = self.address
        return Path(f"/redis/{at.host}:{at.port}/{at.database}/{at.namespace}")


Place = Sqlite | Postgres | Redis


def connect(url: str, clock: Clock, ids: IdSource) -> Backend:
    """Make the backend that a URL names; it is not opened yet.

    Raises:
        ConfigError: the URL is malformed, or names a backend or option that does not exist. The message never
            holds a password.
    """
    # Imported here, so that `import noria` costs nothing that only an open backend needs.
    from noria.backends.sqlite import SqliteBackend

    store = read_url(url)
    if isinstance(store, Redis):
        return _connect_redis(store, clock, ids)
    if isinstance(store, Postgres):
        there: Backend = _postgres().PostgresBackend(
            store.conninfo, namespace=store.namespace, clock=clock, ids=ids
        )
        return there
    runtime = runtime_folder(store.path)
    return SqliteBackend(store.path, runtime=runtime, clock=clock, ids=ids, synchronous=store.synchronous)


def _connect_redis(store: Redis, clock: Clock, ids: IdSource) -> Backend:
    try:
        from noria.backends.redis import RedisBackend
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"redis:// needs {error.name}: install it with `pip install 'noria[redis]'`"
        ) from error

    return RedisBackend(store.address, clock=clock, ids=ids, persistence=store.persistence)


def read_url(url: str) -> Place:
    """What a URL says, checked.

    Args:
        url: `sqlite:///relative.db` or `sqlite:////absolute.db`, with `?synchronous=full` (the default: each
            enqueue survives a power cut) or `?synchronous=normal` (it survives the death of every process); or
            `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, `rediss://` with TLS, with `?namespace=` (applications
            with different ones never meet), `?persistence=none` (a server that keeps nothing on its disk is well), and
            for `rediss://` `?ca=FILE` (the authorities of its certificate) or `?verify=none` (it need not prove who it
            is); or `postgresql://user:password@host:port/database`, with `?namespace=` and all options of libpq.

    Raises:
        ConfigError: as `connect`.
    """
    parts = _split(url)
    if parts.scheme in ("postgresql", "postgres"):
        return _read_postgres(url, parts)
    if parts.scheme in _LATER:
        raise ConfigError(f"{parts.scheme}:// is not in this version; use {_FORMS}")
    if parts.scheme in _REDIS:
        return _read_redis(url, parts)
    if parts.scheme != "sqlite":
        raise ConfigError(f"{without_credentials(url)!r} names no backend that exists; use {_FORMS}")
    if parts.fragment:
        raise ConfigError(
            f"{without_credentials(url)!r} is followed by a fragment, which no backend has; write a # in a name as %23"
        )
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or not path or path.endswith("/") or "\0" in path or path == ":memory:":
        raise ConfigError(f"{without_credentials(url)!r} names no file; use {_FORMS}")
    return Sqlite(Path(path), _synchronous(parts))


def _read_redis(url: str, parts: SplitResult) -> Redis:
    from noria.backends.redis.address import DEFAULT_NAMESPACE, DEFAULT_PORT, Address

    options = _options(parts, *_REDIS_OPTIONS[parts.scheme])
    try:
        host, port = parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        host, port = None, 0
    database = parts.path.strip("/") or "0"
    if not host or parts.fragment or not (database.isascii() and database.isdecimal() and len(database) < 6):
        raise ConfigError(
            f"{without_credentials(url)!r} names no server; use redis://:PASSWORD@HOST:PORT/DATABASE, and write "
            "what is special in a password with percent signs"
        )
    persistence = options.get("persistence", "asked")
    if persistence not in ("asked", "none"):
        raise ConfigError(f"persistence can only be none, not {persistence!r:.40}")
    if options.get("verify", "none") != "none":
        raise ConfigError(f"verify can only be none, not {options['verify']!r:.40}: leave it out to verify")
    address = Address(
        host=host,
        port=port,
        database=int(database),
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls=parts.scheme == "rediss",
        ca=options.get("ca", ""),
        verify="verify" not in options,
        namespace=_namespace(options.get("namespace", DEFAULT_NAMESPACE)),
    )
    return Redis(address, cast(Literal["asked", "none"], persistence))


def _namespace(name: str) -> str:
    try:
        return check_name("namespace", name)
    except InvalidInput as error:
        raise ConfigError(str(error)) from error


def _options(parts: SplitResult, *known: str) -> dict[str, str]:
    """The options behind the question mark, of which all must be known."""
    options: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in known:
            raise ConfigError(f"{parts.scheme}:// has no option {name!r:.40}; {nearest(name, list(known))}")
        if name in options:
            raise ConfigError(f"the URL says {name}= twice; say it once")
        options[name] = value
    return options


def _read_postgres(url: str, parts: SplitResult) -> Postgres:
    """What is ours in the URL; the rest is libpq's."""
    backend, address = _postgres().backend, _postgres().address
    address.check(url)
    said = parts.query.split("&") if parts.query else []
    ours = [each for each in said if each.startswith("namespace=")]
    if len(ours) > 1:
        raise ConfigError("the URL says namespace= twice; say it once")
    namespace = backend.checked(unquote(ours[0].partition("=")[2]) if ours else "noria")
    # The rest as it came: to libpq a + is a +, and no space.
    rest = "&".join(each for each in said if each and each not in ours)
    # Put together by hand: without a host the two slashes would be lost, and libpq wants them.
    conninfo = f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
    address.complete(conninfo)
    return Postgres(conninfo, namespace, Path("/postgresql", address.shown(conninfo), namespace))


def _postgres() -> Any:
    """The backend, which needs a driver that not everyone has."""
    try:
        from noria.backends import postgres
    except ImportError as error:
        raise ConfigError(
            f"postgresql:// needs its driver ({error}): pip install 'noria[postgres]'"
        ) from None
    return postgres


def without_credentials(url: str) -> str:
    """The URL as it may be shown: without user, password and options.

    Cut by hand: a parser ends the host at the first "/", "?" or "#", which people write into passwords.
    """
    scheme, found, rest = url.partition("://") if isinstance(url, str) else ("", "", "")
    if not found or not scheme.isascii() or not scheme.replace("+", "").isalnum():
        return "(a malformed URL)"
    if not rest.startswith("/"):
        rest = rest.rpartition("@")[2]
    return f"{scheme}://{re.split('[?#]', rest)[0]}"[:200]


def _split(url: object) -> SplitResult:
    if not isinstance(url, str) or "://" not in url:
        raise ConfigError(f"a backend is named by a URL: {_FORMS}")
    try:
        return urlsplit(url)
    except ValueError:
        raise ConfigError(f"the backend's URL is malformed; use {_FORMS}") from None


def _synchronous(parts: SplitResult) -> Literal["full", "normal"]:
    options = _options(parts, "synchronous")
    value = options.get("synchronous", "full").lower()
    if value not in _SYNCHRONOUS:
        raise ConfigError(f"synchronous must be one of {', '.join(_SYNCHRONOUS)}, not {value!r:.40}")
    return cast(Literal["full", "normal"], value)
