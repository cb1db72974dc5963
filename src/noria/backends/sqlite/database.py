"""The database file itself, for whoever sets it up: how it stands, and how it is brought up to date."""

from __future__ import annotations

from pathlib import Path

import apsw

from noria.backends.sql.standing import Standing
from noria.backends.sqlite import schema
from noria.backends.sqlite.connection import gate_of, open_connection
from noria.backends.sqlite.faults import translate
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.statements import migrations, statement, without_comments


def standing(settings: Settings) -> Standing:
    """How it stands; nothing is changed, and no file is made.

    Raises:
        ConfigError: the file is none of ours.
        Unavailable: it cannot be read.
    """
    details = {"file": settings.path, "library": f"SQLite {apsw.sqlite_lib_version()}"}
    if not Path(settings.path).exists():
        return Standing(0, max(migrations()), details)
    try:
        connection = apsw.Connection(settings.path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            schema.check(connection, settings.path)
            return Standing(connection.pragma("user_version"), max(migrations()), details)
        finally:
            connection.close()
    except apsw.Error as error:
        raise translate(error, settings.path) from error


def migrate(settings: Settings) -> Standing:
    """Make it, or bring it up to date, and say how it stands then. Raises as `standing`."""
    gate = gate_of(settings)
    try:
        open_connection(settings, gate, create=True).close()
    finally:
        gate.close()
    return standing(settings)


def script(settings: Settings) -> str:
    """The SQL that would bring it up to date. Raises as `standing`."""
    at = standing(settings)
    if at.current:
        return ""
    steps = [without_comments(text) for number, text in sorted(migrations().items()) if number > at.version]
    marks = [
        statement("mark_version").replace("= 0", f"= {at.newest}"),
        statement("mark_ours").replace("= 0", f"= {schema.APPLICATION_ID}"),
    ]
    whole = [statement("begin_write"), *steps, *marks, statement("commit")]
    return "".join(f"{step.strip().rstrip(';')};\n" for step in whole)
