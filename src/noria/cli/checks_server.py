"""What `noria doctor` asks of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from noria.app.connect import Postgres
from noria.cli.checks_both import check_clock, check_latency
from noria.cli.escape import cut, one_line
from noria.cli.finding import Finding, failed, note, ok, warning
from noria.cli.quantities import count, duration
from noria.clock import SystemClock
from noria.errors import BackendError, ConfigError

if TYPE_CHECKING:
    from noria.backends.postgres.database import Look

_LONG: Final = 60.0
"""Seconds after which an open transaction keeps rows that nobody needs from being removed."""
_NEARLY: Final = 80
_FULL: Final = 95
"""Percent of the connections from which on they become few, and none is left for new processes."""


def check_durability(found: Look) -> Iterator[Finding]:
    """What survives a crash of the server."""
    off = [name for name in ("fsync", "full_page_writes") if not getattr(found, name)]
    for name in off:
        fix = f"set {name} = on in postgresql.conf, and reload it"
        yield failed("durability", f"{name} is off: a crash of its machine can damage the database", fix)
    if found.synchronous_commit == "off":
        fix = "set synchronous_commit = on in postgresql.conf, or for this user (ALTER ROLE NAME SET ...)"
        yield warning("durability", "synchronous_commit is off: a crash forgets the last changes", fix)
    elif not off:
        yield ok("durability", f"fsync on, synchronous_commit {found.synchronous_commit}")


def check_vacuum(found: Look) -> Finding:
    """Whether removed rows make room, and plans fit the tables."""
    if not found.autovacuum:
        fix = "set autovacuum = on and track_counts = on in postgresql.conf, and reload it"
        return warning("autovacuum", "off: tables grow without end, and plans do not fit them", fix)
    if found.unvacuumed:
        tables = ", ".join(map(one_line, found.unvacuumed))
        fix = "turn it on again for them, by their storage parameter autovacuum_enabled"
        return warning("autovacuum", f"turned off for {tables}", fix)
    return ok("autovacuum", "on")


def check_connections(found: Look) -> Finding:
    """Whether more processes would find a connection."""
    text = f"{count(found.connections, 'connection')} of {found.most}"
    fix = "raise max_connections, run fewer processes, or put a pooler in between"
    if found.connections * 100 >= found.most * _FULL:
        return failed("connections", text, fix)
    if found.connections * 100 >= found.most * _NEARLY:
        return warning("connections", text, fix)
    return ok("connections", text)


def check_transactions(found: Look) -> Finding:
    """Whether somebody keeps a transaction open, so that rows which nobody needs stay."""
    oldest = found.oldest
    if oldest is None or oldest.seconds < _LONG:
        return ok("transactions", "none has been open for long")
    who = f"process {oldest.pid} ({one_line(cut(oldest.program, 40)) or 'no name'}, {oldest.state})"
    fix = f"see what it does, and end it: SELECT pg_terminate_backend({oldest.pid})"
    text = f"{who} has one open for {duration(oldest.seconds)}: tables grow meanwhile"
    return warning("transactions", text, fix)


def judge(found: Look) -> Iterator[Finding]:
    """All findings about what was seen."""
    yield from check_durability(found)
    yield check_vacuum(found)
    yield check_connections(found)
    yield check_transactions(found)
    yield check_clock(found.ahead)
    yield check_latency(found.latency)


def check_server(store: Postgres, seconds: float) -> Iterator[Finding]:
    """Whether it can be used, and how our schema in it stands; nothing is changed."""
    from noria.backends.postgres.backend import settings_of
    from noria.backends.postgres.database import look, standing

    settings, clock = settings_of(store.conninfo, store.namespace, timeout=seconds), SystemClock()
    try:
        found, seen = standing(settings, clock), look(settings, clock)
    except (BackendError, ConfigError) as error:
        yield failed("server", str(error), "mend what it says, or name another server by --url or NORIA_URL")
        return
    yield ok("server", found.details["server"])
    if "pooler" in found.details:
        fix = "name the server itself in NORIA_URL, or let the pooler give whole sessions (pool_mode=session)"
        yield warning("pooler", found.details["pooler"], fix)
    if found.version > found.newest:
        text = f"{store.namespace}, version {found.version}, newer than this program, which may run on it"
        yield ok("schema", text)
    elif found.current:
        yield ok("schema", f"{store.namespace}, version {found.version}")
    elif not found.version:
        yield note("schema", f"{store.namespace} is not there yet; a worker or `noria enqueue` makes it")
    else:
        yield warning(
            "schema", f"{store.namespace} has version {found.version} of {found.newest}", "noria db migrate"
        )
    yield from judge(seen)
