"""The schema and its versions: a file is created, brought up to date, or refused with clear words."""

from __future__ import annotations

from typing import Final

import apsw

from noria.backends.sqlite.faults import not_ours
from noria.backends.sqlite.statements import migrations, statement, without_comments
from noria.errors import ConfigError

APPLICATION_ID: Final = 0x4E4F5249
"""Marks a file as ours: "NORI"."""


def check(connection: apsw.Connection, path: str) -> None:
    """Refuse what is not ours or is newer than we are; change nothing.

    Raises:
        ConfigError: the file belongs to another program or to a newer Noria.
    """
    # One moment for both questions: another process may be making the file just now.
    connection.execute(statement("begin_read"))
    try:
        _check(connection, path)
    finally:
        connection.execute(statement("rollback"))


def _check(connection: apsw.Connection, path: str) -> None:
    mark = connection.pragma("application_id")
    if mark == APPLICATION_ID:
        _refuse_newer(connection, path)
    elif mark != 0 or connection.execute(statement("count_objects")).get:
        raise not_ours(path, "it is the SQLite database of another program")


def migrate(connection: apsw.Connection, path: str) -> None:
    """Bring the file to our version, in one step. If several processes try, all but the first find it done."""
    if connection.pragma("user_version") == max(migrations()):
        return
    connection.execute(statement("begin_write"))
    try:
        _check(connection, path)
        _climb(connection)
    except BaseException:
        connection.execute(statement("rollback"))
        raise
    connection.execute(statement("commit"))


def _climb(connection: apsw.Connection) -> None:
    at = connection.pragma("user_version")
    for version, script in sorted(migrations().items()):
        if version > at:
            connection.execute(without_comments(script))
            connection.pragma("user_version", version)
    connection.pragma("application_id", APPLICATION_ID)


def _refuse_newer(connection: apsw.Connection, path: str) -> None:
    version, newest = connection.pragma("user_version"), max(migrations())
    if version > newest:
        raise ConfigError(
            f"{path} has schema {version}, and this version of Noria knows up to {newest}: "
            "upgrade Noria here, or name another file"
        )
