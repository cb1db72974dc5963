"""What SQLite's errors mean to a caller: each becomes one of Noria's, with the file's name and the remedy."""

from __future__ import annotations

import apsw

from noria.errors import ConfigError, NoriaError, Unavailable, Unknown

_WRITABLE = "give this user the right to write the file and its directory, or name a file elsewhere: NORIA_URL=sqlite:////PATH"

_REMEDIES: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "the disk is full: free some space; nothing is lost, and calls succeed again at once"),
    (apsw.ReadOnlyError, f"it is read-only: {_WRITABLE}"),
    (apsw.PermissionsError, f"this user may not use it: {_WRITABLE}"),
    (apsw.CantOpenError, f"it cannot be opened: check that it is there; {_WRITABLE}"),
    (
        apsw.CorruptError,
        "it is damaged: stop all processes, run `noria doctor`, and restore a backup if it says so",
    ),
    (apsw.NotADBError, "it is not a SQLite database any more: stop all processes and restore a backup"),
    (
        apsw.BusyError,
        "another program has locked it for too long: look for one that keeps a transaction open",
    ),
    (
        apsw.LockedError,
        "another program has locked it for too long: look for one that keeps a transaction open",
    ),
    (apsw.IOError, "the disk cannot be read or written: look into the system's log"),
    (apsw.TooBigError, "one call carries more than a statement can take: pass fewer or smaller jobs at once"),
    (apsw.NoMemError, "the process is out of memory"),
)

_BREAKS_CONNECTION = (
    apsw.IOError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.ReadOnlyError,
    apsw.PermissionsError,
    apsw.MisuseError,
    apsw.NoMemError,
)


def translate(error: apsw.Error, path: str, *, committing: bool = False) -> NoriaError:
    """The error that a caller of the backend sees.

    Args:
        committing: it came from the commit itself. If the log could not be synced then, the commit may still
            be found in it later, so that nobody knows.
    """
    what = f"SQLite database {path}: {_remedy(error)} ({type(error).__name__}: {error})"
    if committing and isinstance(error, apsw.IOError):
        return Unknown(what)
    return Unavailable(what)


def not_ours(path: str, why: str) -> ConfigError:
    """The file exists and is something else."""
    return ConfigError(f"{path} is not a Noria database: {why}; name another file, or move this one away")


def not_made(path: str, error: OSError) -> Unavailable:
    """There is no file, and none can be made."""
    return Unavailable(f"SQLite database {path} cannot be made ({error.strerror}): {_WRITABLE}")


def lock_unusable(path: str, error: OSError) -> Unavailable:
    """The file by which writers take turns cannot be opened or locked."""
    return Unavailable(
        f"SQLite database {path}: the lock file beside it cannot be used ({error}): {_WRITABLE}"
    )


def not_synced(path: str, error: OSError) -> Unknown:
    """A commit was written, and the disk did not confirm it."""
    return Unknown(
        f"SQLite database {path}: the disk cannot be written: look into the system's log ({error})"
    )


def breaks_connection(error: BaseException) -> bool:
    """Whether the connection should be closed and opened anew, so that a mended store is used again."""
    return isinstance(error, _BREAKS_CONNECTION)


def concerns_store(error: BaseException) -> bool:
    """Whether every other call would have met this error too, so that trying each alone is of no use."""
    return isinstance(error, (*_BREAKS_CONNECTION, apsw.FullError, apsw.BusyError, apsw.LockedError))


def _remedy(error: apsw.Error) -> str:
    return next((text for kind, text in _REMEDIES if isinstance(error, kind)), "a statement failed")
