"""Opening a connection: what we ask of a server, and what is set for each connection."""

from __future__ import annotations

from typing import Final

from noria.backends.postgres.settings import Settings
from noria.backends.postgres.statements import statement
from noria.backends.postgres.wire import Wire
from noria.clock import Clock
from noria.errors import ConfigError

OLDEST_SERVER: Final = 130_000
"""The oldest version of PostgreSQL that is still maintained when this was written, as it numbers itself."""

SHARE: Final = 0.8
"""The share of the time for which a caller waits, after which a connection gives up: so the caller hears why."""

IDLE_IN_TRANSACTION: Final = 5.0
"""Seconds after which the server undoes a transaction whose process has stopped in the middle of it: others wait."""


def open_wire(settings: Settings, clock: Clock) -> Wire:
    """A connection with all that we ask of one.

    Raises:
        ConfigError: the server cannot be used as it is.
        Broken, Refused: it cannot be reached, or refuses us.
    """
    seconds = settings.timeout * SHARE
    wire = Wire(settings.conninfo, clock, seconds)
    try:
        (look,) = wire.script(statement("look_around", settings.namespace).decode())
        version, encoding, readonly, process = (look.get_value(0, place) or b"" for place in range(4))
        check_server(settings, int(version), encoding.decode(), readonly == b"t")
        # A pooler in between tells us the number of a process that is not the one that serves us.
        wire.prepares = int(process) == wire.pg.backend_pid
        if wire.prepares:
            wire.script(statement("prepare_session", settings.namespace).decode() + _limits(seconds))
    except BaseException:
        wire.close()
        raise
    return wire


def pooled(wire: Wire) -> bool:
    """Whether a pooler stands in between, which may give every transaction to another process of the server.

    Then nothing is kept on the connection: no settings, no prepared statements, no LISTEN.
    """
    return not wire.prepares


def check_server(settings: Settings, version: int, encoding: str, readonly: bool) -> None:
    """Refuse a server that cannot be used: `ConfigError`, with the remedy."""
    if version < OLDEST_SERVER:
        raise ConfigError(
            f"{settings.store}: the server is PostgreSQL {version // 10_000}, and {OLDEST_SERVER // 10_000} is the "
            "oldest that Noria works with: upgrade it, or name another server in NORIA_URL"
        )
    if encoding != "UTF8":
        raise ConfigError(
            f"{settings.store}: the database has the encoding {encoding}, and not every text fits into that: "
            "create one with UTF8 (createdb --encoding=UTF8 --template=template0 NAME), and name it in NORIA_URL"
        )
    if readonly:
        raise ConfigError(
            f"{settings.store}: the server is read-only, as a standby is: name the primary in NORIA_URL, "
            "for example with ?target_session_attrs=read-write and all hosts"
        )


def _limits(seconds: float) -> str:
    millis = max(1, round(seconds * 1000))
    idle = round(IDLE_IN_TRANSACTION * 1000)
    settings = {
        "statement_timeout": millis,
        "lock_timeout": max(1, millis // 2),
        "idle_in_transaction_session_timeout": idle,
    }
    return "".join(f"; set {name} = {value}" for name, value in settings.items())
