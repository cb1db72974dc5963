"""Requests that wait for jobs: bounded in number and time, freed when their client leaves or the front stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from starlette.requests import Request

from noria import aio
from noria.aio import Crew
from noria.app.ending import Ending
from noria.app.outcomes import Asks, Outcomes
from noria.errors import BackendError
from noria.front.principal import Principal
from noria.front.problem import Problem
from noria.front.route import Ask
from noria.ids import Id

T = TypeVar("T")

_AGAIN: Final = 0.5
"""Seconds after which a job that could not be read is read again."""


class Full(Exception):
    """As many requests wait as may."""


class Left(Exception):
    """The client has left; nobody will read the answer."""


class Waiting:
    """Waits for jobs on behalf of requests.

    Args:
        outcomes: tells how jobs ended.
        crew: owns the tasks that watch clients.
        most: how many may wait at once; `most_of_key`: of one key in the store.
    """

    def __init__(self, outcomes: Outcomes, crew: Crew, most: int, most_of_key: int) -> None:
        self._outcomes = outcomes
        self._crew = crew
        self._most = most
        self._most_of_key = most_of_key
        self._of_key: Counter[str] = Counter()
        self._scopes: set[asyncio.Timeout] = set()
        self.draining = False

    @property
    def count(self) -> int:
        """How many wait now."""
        return len(self._scopes)

    async def ending(self, ask: Ask, id: Id, seconds: float, known: str | None = None) -> Ending | None:
        """How a job ended; None if it had not when the seconds were over, or when the front began to stop.

        With `known` it is None as well when the job asks something, unless that is the question of this id.

        Raises:
            Full: too many wait already.
            Left: the client has left.
            JobNotFound: there is no such job.
        """
        return await self.during(ask, seconds, lambda: self._ending(id, known))

    async def during(self, ask: Ask, seconds: float, work: Callable[[], Awaitable[T]]) -> T | None:
        """What `work` gives, bounded as a wait is; None if it gave nothing in time.

        Raises: Full, Left, and what `work` raises.
            Problem: the key of the request is good no more; what it has asked for before goes on.
        """
        if self.draining or seconds <= 0:
            return None
        who = ask.who
        of_key = self._of_key[who.id] if who.stored else 0
        if len(self._scopes) >= self._most or of_key >= self._most_of_key:
            raise Full
        left = False
        found: T | None

        def leave() -> None:
            nonlocal left
            left = True
            self._expire(scope)

        scope = aio.bounded(seconds)
        try:
            async with scope:
                with self._counted(scope, who), self._watched(ask.request, leave):
                    found = await work()
        except TimeoutError:
            if not scope.expired():
                raise
            found = None
        if left:
            raise Left
        if not await ask.desk.door.still(who):
            raise _locked_out()
        return found

    async def _ending(self, id: Id, known: str | None) -> Ending | None:
        while True:
            try:
                return await self._outcomes.wait(id, None, known)
            except Asks:
                return None
            except BackendError:
                await aio.sleep(_AGAIN)  # the wait goes on until its own bound

    def drain(self) -> None:
        """End all waits now, and let none begin."""
        self.draining = True
        for scope in list(self._scopes):
            self._expire(scope)

    def _expire(self, scope: asyncio.Timeout) -> None:
        if scope in self._scopes and not scope.expired():
            scope.reschedule(asyncio.get_running_loop().time())

    @contextmanager
    def _counted(self, scope: asyncio.Timeout, who: Principal) -> Iterator[None]:
        self._scopes.add(scope)
        self._of_key[who.id] += 1
        try:
            yield
        finally:
            self._scopes.discard(scope)
            self._of_key[who.id] -= 1
            if not self._of_key[who.id]:
                del self._of_key[who.id]

    @contextmanager
    def _watched(self, request: Request, leave: Callable[[], None]) -> Iterator[None]:
        stop = self._crew.start("client", until_gone(request, leave))
        try:
            yield
        finally:
            stop()


def _locked_out() -> Problem:
    return Problem(
        "bad_key",
        "the key was revoked or has expired while this request waited; what it had asked for goes on",
        headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
    )


async def until_gone(request: Request, leave: Callable[[], None]) -> None:
    """Tell when the client of a request, whose body has been read, has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    leave()


def full_problem() -> Problem:
    """What a request that cannot wait gets, if waiting was all it wanted."""
    return Problem(
        "too_many_waiters", "too many requests wait at this front; ask again, or another one", retry_after=1
    )
