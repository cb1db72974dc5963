"""The write-ahead log as a file: waiting for the disk apart from a commit.

A commit at `synchronous=FULL` waits for the disk before anybody sees it, and before any other process may write. One
at NORMAL does not wait, and then its caller can do so here, while others work on. That is as lasting: the log is
all that a recovery reads of what was not yet copied into the database (sqlite.org/wal.html, section 4), and SQLite
itself still waits before it begins the log anew.
"""

from __future__ import annotations

import os
from typing import Final

APART: Final = hasattr(os, "fdatasync")
"""Whether this system can; elsewhere a commit waits itself."""


class Log:
    """The log of one database, open as long as a connection to it is, so that it is never another's."""

    def __init__(self, database: str) -> None:
        self._path = f"{database}-wal"
        self._file: int | None = None

    def sync(self) -> None:
        """Wait until the disk has all that was written.

        Raises:
            OSError: nobody knows whether it has.
        """
        if self._file is None:
            # To close it drops no lock of SQLite's: those are on the database and on the index of the log.
            self._file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        os.fdatasync(self._file)

    def close(self) -> None:
        """Close the file; `sync` opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
