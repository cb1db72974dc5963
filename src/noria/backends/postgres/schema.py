"""The schema and its versions: a namespace is made, brought up to date, or refused with clear words.

A schema may be newer than the program that uses it, while one program after the other is brought up to date. Each
step says in its head, as `Runs from`, which version a program must know at least to use the schema after it. A step
that only adds says 1; one that takes away, or changes what is there, says its own number. The highest one counts.
"""

from __future__ import annotations

import re
from typing import Any, Final

from noria.backends.postgres.faults import Refused
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.statements import in_namespace, migrations, statement
from noria.backends.postgres.wire import Wire
from noria.backends.sql.files import without_comments
from noria.errors import ConfigError

NEWEST = max(migrations())
"""The version that this program knows."""

_MARK: Final = re.compile(r"^-- Runs from: (\d+)$", re.MULTILINE)


_FORBIDDEN = (
    "this user may not make or change the schema: let somebody who may run `noria db migrate`, "
    "or own it (CREATE SCHEMA NAME AUTHORIZATION USER)"
)


def version(wire: Wire, settings: Settings) -> int:
    """The version of a namespace; 0 if it is not made yet. It may be newer than ours.

    Raises:
        ConfigError: the schema belongs to something else, or to a newer Noria that has changed what we would use.
    """
    _, ours, others = _row(wire, settings, "schema_look")
    if ours == "f" and others != "0":
        raise ConfigError(
            f"{settings.store}: the schema {settings.namespace} holds tables of something else: "
            "name another one, with ?namespace=NAME in NORIA_URL"
        )
    if ours == "f":
        return 0
    found, runs_from = map(int, _row(wire, settings, "schema_version"))
    if runs_from > NEWEST:
        raise ConfigError(
            f"{settings.store} has schema {found}, which programs can use that know {runs_from} or newer, and this "
            f"version of Noria knows up to {NEWEST}: upgrade Noria here, or name another namespace"
        )
    return found


def migrate(wire: Wire, settings: Settings) -> None:
    """Bring the namespace to our version, in one step. If several processes try, all but the first find it done.

    Raises:
        ConfigError: as `version`; or this user may not.
        Refused: the server does not do it.
    """
    if version(wire, settings) >= NEWEST:
        return
    _run(wire, settings, "begin_write")
    try:
        _row(wire, settings, "schema_lock")
        for text in steps(wire, settings):
            wire.script(text)
        _run(wire, settings, "commit")
    except BaseException as error:
        _run(wire, settings, "rollback")
        if isinstance(error, Refused) and error.code == "42501":
            raise ConfigError(f"{settings.store}: {_FORBIDDEN} ({error.code}: {error.message})") from error
        raise


def steps(wire: Wire, settings: Settings) -> list[str]:
    """The SQL that leads from how a namespace stands to ours, for us or for whoever may make schemas here.

    Raises:
        ConfigError: as `version`.
    """
    at, namespace = version(wire, settings), settings.namespace
    if at >= NEWEST:
        return []
    ahead = [text for number, text in sorted(migrations().items()) if number > at]
    climbed = [without_comments(in_namespace(text, namespace)).strip() for text in ahead]
    note = statement("schema_step", namespace).decode().replace("= 0", f"= {NEWEST}")
    note = note.replace("(runs_from, 0)", f"(runs_from, {max(map(runs_from, ahead))})")
    return [*_made(wire, settings), *climbed, note]


def _made(wire: Wire, settings: Settings) -> list[str]:
    """The SQL that makes the schema, unless it is there: IF NOT EXISTS asks for the right to make one even then."""
    there, _, _ = _row(wire, settings, "schema_look")
    make = statement("schema_make", settings.namespace).decode()
    return [] if there == "t" else [make.replace('"noria"', f'"{settings.namespace}"')]


def runs_from(step: str) -> int:
    """Which version a program must know at least to use the schema after a step."""
    found = _MARK.search(step)
    assert found is not None, "each step says which programs it still lets run"
    return int(found[1])


def _row(wire: Wire, settings: Settings, name: str) -> list[str]:
    (found,) = wire.script(statement(name, settings.namespace).decode())
    return [(found.get_value(0, place) or b"").decode() for place in range(found.nfields)]


def _run(wire: Wire, settings: Settings, name: str) -> Any:
    return wire.script(statement(name, settings.namespace).decode())
