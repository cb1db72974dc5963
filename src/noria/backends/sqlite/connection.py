"""Opening the database file: the library's version, the pragmas, and whether it is still the same file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import apsw

from noria.backends.sqlite import schema
from noria.backends.sqlite.faults import lock_unusable, not_made, not_ours, translate
from noria.backends.sqlite.gate import Gate
from noria.backends.sqlite.settings import Settings
from noria.errors import ConfigError, Unavailable

OLDEST_SQLITE: Final = (3, 51, 3)
BUSY_SHARE: Final = 0.8
CACHE_KIB: Final = 16_384
CHECKPOINT_PAGES: Final = 1_000
LOG_KEEP: Final = 64 * 1024 * 1024
"""Bytes to which the write-ahead log is cut back after a long read had let it grow."""

Identity = tuple[int, int]


def check_library(version: str) -> None:
    """Refuse a SQLite that can damage a log which several connections write (fixed in 3.51.3).

    Raises:
        ConfigError: the library is older.
    """
    if tuple(int(part) for part in version.split(".")[:3]) < OLDEST_SQLITE:
        raise ConfigError(
            f"SQLite {version} can damage databases that several processes write: "
            "upgrade apsw to 3.51.3 or newer (pip install -U apsw)"
        )


def open_connection(
    settings: Settings, gate: Gate, *, create: bool, readonly: bool = False
) -> apsw.Connection:
    """Open the file with all that we ask of a connection.

    Args:
        create: whether a missing file may be made and an old one brought up to date; never once we have started.

    Raises:
        ConfigError: the file is no database of ours.
        Unavailable: it cannot be opened, or its directory is missing, and may come with a disk that is mounted later.
    """
    check_library(apsw.sqlite_lib_version())
    _check_directory(settings)
    try:
        if create and not settings.in_memory:
            _make(settings.path)
        connection = apsw.Connection(settings.path, flags=_flags(create=create, readonly=readonly))
        try:
            _prepare(connection, settings, None if readonly else gate, create=create)
        except BaseException:
            connection.close(True)
            raise
    except apsw.NotADBError as error:
        raise not_ours(settings.path, "it is not a SQLite database at all") from error
    except OSError as error:
        raise lock_unusable(settings.path, error) from error
    except apsw.Error as error:
        raise translate(error, settings.path) from error
    return connection


def _make(path: str) -> None:
    """Make a missing file for this user alone; SQLite gives its other files the same mode.

    Only a file that this call has made is closed here: closing one that is open elsewhere in this process would drop
    the locks on it (howtocorrupt.html, section 2.2).
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise not_made(path, error) from error


def _flags(*, create: bool, readonly: bool) -> int:
    if readonly:
        return int(apsw.SQLITE_OPEN_READONLY)
    return int(apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0))


def _check_directory(settings: Settings) -> None:
    folder = Path(settings.path).absolute().parent
    if not settings.in_memory and not folder.is_dir():
        raise Unavailable(
            f"{folder}, the directory of {settings.path}, does not exist: create it, or name a file elsewhere: NORIA_URL=sqlite:////PATH"
        )


def _prepare(connection: apsw.Connection, settings: Settings, gate: Gate | None, *, create: bool) -> None:
    # Less than the time that callers wait: so they hear that the file is locked, and not only of silence.
    connection.set_busy_timeout(round(settings.timeout * BUSY_SHARE * 1000))
    # Without this a statement with `LIMIT ?` is compiled anew at each run, for the sake of the number: 300 µs.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    # Before anything is written: another program's file must not even change its journal mode.
    schema.check(connection, settings.path)
    if gate is not None:
        # To turn a new file into one with a log takes a lock for which SQLite does not wait.
        with gate:
            connection.pragma("journal_mode", "wal")
            if create:
                schema.migrate(connection, settings.path)
    connection.pragma("synchronous", settings.synchronous)
    connection.pragma("cache_size", -CACHE_KIB)
    connection.pragma("temp_store", "memory")
    connection.pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
    connection.pragma("journal_size_limit", LOG_KEEP)


def identity(path: str) -> Identity | None:
    """Which file stands at a path; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_identity(path: str, opened: Identity | None) -> None:
    """Refuse to go on in a file that nobody else can see: what we wrote there would be lost.

    Raises:
        Unavailable: the file at the path is not the one that we opened.
    """
    found = identity(path)
    if found == opened:
        return
    what = "has vanished" if found is None else "was replaced by another file"
    raise Unavailable(
        f"SQLite database {path} {what} while it was in use: put it back, or restart all processes"
    )


def gate_of(settings: Settings) -> Gate:
    """The gate that all writers of this file share."""
    return Gate(None if settings.in_memory else settings.path)
