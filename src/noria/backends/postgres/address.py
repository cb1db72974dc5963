"""What names a server and database: a URL or a list of keywords, checked before libpq acts on it.

libpq and other readers of URLs do not agree on where a host begins if a password holds a character that it should not.
Then a piece of the password would be taken for a host, a port or a database, and messages name those. So a URL
that could be read in two ways is refused here.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from noria.errors import ConfigError

_ALIVE: Final = {
    "application_name": "noria",
    "client_encoding": "UTF8",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "12000",
}
"""What libpq is told unless the URL says otherwise: a server that has vanished is noticed within 15 seconds."""

_HOST: Final = r"(?: \[[0-9A-Za-z:.%]*\] | [^@:,/?\#\[\]]* ) (?: :[0-9]* )?"
_URL: Final = re.compile(
    rf"""
    [a-z]+ ://
    (?P<who> [^@/?\#\[\]]* @ )?                 # user and password
    {_HOST} (?: , {_HOST} )*
    (?: / [^@/?\#]* )?                          # database
    (?: \? (?P<options> (?: [a-z_]+ = [^&\#]* (?: & | \Z ) )* ) )?
    """,
    re.VERBOSE,
)

_NUMBERS: Final = (
    "port", "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
    "tcp_user_timeout",
)  # fmt: skip


def check(url: str) -> None:
    """See that a URL can be read in one way only.

    Raises:
        ConfigError: it can be read in several, or in none. The message holds nothing of it.
    """
    found = _URL.fullmatch(url)
    if found is None or ("@" in (found["options"] or "") and not found["who"]):
        raise ConfigError(
            "the URL of PostgreSQL is malformed: use postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE, "
            "and write what is special in a name or password with percent signs: "
            "%23 for #, %2F for /, %3A for :, %3F for ?, %40 for @"
        )


def complete(conninfo: str) -> str:
    """What libpq is told, with what we add to it.

    Raises:
        ConfigError: it cannot be read, or in more than one way. The message holds nothing of a password.
    """
    return make_conninfo("", **{**_ALIVE, **_parts(conninfo)})


def shown(conninfo: str) -> str:
    """The server and database of a connection, without user and password."""
    try:
        parts = _parts(conninfo)
    except ConfigError:
        return "(a malformed URL)"
    host = parts.get("host") or parts.get("hostaddr") or "on this machine"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{host}{port}/{parts.get('dbname') or parts.get('user') or ''}"


def _parts(conninfo: str) -> dict[str, str]:
    if "://" in conninfo.partition("=")[0]:
        check(conninfo)
        _check_options(conninfo)
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items() if value is not None}
    except psycopg.Error:
        # What libpq says may quote the password.
        raise ConfigError(
            "the URL of PostgreSQL is malformed: postgresql://USER@HOST:PORT/DATABASE"
        ) from None
    for name in _NUMBERS:
        if not re.fullmatch(r"-?[0-9]*(,[0-9]*)*", parts.get(name, "")):
            raise ConfigError(f"{name} must be a whole number in the URL of PostgreSQL")
    return parts


def _check_options(url: str) -> None:
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()} | {"ssl"}
    for name in re.findall(r"[?&]([a-z_]+)=", url.partition("@")[2] or url):
        if name not in known:
            raise ConfigError(
                f"{_scheme(url)}:// has no option {name!r:.40}: it takes namespace= and those of libpq"
            )


def _scheme(url: str) -> str:
    return url.partition("://")[0]
