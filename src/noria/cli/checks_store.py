"""What `noria doctor` asks of an SQLite store: its settings, its log, and whether it is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw

from noria.cli.escape import cut
from noria.cli.finding import Finding, failed, ok, warning
from noria.cli.quantities import size

_MIB: Final = 1024 * 1024
_LONG_LOG: Final = 256 * _MIB
_STEPS: Final = 100_000
"""Steps of SQLite's machine between two signs of progress."""


def check_journal(mode: str) -> Finding:
    """How the store writes."""
    if mode == "wal":
        return ok("journal mode", "wal")
    return failed(
        "journal mode", f"{mode}, and not wal", "open it with `noria worker` or `noria up`, which set it"
    )


def check_synchronous(setting: str) -> Finding:
    """What survives a power cut."""
    if setting == "full":
        return ok("synchronous", "full: each enqueue survives a power cut")
    text = f"{setting}: the last enqueues before a power cut may be lost"
    return warning("synchronous", text, "leave ?synchronous= out of the URL, unless you chose this")


def check_log(bytes: int) -> Finding:
    """How long the write-ahead log has become."""
    if bytes <= _LONG_LOG:
        return ok("write-ahead log", size(bytes))
    fix = (
        "look for a process that keeps a transaction open, or is stopped; noria queues list names the workers"
    )
    return warning("write-ahead log", f"{size(bytes)}: a reader keeps it from being written back", fix)


def check_whole(answers: list[str]) -> Finding:
    """What SQLite's own check said."""
    if answers == ["ok"]:
        return ok("integrity", "the file is whole")
    shown = "; ".join(cut(line, 80) for line in answers[:3])
    return failed(
        "integrity", f"the file is damaged: {shown}", "stop the workers, and restore it from a backup"
    )


def check_store(
    file: Path, synchronous: str, *, whole: bool, tick: Callable[[int], None]
) -> Iterator[Finding]:
    """Everything about a store; nothing is changed in it.

    Args:
        whole: read all of it, to see whether it is damaged.
        tick: called now and then, while that takes long.
    """
    log = file.with_name(file.name + "-wal")
    try:
        connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        yield failed("store", f"{file} cannot be opened: {error}", "see its permissions")
        return
    try:
        yield check_journal(str(connection.pragma("journal_mode")))
        yield check_synchronous(synchronous)
        yield check_log(log.stat().st_size if log.exists() else 0)
        if whole:

            def alive() -> bool:
                tick(1)
                return False  # True would interrupt the check

            connection.set_progress_handler(alive, _STEPS)
            yield check_whole(_texts(connection.pragma("quick_check")))
    except apsw.Error as error:
        yield failed(
            "store", f"{file} cannot be read: {error}", "restore it from a backup, or name another file"
        )
    finally:
        connection.close()


def _texts(answer: Any) -> list[str]:
    """The rows of a pragma: one value, or tuples of one value."""
    if isinstance(answer, str):
        return [answer]
    return [str(row[0] if isinstance(row, tuple) else row) for row in answer or ()]
