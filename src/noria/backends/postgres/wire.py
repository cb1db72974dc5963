"""One connection to a server, on libpq: exchanges that end in time, or end the connection.

libpq itself is bound by no time: it waits for an answer as long as the other side keeps the socket open. So nothing
here blocks in libpq: what is to be sent is sent, and what comes is read when the socket says so, until the time of
the exchange is over. Then the connection is closed, since an answer that comes late would be taken for the next one's.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Final, NamedTuple

import psycopg
from psycopg import pq

from noria.backends.postgres.faults import Broken, Refused, at_the_door
from noria.clock import Clock

_READ: Final = select.POLLIN | select.POLLERR | select.POLLHUP
_LOOKS: Final = 4
_PREPARING: Final = " being prepared"
_OK: Final = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)


class Step(NamedTuple):
    """A statement with its values, as they cross: text, or None for NULL."""

    name: str
    text: bytes
    values: Sequence[bytes | None] = ()


class Wire:
    """A connection. One thread at a time.

    Args:
        conninfo: as libpq takes it.
        seconds: within which the connection must stand, and each exchange must end.
        prepares: statements are prepared by name, which a pooler in between may not be able to keep.

    Raises:
        Broken, Refused: it cannot be made.
    """

    def __init__(self, conninfo: str, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until = clock.monotonic() + seconds
        self._prepared: set[str] = set()
        self._pipelined = False
        self.prepares = True
        self._pg = self._connect(conninfo.encode())

    # ---- life

    def fileno(self) -> int:
        """Its socket."""
        return self._pg.socket

    @property
    def pg(self) -> pq.abc.PGconn:
        """The connection of libpq."""
        return self._pg

    def close(self) -> None:
        """Close it. Repeating it does nothing."""
        self._pg.finish()

    def stale(self) -> bool:
        """Whether the server has left, or says something that nobody asked for, while we were idle."""
        try:
            poll = select.poll()
            poll.register(self.fileno(), _READ)
            # A server that leaves says why, and only the next look finds the end of what it sent.
            for _ in range(_LOOKS):
                if not poll.poll(0):
                    return False
                self._pg.consume_input()
            return True
        except (psycopg.Error, OSError, ValueError):
            return True

    # ---- exchanges

    def script(self, text: str) -> list[pq.abc.PGresult]:
        """Run statements without values, before any `exchange`.

        Raises:
            Broken, Refused: as `exchange`.
        """
        self._until = self._clock.monotonic() + self._seconds
        try:
            self._pg.send_query(text.encode())
            self._flush()
            results = []
            while (result := self._result()) is not None:
                results.append(result)
        except psycopg.Error as error:
            raise self._broken(error) from error
        for result in results:
            _check(result, text.strip()[:40])
        return results

    def exchange(self, steps: Sequence[Step]) -> list[pq.abc.PGresult]:
        """Send statements all at once and read their answers.

        Raises:
            Refused: the server refused one of them; those after it were not done.
            Broken: no answer came in time, or the connection broke; it is closed.
        """
        self._until = self._clock.monotonic() + self._seconds
        try:
            if not self._pipelined:
                self._pg.nonblocking = 1
                self._pg.enter_pipeline_mode()
                self._pipelined = True
            expected = [name for step in steps for name in self._send(step)]
            self._pg.pipeline_sync()
            self._flush()
            answers = [self._answer() for _ in expected]
            self._sync()
        except psycopg.Error as error:
            raise self._broken(error) from error
        return self._heard(expected, answers)

    def _heard(self, names: Sequence[str], answers: Sequence[pq.abc.PGresult]) -> list[pq.abc.PGresult]:
        told = []
        for name, answer in zip(names, answers, strict=True):
            if not name.endswith(_PREPARING):
                told.append(answer)
            elif answer.status != pq.ExecStatus.COMMAND_OK:
                self._prepared.discard(name.removesuffix(_PREPARING))
        for name, answer in zip(names, answers, strict=True):
            _check(answer, name)
        return told

    def _send(self, step: Step) -> list[str]:
        """Send one statement; the names of the answers that it will have."""
        if not self.prepares:
            self._pg.send_query_params(step.text, step.values)
            return [step.name]
        name = step.name.encode()
        before = []
        if step.name not in self._prepared:
            self._pg.send_prepare(name, step.text)
            self._prepared.add(step.name)
            before = [step.name + _PREPARING]
        self._pg.send_query_prepared(name, step.values)
        return [*before, step.name]

    def _answer(self) -> pq.abc.PGresult:
        """The answer to one statement; after it comes nothing."""
        result = self._result()
        if result is None:
            raise psycopg.OperationalError("the server gave no answer to a statement")
        if self._result() is not None:
            raise psycopg.OperationalError("the server gave two answers to a statement")
        return result

    def _sync(self) -> None:
        result = self._result()
        if result is None or result.status != pq.ExecStatus.PIPELINE_SYNC:
            raise psycopg.OperationalError("the server lost count of our statements")

    def _result(self) -> pq.abc.PGresult | None:
        while self._pg.is_busy():
            self._wait(select.POLLIN)
            self._pg.consume_input()
        return self._pg.get_result()

    def _flush(self) -> None:
        while self._pg.flush():
            # While we send much, the server may send too, and both would wait for ever.
            if self._wait(select.POLLIN | select.POLLOUT) & select.POLLIN:
                self._pg.consume_input()

    def _wait(self, events: int) -> int:
        """Wait for the socket; says what it is ready for."""
        poll = select.poll()
        poll.register(self.fileno(), events)
        left = self._until - self._clock.monotonic()
        ready = poll.poll(left * 1000) if left > 0 else []
        if not ready:
            raise psycopg.OperationalError(f"no answer came within {self._seconds:g} seconds")
        return ready[0][1]

    def _broken(self, error: Exception) -> Broken:
        text = self._pg.get_error_message() if self._pg.status == pq.ConnStatus.BAD else str(error)
        self.close()
        return Broken(" ".join(text.split()) or "the connection broke")

    # ---- the way in

    def _connect(self, conninfo: bytes) -> pq.abc.PGconn:
        try:
            self._pg = pq.PGconn.connect_start(conninfo)
            while True:
                if self._pg.status == pq.ConnStatus.BAD:
                    raise psycopg.OperationalError(self._pg.get_error_message())
                status = self._pg.connect_poll()
                if status == pq.PollingStatus.OK:
                    return self._pg
                if status == pq.PollingStatus.FAILED:
                    raise psycopg.OperationalError(self._pg.get_error_message())
                self._wait(select.POLLIN if status == pq.PollingStatus.READING else select.POLLOUT)
        except (psycopg.Error, OSError, ValueError) as error:
            raise at_the_door(" ".join(str(error).split())) from error


def _check(result: pq.abc.PGresult, name: str) -> None:
    if result.status in _OK:
        return
    code = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"XX000").decode()
    severity = result.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) or b""
    message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode("utf-8", "replace")
    raise Refused(code, message, name, fatal=severity in (b"FATAL", b"PANIC"))
