"""The server's time, as far as it can be told without asking."""

from __future__ import annotations

from typing import Final

from psycopg import pq

from noria.backends.postgres.faults import Refused
from noria.clock import Clock

LEEWAY: Final = 50
"""Milliseconds by which a guess may be off: as much may pass between any answer of a server and its use."""


class ServerTime:
    """The server's time as it was told last, and has gone on since.

    A guess is right only where both clocks go on evenly, which nobody promises. So each guess is checked by what the
    server says in the very exchange in which it is used, before anything is committed.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead: float | None = None

    def guess(self) -> int | None:
        """The time in milliseconds since the epoch; None if it was not told yet, or the last guess was wrong."""
        return None if self._ahead is None else round(self._ahead + self._clock.monotonic() * 1000)

    def told(self, answer: pq.abc.PGresult) -> int:
        """Take over what `server_time.sql` has just said; returns it."""
        now = int(answer.get_value(0, 0) or 0)
        self._ahead = now - self._clock.monotonic() * 1000
        return now

    def check(self, guess: int, answer: pq.abc.PGresult) -> None:
        """Raise a `Refused` that passes when the transaction is begun anew if a guess was not the server's time."""
        if abs(self.told(answer) - guess) > LEEWAY:
            self._ahead = None
            raise Refused("40001", "the clock of the server did not go on as ours did", "server_time")
