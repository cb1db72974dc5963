"""One call from its first question to its reply, whoever carries the questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noria.backends.redis.call import Call, Request
from noria.backends.redis.settings import Settings
from noria.errors import Unavailable, Unknown


class Course:
    """A call under way.

    Attributes:
        requests: what is to be asked next.
        over: whether its reply is there.
    """

    def __init__(self, call: Call, settings: Settings) -> None:
        self.call = call
        self.requests: Sequence[Request] = ()
        self.over = False
        self._steps = call.steps(settings)
        self._reply: Any = None
        self._has_done = False

    def begin(self) -> None:
        """Say what is to be asked first."""
        self._step(lambda: next(self._steps))

    def go_on(self, answers: list[Any]) -> None:
        """Hear what was answered, and say what is to be asked next."""
        errors = [answer for answer in answers if isinstance(answer, Exception)]
        self._has_done |= len(errors) < len(answers)
        if errors and not self.call.sifts:
            self._step(lambda: self._steps.throw(self._meaning(errors[0])))
        else:
            self._step(lambda: self._steps.send(answers))

    def replies(self, n: int) -> list[Any]:
        """The reply for each of the callers whose calls this one stands for."""
        if n == 1 and not self.call.sifts:
            return [self._reply]
        return [self._reply] * n if isinstance(self._reply, Exception) else self._reply

    def _step(self, step: Any) -> None:
        try:
            self.requests = step()
        except StopIteration as stop:
            self._end(stop.value)
        except Exception as error:  # noqa: BLE001 - becomes the reply, and is raised for the caller
            self._end(error)

    def _end(self, reply: Any) -> None:
        self.requests, self.over, self._reply = (), True, reply

    def _meaning(self, error: Exception) -> Exception:
        """What one failure says about the whole call: a part of it may be done already."""
        if isinstance(error, Unavailable) and self.call.writes and self._has_done:
            return Unknown(str(error))
        return error
