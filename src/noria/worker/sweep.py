"""Moving what time has moved, and ending the sessions of dead workers; any worker may, there is no leader."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from typing import Protocol

from noria import aio
from noria.backends.contract import Evidence, Overdue, Queue, Sessions
from noria.clock import Clock
from noria.errors import BackendError, shown
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.worker.journal import Journals, Remains
from noria.worker.settings import OUTAGE_AT_MOST

log = logging.getLogger("noria.worker")


class Store(Queue, Sessions, Protocol):
    """The parts of a backend that a sweeper needs."""


@dataclass(slots=True)
class _Suspicion:
    beat: int
    since: float


class Sweeper:
    """Sweeps every `poll` seconds, and judges sessions as it does.

    A session is ended only after its beat stood still for one beat of this process's own monotonic clock: a
    clock that jumped makes every session look overdue, and no living one stand still.

    Args:
        store: the backend.
        journals: run journals of this host.
        beat, poll: seconds.
        chance: spreads the sweeps of several workers.
    """

    def __init__(
        self,
        *,
        store: Store,
        journals: Journals,
        clock: Clock,
        beat: float,
        poll: float,
        chance: random.Random,
    ) -> None:
        self._store = store
        self._journals = journals
        self._clock = clock
        self._beat = beat
        self._poll = poll
        self._chance = chance
        self._suspicions: dict[SessionId, _Suspicion] = {}
        self._judged = float("-inf")

    async def run(self) -> None:
        """Sweep for ever; a task of the worker's crew."""
        outage = 0.0
        while True:
            try:
                await self.once()
                outage = 0.0
            except BackendError as error:
                log.warning("cannot sweep, trying again: %s", error)
                outage = min(max(2 * outage, self._poll), OUTAGE_AT_MOST)
            await aio.sleep(max(outage, self._pause()))

    def _pause(self) -> float:
        """Until the next sweep: `poll` at most, so that the dead are found in time; less if one can be judged."""
        usual = self._poll * (0.75 + 0.25 * self._chance.random())
        return max(self._poll / 20, min(usual, self._ripe() - self._clock.monotonic()))

    def _ripe(self) -> float:
        """When the first suspicion will have lasted for a beat."""
        return min((each.since for each in self._suspicions.values()), default=float("inf")) + self._beat

    async def once(self) -> None:
        """Bury the dead of this host, judge the silent, then move rows until none is left to move."""
        await self.bury()
        now = self._clock.monotonic()
        if now >= min(self._judged + self._beat / 4, self._ripe()):
            self._judged = now
            await self._judge()
        while (await self._store.sweep(MAX_BATCH)).more:
            await aio.sleep(0)

    async def bury(self) -> None:
        """End the sessions whose run journals show that their process is gone."""
        with self._journals.remains() as dead:
            for each in dead:
                await self._end(each)

    async def _end(self, dead: Remains) -> None:
        ended = await self._store.end(
            dead.session, if_beat=None, started=dead.started, evidence=dead.evidence
        )
        if ended.first:
            cause = dead.evidence.cause
            log.warning("%s: %d jobs crashed, %d released", cause, ended.crashed, ended.released)

    async def _judge(self) -> None:
        now = self._clock.monotonic()
        overdue = {each.session: each for each in await self._store.overdue()}
        self._suspicions = {session: self._suspect(each, now) for session, each in overdue.items()}
        for session, suspicion in list(self._suspicions.items()):
            if now - suspicion.since >= self._beat:
                await self._condemn(overdue[session])
                del self._suspicions[session]

    def _suspect(self, each: Overdue, now: float) -> _Suspicion:
        known = self._suspicions.get(each.session)
        return known if known is not None and known.beat == each.beat else _Suspicion(each.beat, now)

    async def _condemn(self, each: Overdue) -> None:
        cause = f"worker {each.worker} gave no sign of life; whether this job had begun is not known"
        ended = await self._store.end(
            each.session, if_beat=each.beat, started=None, evidence=Evidence(cause=cause)
        )
        if ended.first:
            log.warning("worker %s gave no sign of life: %d jobs crashed", shown(each.worker), ended.crashed)
