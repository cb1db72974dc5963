"""From a URL to a backend: the only place that knows which backends there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from noria.app.config import runtime_folder
from noria.app.options import nearest
from noria.backends.contract import Backend
from noria.clock import Clock
from noria.errors import ConfigError
from noria.ids import IdSource

_LATER: Final = ("redis", "rediss", "postgresql", "postgres", "amqp", "amqps")
_FORMS: Final = "sqlite:///relative.db or sqlite:////absolute.db"
_SYNCHRONOUS: Final = ("full", "normal")


class Sqlite(NamedTuple):
    """Where an SQLite store is, and how it is opened."""

    path: Path
    synchronous: Literal["full", "normal"]


def connect(url: str, clock: Clock, ids: IdSource) -> Backend:
    """Make the backend that a URL names; it is not opened yet.

    Raises:
        ConfigError: the URL is malformed, or names a backend or option that does not exist. The message never
            holds a password.
    """
    # Imported here, so that `import noria` costs nothing that only an open backend needs.
    from noria.backends.sqlite import SqliteBackend

    store = read_url(url)
    runtime = runtime_folder(store.path)
    return SqliteBackend(store.path, runtime=runtime, clock=clock, ids=ids, synchronous=store.synchronous)


def read_url(url: str) -> Sqlite:
    """What a URL says, checked.

    Args:
        url: `sqlite:///relative.db` or `sqlite:////absolute.db`, with `?synchronous=full` (the default: each
            enqueue survives a power cut) or `?synchronous=normal` (it survives the death of every process).

    Raises:
        ConfigError: as `connect`.
    """
    parts = _split(url)
    if parts.scheme in _LATER:
        raise ConfigError(f"{parts.scheme}:// is not in this version; use {_FORMS}")
    if parts.scheme != "sqlite":
        raise ConfigError(f"{without_credentials(url)!r} names no backend that exists; use {_FORMS}")
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or parts.fragment or not path or path.endswith("/") or "\0" in path or path == ":memory:":
        raise ConfigError(f"{without_credentials(url)!r} names no file; use {_FORMS}")
    return Sqlite(Path(path), _synchronous(parts))


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
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name != "synchronous":
            raise ConfigError(f"sqlite:// has no option {name!r:.40}; {nearest(name, ['synchronous'])}")
    value = options.get("synchronous", "full").lower()
    if value not in _SYNCHRONOUS:
        raise ConfigError(f"synchronous must be one of {', '.join(_SYNCHRONOUS)}, not {value!r:.40}")
    return cast(Literal["full", "normal"], value)
