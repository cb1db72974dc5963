"""Keeping the session alive: the loop renews it; a thread stands in while the loop cannot turn."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final

from noria import aio
from noria.backends.contract import Keeper, Orders, Sessions, Vitals
from noria.clock import Clock
from noria.errors import BackendError
from noria.ids import SessionId
from noria.worker.feed import STALE_AFTER
from noria.worker.outage import Outage
from noria.worker.watchdog import stack_of

log = logging.getLogger("noria.worker")

_BLOCKED: Final = (
    "%s has blocked the event loop for %.1f s: no other job of this worker can go on. "
    "Declare the task with `def` to run it in a thread. It stands here:\n%s"
)
_STARVED: Final = (
    "the event loop has not turned for %.1f s, and no job stands in it: other threads hold the interpreter, "
    "as CPU-bound `def` jobs do, the machine is busy, or this process was suspended, as by SIGSTOP"
)

_TURNS_PER_BEAT: Final = 5
_LOOKS_PER_BEAT: Final = 10


class Pulse:
    """When the loop last turned and the session was last renewed; shared by the loop and the thread."""

    def __init__(self, now: float) -> None:
        self.turned = now
        self.renewed = now
        self.lag = 0.0


class Beat:
    """Renews the session from the loop, every beat, and carries out the orders that come back.

    Args:
        sessions: the backend.
        beat: seconds between renewals.
        vitals: what to tell about this worker.
        obey: carries out orders.
    """

    def __init__(
        self,
        *,
        sessions: Sessions,
        clock: Clock,
        beat: float,
        vitals: Callable[[], Vitals],
        obey: Callable[[SessionId, Orders], None],
    ) -> None:
        self._sessions = sessions
        self._clock = clock
        self._beat = beat
        self._vitals = vitals
        self._obey = obey
        self._hurry = asyncio.Event()
        self.session = SessionId(0)
        self.turns_every = beat / _TURNS_PER_BEAT
        self.pulse = Pulse(clock.monotonic())

    def hurry(self) -> None:
        """Orders are waiting: renew now."""
        self._hurry.set()

    def parts(self) -> dict[str, Coroutine[Any, Any, None]]:
        """What the worker's crew must run, by name."""
        return {"beat": self.run(), "turn": self.turn()}

    async def turn(self) -> None:
        """Note that the loop turns, for ever."""
        pause = self.turns_every
        while True:
            before = self._clock.monotonic()
            await aio.sleep(pause)
            now = self._clock.monotonic()
            self.pulse.lag = max(0.0, now - before - pause)
            self.pulse.turned = now

    async def run(self) -> None:
        """Renew for ever."""
        outage = Outage("the session is renewed")
        while True:
            await aio.happened(self._hurry, self._beat)
            self._hurry.clear()
            session = self.session
            try:
                orders = await self._sessions.renew(session, self._vitals())
            except BackendError as error:
                outage.goes_on("the session cannot be renewed", error)
                await aio.sleep(self._beat / _TURNS_PER_BEAT)
                self._hurry.set()
                continue
            self.pulse.renewed = self._clock.monotonic()
            outage.over()
            self._obey(session, orders)


class StandIn:
    """A thread that does the session's duties while the loop does not turn, and names what blocks it.

    After half a second it relieves the worker of what others could do; after a beat it renews the session. It has its
    own connection: the loop's may be in the middle of an exchange. A loop that is only slow does all by itself, so
    this thread costs a few wake-ups a beat.

    Args:
        relieve: gives back, through its connection, what the loop keeps from others.
        failed: hears, in the thread, of an error that has ended it.
    """

    def __init__(
        self,
        *,
        connect: Callable[[], Keeper],
        beat: Beat,
        every: float,
        blocked_after: float,
        clock: Clock,
        vitals: Callable[[], Vitals],
        culprit: Callable[[], str],
        relieve: Callable[[Keeper], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._connect = connect
        self._beat = beat
        self._every = every
        self._blocked_after = blocked_after
        self._clock = clock
        self._vitals = vitals
        self._culprit = culprit
        self._relieve = relieve
        self._failed = failed
        self._loop_thread = threading.get_ident()
        beat.turns_every = min(beat.turns_every, STALE_AFTER)
        self._stop = threading.Event()
        self._keeper: Keeper | None = None
        self._blocked_since: float | None = None
        self._thread = threading.Thread(target=self._watch, name="noria-keeper", daemon=True)

    def start(self) -> None:
        """Begin to watch the loop that calls this."""
        self._thread.start()

    def close(self) -> None:
        """Stop; waits a moment for a renewal in flight."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def _watch(self) -> None:
        try:
            self._look()
        except Exception as error:  # noqa: BLE001 - nobody hears of what a thread raises
            self._failed(error)
        finally:
            if self._keeper is not None:
                self._keeper.close()

    def _look(self) -> None:
        pause = min(self._every / _LOOKS_PER_BEAT, self._blocked_after / 2, STALE_AFTER / 2)
        while not self._stop.wait(pause):
            now = self._clock.monotonic()
            silent = now - self._beat.pulse.turned - self._beat.turns_every
            self._report(now, silent)
            if silent > self._every - pause and now - self._beat.pulse.renewed >= self._every:
                self._stand_in("renew the session", self._renew)
            if silent >= STALE_AFTER:
                self._stand_in("give back what waits for the event loop", self._relieve)

    def _stand_in(self, what: str, duty: Callable[[Keeper], None]) -> None:
        try:
            self._keeper = self._keeper or self._connect()
            duty(self._keeper)
        except BackendError as error:
            log.warning("the stand-in cannot %s, trying again: %s", what, error)

    def _renew(self, keeper: Keeper) -> None:
        now = self._clock.monotonic()
        # Orders wait: they are repeated until the loop, which must carry them out, asks for them itself.
        keeper.renew(self._beat.session, self._vitals())
        self._beat.pulse.renewed = now

    def _report(self, now: float, silent: float) -> None:
        if silent >= self._blocked_after and self._blocked_since is None:
            self._blocked_since = now - silent
            culprit = self._culprit()
            stack = stack_of(self._loop_thread)
            if culprit:
                log.warning(_BLOCKED, culprit, silent, stack)
            else:
                log.warning(_STARVED, silent)
                log.debug("the event loop stands here:\n%s", stack)
        elif silent < self._blocked_after and self._blocked_since is not None:
            log.warning("the event loop turns again after %.1f s", now - self._blocked_since)
            self._blocked_since = None
