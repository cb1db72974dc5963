"""Where coroutines hand in their calls: all that came together share each round trip to the server.

A round is asked as soon as none is on its way; what comes meanwhile waits for the next one. Calls that need several
rounds have theirs beside the first ones of others.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from noria.aio import Crew
from noria.backends.bells import Haul
from noria.backends.contract import Batch
from noria.backends.redis.call import Call
from noria.backends.redis.course import Course
from noria.backends.redis.faults import unanswered
from noria.backends.redis.group import grouped
from noria.backends.redis.lease import Take
from noria.backends.redis.link import Link
from noria.backends.redis.settings import Settings
from noria.backends.redis.wire import Broken
from noria.errors import NoriaError, Unavailable

log = logging.getLogger("noria.redis")

Unheard = Callable[[Take, Batch], None]
"""Gets leases that arrived when nobody waited for them any more."""


class _Entry:
    """A call on its way, and who waits for its reply."""

    __slots__ = ("asked", "call", "future")

    def __init__(self, call: Call, future: asyncio.Future[Any]) -> None:
        self.call = call
        self.future = future
        self.asked = False


class _Trip:
    """The calls that are answered by one conversation."""

    def __init__(self, call: Call, entries: Sequence[_Entry], settings: Settings) -> None:
        self.course = Course(call, settings)
        self.entries = entries


class Desk:
    """Takes calls for a link, and serves them in rounds.

    Args:
        unheard: see `Unheard`.
    """

    def __init__(self, link: Link, settings: Settings, unheard: Unheard) -> None:
        self._link = link
        self._settings = settings
        self._unheard = unheard
        self._address = settings.address
        self._crew = Crew("redis", _report)
        self._waiting: deque[_Entry] = deque()
        self._going: list[_Trip] = []
        self._serving = False
        self._closing = False

    async def open(self) -> None:
        """Connect. Raises `ConfigError` or `Unavailable`."""
        await self._link.open()

    async def ask(self, call: Call) -> Any:
        """Have a call answered.

        Raises:
            Unavailable: it was certainly not done.
            Unknown: it may have been done.
        """
        entry = self._submit(call)
        limit = asyncio.get_running_loop().call_later(self._settings.timeout, self._give_up_on, entry)
        try:
            return await entry.future
        except asyncio.CancelledError:
            if entry.future.done() and not entry.future.cancelled() and entry.future.exception() is None:
                # It came in the same turn of the loop in which its caller was cancelled.
                self._discard(call, entry.future.result())
            raise
        finally:
            limit.cancel()

    def post(self, call: Call) -> None:
        """Have a call done without hearing of it."""
        if not self._closing:
            self._submit(call).future.add_done_callback(_ignore)

    async def aclose(self) -> None:
        """End the connection; calls that wait end with an error."""
        self._closing = True
        waiting, self._waiting = list(self._waiting), deque()
        going, self._going = self._going, []
        closed = Unavailable(f"the connection to {self._address.shown} was closed before it took up the call")
        for entry in waiting:
            _fail(entry, closed)
        for entry in (entry for trip in going for entry in trip.entries):
            _fail(entry, unanswered(self._address, "it was closed", writes=entry.call.writes))
        await self._crew.aclose(self._settings.patience)
        self._link.close()

    def _submit(self, call: Call) -> _Entry:
        if self._closing:
            raise Unavailable(f"the connection to {self._address.shown} is closed")
        entry = _Entry(call, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        if not self._serving:
            self._serving = True
            # All that is handed in during this turn of the loop goes along.
            asyncio.get_running_loop().call_soon(self._turn)
        return entry

    def _give_up_on(self, entry: _Entry) -> None:
        why = f"within {self._settings.timeout:g} seconds"
        if not entry.future.done():
            late = unanswered(self._address, why, writes=entry.asked and entry.call.writes)
            entry.future.set_exception(late)

    # ---- the rounds

    def _turn(self) -> None:
        """Ask a round: what goes on, and what waits. None is on its way."""
        self._serving = not self._closing and bool(self._waiting or self._going)
        if not self._serving:
            return
        if not self._link.is_ready:
            self._crew.start("connect", self._connect())
            return
        try:
            self._take_up()
            requests = [request for trip in self._going for request in trip.course.requests]
            if requests:
                self._link.ask(requests, self._answered)
            else:
                self._turn()
        except Exception as error:
            log.exception("a round failed")
            self._give_up(error)
            self._serving = False

    async def _connect(self) -> None:
        try:
            await self._link.ready()
        except Exception as error:
            if not isinstance(error, NoriaError):
                log.exception("a round failed")
            self._give_up(error)
        self._turn()

    def _answered(self, told: list[Any] | Broken) -> None:
        trips = self._going
        try:
            if not isinstance(told, Broken):
                self._hand_out(trips, told)
            else:
                self._going = []
                for trip in trips:
                    fault = unanswered(self._address, told, writes=trip.course.call.writes)
                    self._deliver(trip, [fault] * len(trip.entries))
        except Exception as error:
            log.exception("a round failed")
            self._give_up(error)
        self._turn()

    def _take_up(self) -> None:
        """Begin the calls that wait."""
        entries = [entry for entry in self._waiting if not entry.future.done()]
        self._waiting.clear()
        for call, members in grouped([entry.call for entry in entries]):
            trip = _Trip(call, [entries[index] for index in members], self._settings)
            for entry in trip.entries:
                entry.asked = True
            self._going.append(trip)
            trip.course.begin()
            self._end_if_over(trip)

    def _hand_out(self, trips: Sequence[_Trip], answers: list[Any]) -> None:
        at = 0
        for trip in trips:
            n = len(trip.course.requests)
            trip.course.go_on(answers[at : at + n])
            at += n
            self._end_if_over(trip)

    def _end_if_over(self, trip: _Trip) -> None:
        if trip.course.over:
            self._going = [each for each in self._going if each is not trip]
            self._deliver(trip, trip.course.replies(len(trip.entries)))

    def _give_up(self, error: Exception) -> None:
        """There is no connection: nothing that waits was asked, and what was going on may have been done in part."""
        waiting, self._waiting = list(self._waiting), deque()
        going, self._going = self._going, []
        for entry in waiting:
            _fail(entry, error)
        for trip in going:
            fault = unanswered(self._address, error, writes=trip.course.call.writes)
            self._deliver(trip, [fault] * len(trip.entries))

    def _deliver(self, trip: _Trip, replies: Sequence[Any]) -> None:
        for entry, reply in zip(trip.entries, replies, strict=True):
            if entry.future.done():
                self._discard(entry.call, reply)
            elif isinstance(reply, Exception):
                entry.future.set_exception(reply)
            else:
                entry.future.set_result(reply)

    def _discard(self, call: Call, reply: Any) -> None:
        if isinstance(call, Take) and isinstance(reply, Haul) and reply.batch.leases and not self._closing:
            self._unheard(call, reply.batch)


def _fail(entry: _Entry, error: Exception) -> None:
    if not entry.future.done():
        entry.future.set_exception(error)
        # Whoever is gone does not miss it.
        entry.future.exception()


def _ignore(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


def _report(name: str, error: BaseException) -> None:
    log.error("%s ended by a fault", name, exc_info=error)
