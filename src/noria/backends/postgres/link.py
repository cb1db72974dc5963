"""One connection to the server: its life, its transactions, and what its faults mean.

A connection that may be broken is given up at once and made anew by the next call, but after a failure not before a
pause that grows: while a server is away, callers hear of that at once, and it is not besieged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from noria.aio import Pauses
from noria.backends.bus import Note
from noria.backends.postgres import schema
from noria.backends.postgres.channels import pack
from noria.backends.postgres.connection import open_wire
from noria.backends.postgres.faults import Broken, Refused, Unbegun, concerns_store, lost, translate
from noria.backends.postgres.marks import Marks
from noria.backends.postgres.moment import ServerTime
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.statements import statement
from noria.backends.postgres.transaction import Transaction
from noria.backends.postgres.wire import Step, Wire
from noria.backends.sql import transaction
from noria.backends.sql.outlines import notes_of
from noria.backends.units import millis
from noria.clock import Clock
from noria.errors import ConfigError, NoriaError, Unavailable
from noria.ids import jitter_source, system_entropy

T = TypeVar("T")

TRIES: Final = 6
"""How often a transaction is begun anew because others changed the same rows."""

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 2.0
"""Seconds between two attempts to connect."""


class Link:
    """A connection, made when it is needed. One thread at a time.

    Args:
        sender: this process, as its hints name it.
        makes: may make and migrate the schema when it is opened.
    """

    def __init__(self, settings: Settings, clock: Clock, sender: str, *, makes: bool) -> None:
        self.settings = settings
        self.clock = clock
        self._sender = sender
        self._time = ServerTime(clock)
        self._marks = Marks(clock)
        self._makes = makes
        self._wire: Wire | None = None
        self._opened = False
        self._pauses = Pauses(FIRST_PAUSE, LONGEST_PAUSE, jitter_source(system_entropy))
        self._not_before = float("-inf")
        self._why: NoriaError | None = None

    # ---- life

    def open(self) -> None:
        """Make the schema if need be, and bring it up to date. Repeating it does nothing.

        Raises:
            ConfigError: it cannot be used as configured; only by the one that makes it, which is the first.
            Unavailable: it cannot be reached.
        """
        if self._wire is None:
            self._not_before = float("-inf")
            self._wire = self._connect(makes=True) if self._makes else self._connected()

    def close(self) -> None:
        """Close the connection. Repeating it does nothing."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def check(self) -> None:
        """See that there is a connection, and that the server has not left it.

        Raises:
            Unavailable: there is none.
        """
        if self._wire is not None and self._wire.stale():
            self.close()
        self._connected()

    # ---- transactions

    def write(
        self, run: Callable[[transaction.Transaction], T], *, lasting: bool = True
    ) -> tuple[T, list[Note]]:
        """Run something in a write transaction, anew if others were in its way.

        Its hints go to other processes together with the commit; one that cannot be sent is lost.

        Args:
            lasting: it must outlast a crash of the server.

        Returns:
            its reply, and its hints, for this process.
        """
        for _ in range(TRIES - 1):
            try:
                return self._write(run, lasting=lasting)
            except Refused as error:
                if not error.passing:
                    raise
        return self._write(run, lasting=lasting)

    def _write(self, run: Callable[[transaction.Transaction], T], *, lasting: bool) -> tuple[T, list[Note]]:
        used = self._wire is not None
        try:
            return self._write_once(run, lasting=lasting)
        except Unbegun:
            # It broke while nobody used it, and nothing is done yet: a new one takes its place.
            self.close()
            if not used:
                raise
        return self._write_once(run, lasting=lasting)

    def _write_once(
        self, run: Callable[[transaction.Transaction], T], *, lasting: bool
    ) -> tuple[T, list[Note]]:
        work = self._begin_write()
        try:
            reply = run(work)
            work.write_counts()
            notes = notes_of(work)
            work.end(pack(self.settings.namespace, self._sender, notes), lasting=lasting)
        except BaseException:
            self._undo()
            raise
        self._commit(work)
        return reply, notes

    def read(self, run: Callable[[transaction.Transaction], T]) -> T:
        """Run something that sees one moment of the store."""
        work = self._begin("begin_read")
        try:
            return run(work)
        finally:
            self._undo()

    def look(self, run: Callable[[transaction.Transaction], T]) -> T:
        """Run something of which each statement may see its own moment."""
        return run(self._begin(None))

    def _begin_write(self) -> Transaction:
        """Begin together with the first statement, if the server's time can be told without asking."""
        wire = self._connected()
        begin = self._step("begin_write")
        if self.settings.wall is not None:
            return Transaction(wire, self.settings, millis(self.settings.wall()), self._marks, [begin])
        now = self._time.guess()
        if now is None:
            return self._begin("begin_write")
        return Transaction(
            wire, self.settings, now, self._marks, [begin, self._step("server_time")], self._time
        )

    def _begin(self, frame: str | None) -> Transaction:
        used = self._wire is not None
        try:
            return self._begun(frame)
        except Broken:
            # It broke while nobody used it, and nothing is done yet: a new one takes its place.
            self.close()
            if not used:
                raise
        return self._begun(frame)

    def _begun(self, frame: str | None) -> Transaction:
        wire = self._connected()
        steps = [] if frame is None else [self._step(frame)]
        if self.settings.wall is not None:
            if steps:
                wire.exchange(steps)
            return Transaction(wire, self.settings, millis(self.settings.wall()), self._marks)
        found = wire.exchange([*steps, self._step("server_time")])[-1]
        return Transaction(wire, self.settings, self._time.told(found), self._marks)

    def _commit(self, work: Transaction) -> None:
        """Send what waits, the commit last."""
        try:
            work.flush()
        except Broken as error:
            self.close()
            raise lost(error, self.settings.store, committing=True) from error
        except Refused as error:
            if error.statement == "notify":
                # What was to be done is committed, and whoever waits for a hint also polls.
                if error.fatal:
                    self.close()
                return
            self._undo()
            if error.fatal and error.statement == "commit":
                raise lost(Broken(error.message), self.settings.store, committing=True) from error
            raise

    def _undo(self) -> None:
        """End a transaction without a trace, if need be by closing the connection."""
        if self._wire is None:
            return
        try:
            self._wire.exchange([self._step("rollback")])
        except (Broken, Refused):
            self.close()

    def _step(self, name: str, *values: bytes) -> Step:
        return Step(name, statement(name, self.settings.namespace), values)

    # ---- faults

    def meaning(self, error: Exception) -> Exception:
        """What a fault is to a caller."""
        if isinstance(error, Broken):
            self.close()
            return lost(error, self.settings.store)
        if isinstance(error, Refused):
            if error.fatal:
                self.close()
            return translate(error, self.settings.store)
        return error

    def concerns_store(self, error: Exception) -> bool:
        """Whether every other call would have met this error too."""
        return concerns_store(error)

    def _connected(self) -> Wire:
        if self._wire is None:
            self._wire = self._connect(makes=False)
        return self._wire

    def _connect(self, *, makes: bool) -> Wire:
        if self._why is not None and self.clock.monotonic() < self._not_before:
            raise self._why
        try:
            wire = open_wire(self.settings, self.clock)
            try:
                if makes:
                    schema.migrate(wire, self.settings)
                else:
                    schema.version(wire, self.settings)  # somebody may have migrated it meanwhile
            except BaseException:
                wire.close()
                raise
        except (Broken, Refused, NoriaError) as error:
            meaning = error if isinstance(error, NoriaError) else self.meaning(error)
            assert isinstance(meaning, NoriaError), "every fault of a server means one of ours"
            if isinstance(meaning, ConfigError) and (self._opened or not makes):
                # It was well when we started: whoever changed it meanwhile may change it back.
                meaning = Unavailable(str(meaning))
            self._why = meaning
            self._not_before = self.clock.monotonic() + self._pauses.next()
            raise meaning from (None if meaning is error else error)  # no error is its own cause
        self._opened = True
        self._why = None
        self._pauses.reset()
        return wire
