"""The database itself, for whoever sets it up: how it stands, and how it is brought up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec import Struct

from noria.backends.postgres import schema
from noria.backends.postgres.connection import open_wire, pooled
from noria.backends.postgres.faults import Broken, Refused, lost, translate
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.statements import statement
from noria.backends.postgres.wire import Wire
from noria.backends.sql.standing import Standing
from noria.clock import Clock

_CALLS: Final = 9
"""Calls whose time is taken."""


class Transaction(Struct, frozen=True):
    """A transaction that somebody keeps open. `seconds`: for how long."""

    pid: int
    program: str
    state: str
    seconds: float


class Look(Struct, frozen=True, kw_only=True):
    """What a server tells of itself.

    Attributes:
        synchronous_commit, fsync, full_page_writes: its settings of these names.
        autovacuum: whether it vacuums and analyses by itself; unvacuumed: our tables for which that is turned off.
        connections, most: how many there are, and how many users without privileges may have.
        oldest: the longest open transaction of others in our database that we may see.
        time: its clock, seconds since the epoch.
        ahead: seconds by which that is ahead of ours; latency: seconds that a call takes, the median of a few.
    """

    synchronous_commit: str
    fsync: bool
    full_page_writes: bool
    autovacuum: bool
    unvacuumed: list[str]
    connections: int
    most: int
    oldest: Transaction | None
    time: float
    ahead: float = 0.0
    latency: float = 0.0


def look(settings: Settings, clock: Clock) -> Look:
    """Look at the server for faults; nothing is changed. Raises as `standing`."""
    with _wire(settings, clock) as wire:
        took = sorted(_timed(wire, settings, clock) for _ in range(_CALLS))
        before = clock.wall()
        (answer,) = wire.script(statement("server_look", settings.namespace).decode())
        ours = (before + clock.wall()) / 2
        found = msgspec.json.decode(answer.get_value(0, 0) or b"", type=Look)
        return msgspec.structs.replace(found, ahead=found.time - ours, latency=took[_CALLS // 2])


def _timed(wire: Wire, settings: Settings, clock: Clock) -> float:
    began = clock.monotonic()
    wire.script(statement("server_time", settings.namespace).decode())
    return clock.monotonic() - began


def standing(settings: Settings, clock: Clock) -> Standing:
    """How it stands; nothing is changed.

    Raises:
        ConfigError: it cannot be used as configured.
        Unavailable: it cannot be reached.
    """
    with _wire(settings, clock) as wire:
        number = wire.pg.server_version
        details = {
            "server": f"PostgreSQL {number // 10_000}.{number % 10_000}",
            "namespace": settings.namespace,
        }
        if pooled(wire):
            details["pooler"] = "one stands in between: hints do not pass it, and whoever waits polls"
        return Standing(schema.version(wire, settings), schema.NEWEST, details)


def migrate(settings: Settings, clock: Clock) -> Standing:
    """Bring it up to date, and say how it stands then. Raises as `standing`."""
    with _wire(settings, clock) as wire:
        schema.migrate(wire, settings)
    return standing(settings, clock)


def drop(settings: Settings, clock: Clock) -> None:
    """Drop the namespace with all that it holds. Raises as `standing`."""
    with _wire(settings, clock) as wire:
        text = statement("schema_drop", settings.namespace).decode()
        wire.script(text.replace('"noria"', f'"{settings.namespace}"'))


def script(settings: Settings, clock: Clock) -> str:
    """The SQL that would bring it up to date, for somebody who may do more than we. Raises as `standing`."""
    with _wire(settings, clock) as wire:
        steps = schema.steps(wire, settings)
    if not steps:
        return ""
    begin, commit = (statement(name, settings.namespace).decode() for name in ("begin_write", "commit"))
    return "".join(f"{step.rstrip().rstrip(';')};\n" for step in [begin, *steps, commit])


@contextmanager
def _wire(settings: Settings, clock: Clock) -> Iterator[Wire]:
    wire = None
    try:
        wire = open_wire(settings, clock)
        yield wire
    except Broken as error:
        raise lost(error, settings.store) from error
    except Refused as error:
        raise translate(error, settings.store) from error
    finally:
        if wire is not None:
            wire.close()
