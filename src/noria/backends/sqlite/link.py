"""One connection to the file: its life, its transactions, and what its faults mean.

A connection that may be broken is given up at once and opened anew by the next call, so that a store which was mended
is used again without a restart. It is never opened on another file than the first time: what would be written there,
nobody else could see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import apsw

from noria.backends.bus import Note
from noria.backends.sql import transaction
from noria.backends.sql.outlines import notes_of
from noria.backends.sqlite.connection import Identity, check_identity, gate_of, identity, open_connection
from noria.backends.sqlite.faults import (
    breaks_connection,
    concerns_store,
    lock_unusable,
    not_synced,
    translate,
)
from noria.backends.sqlite.log import Log
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.statements import statement
from noria.backends.sqlite.transaction import Transaction
from noria.backends.units import millis
from noria.clock import Clock

T = TypeVar("T")

IDENTITY_EVERY: Final = 1.0
"""Seconds after which the file is looked at again, whether it is still the one that we opened."""


class Link:
    """A connection, opened when it is needed. One thread at a time.

    Args:
        readonly: refuse to write, and let `open` make nothing.
    """

    def __init__(self, settings: Settings, clock: Clock, *, readonly: bool = False) -> None:
        self.settings = settings
        self.clock = clock
        self.identity: Identity | None = None
        self._readonly = readonly
        self._gate = gate_of(settings)
        self._log = Log(settings.path)
        self._connection: apsw.Connection | None = None
        self._looked = float("-inf")
        self._syncs = True

    # ---- life

    def open(self) -> None:
        """Create the file if need be, and bring its schema up to date. Repeating it does nothing.

        Raises:
            ConfigError: it cannot be used as configured.
            Unavailable: it cannot be reached.
        """
        if self._connection is not None:
            return
        self._connection = self._connect(create=not self._readonly)
        self.identity = self.identity or identity(self.settings.path)

    def close(self) -> None:
        """Close the connection. Repeating it does nothing."""
        self._drop()
        self._gate.close()
        self.identity = None

    def check(self) -> None:
        """See that there is a connection, and from time to time that its file is still in its place.

        Raises:
            ConfigError, Unavailable: as `open`.
        """
        now = self.clock.monotonic()
        if not self.settings.in_memory and not now < self._looked + IDENTITY_EVERY:
            check_identity(self.settings.path, self.identity)
            self._looked = now
        self._connected()

    # ---- transactions

    def write(
        self, run: Callable[[transaction.Transaction], T], *, sync: bool = True
    ) -> tuple[T, list[Note]]:
        """Run something in a write transaction; returns its reply, and the hints that its commit has to send.

        Args:
            sync: its commit waits for the disk, if the settings say so for any.
        """
        self._have_commits_sync(sync)
        with self._gate:
            self._execute("begin_write")
            try:
                work = self.transaction()
                reply = run(work)
                work.write_counts()
            except BaseException:
                self._undo()
                raise
            self._commit()
        return reply, notes_of(work)

    def land(self) -> None:
        """Wait until the disk has all that was committed without waiting.

        Raises:
            Unknown: nobody knows whether it has.
        """
        try:
            self._log.sync()
        except OSError as error:
            self._drop()
            raise not_synced(self.settings.path, error) from error

    def read(self, run: Callable[[transaction.Transaction], T]) -> T:
        """Run something that sees one moment of the store."""
        self._execute("begin_read")
        try:
            return run(self.transaction())
        finally:
            self._undo()

    def look(self, run: Callable[[transaction.Transaction], T]) -> T:
        """Run something of which each statement may see its own moment."""
        return run(self.transaction())

    def transaction(self) -> Transaction:
        """The statements of the connection; outside of `read` and `write`, each sees its own moment."""
        return Transaction(self._connected(), self.settings, self.now())

    def now(self) -> int:
        """The time, as rows hold it."""
        return millis(self.clock.wall())

    def _have_commits_sync(self, sync: bool) -> None:
        if self.settings.synchronous == "full" and sync != self._syncs:
            self._connected().pragma("synchronous", "full" if sync else "normal")
            self._syncs = sync

    def _commit(self) -> None:
        try:
            self._execute("commit")
        except apsw.Error as error:
            self._undo()
            raise self.meaning(error, committing=True) from error

    def _undo(self) -> None:
        """End a transaction without a trace, if need be by closing the connection."""
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return
        try:
            self._execute("rollback")
        except apsw.Error:
            self._drop()

    def _execute(self, name: str) -> None:
        self._connected().execute(statement(name))

    # ---- faults

    def meaning(self, error: Exception, *, committing: bool = False) -> Exception:
        """What a fault is to a caller."""
        self._looked = float("-inf")
        if breaks_connection(error):
            self._drop()
        if isinstance(error, apsw.Error):
            return translate(error, self.settings.path, committing=committing)
        if isinstance(error, OSError):
            return lock_unusable(self.settings.path, error)
        return error

    def concerns_store(self, error: Exception) -> bool:
        """Whether every other call would have met this error too."""
        return concerns_store(error)

    def _connected(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._connect(create=False)
        return self._connection

    def _connect(self, *, create: bool) -> apsw.Connection:
        self._syncs = True
        return open_connection(self.settings, self._gate, create=create, readonly=self._readonly)

    def _drop(self) -> None:
        self._log.close()
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None
