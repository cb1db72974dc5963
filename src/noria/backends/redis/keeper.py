"""The keeper's own way to the server: a blocking connection, independent of the loop, and used by one thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import hiredis

from noria.backends.contract import Fence, Orders, Verdict, Vitals
from noria.backends.redis import talk
from noria.backends.redis.call import Call
from noria.backends.redis.course import Course
from noria.backends.redis.faults import breaks_connection, unanswered
from noria.backends.redis.line import Line, connected
from noria.backends.redis.sessions import Recall, Renew
from noria.backends.redis.settings import Settings
from noria.backends.redis.settle import Settle
from noria.backends.redis.talk import Epoch
from noria.clock import Clock
from noria.errors import ConfigError, Unavailable
from noria.ids import SessionId
from noria.model.settlement import Settlement


class RedisKeeper:
    """Does a session's duties when the event loop cannot. See `noria.backends.contract.Keeper`.

    Args:
        check: raises if this process may not use the store.
    """

    def __init__(self, settings: Settings, clock: Clock, epoch: Epoch, check: Callable[[], None]) -> None:
        self._settings = settings
        self._clock = clock
        self._epoch = epoch
        self._check = check
        self._line: Line | None = None

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        orders: Orders = self._ask(Renew(session, vitals))
        return orders

    def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        verdicts: list[Verdict] = self._ask(Settle(session, ends))
        return verdicts

    def recall(self, session: SessionId, known: Collection[Fence], why: str) -> list[Fence]:
        given_back: list[Fence] = self._ask(Recall(session, known, why))
        return given_back

    def close(self) -> None:
        """Close the connection. Repeating it does nothing."""
        line, self._line = self._line, None
        if line is not None:
            line.close()

    def _ask(self, call: Call) -> Any:
        self._check()
        line = self._connected()
        course = Course(call, self._settings)
        course.begin()
        while not course.over:
            try:
                course.go_on(self._answers(line, course))
            except (OSError, hiredis.ProtocolError) as error:
                self.close()
                raise unanswered(self._settings.address, error, writes=call.writes) from error
        (reply,) = course.replies(1)
        if breaks_connection(reply):
            self.close()
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _answers(self, line: Line, course: Course) -> list[Any]:
        answers: list[Any] = line.converse(
            talk.ask(course.requests, self._settings, self._epoch, self._clock)
        )
        return answers

    def _connected(self) -> Line:
        if self._line is None:
            try:
                self._line = connected(self._settings, self._clock)
            except ConfigError as error:
                raise Unavailable(str(error)) from error
        return self._line
