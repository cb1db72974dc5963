"""Moving what time has moved, and ending the sessions of dead workers; any worker may, there is no leader."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec.structs import replace

from noria import aio
from noria.backends.contract import Ended, Evidence, Overdue, Queue, Sessions
from noria.clock import Clock
from noria.errors import BackendError, shown
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.wording import shares
from noria.worker.journal import Journals, Remains
from noria.worker.outage import Outage
from noria.worker.settings import OUTAGE_AT_MOST

log = logging.getLogger("noria.worker")

_DEATHS: Final = 64
"""Deaths that are remembered until their journals are found."""


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
        condemned: called with each session that was judged and is over. It may be this worker's own, if the backend
            hears everything from here but renewals.
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
        condemned: Callable[[SessionId], None],
    ) -> None:
        self._store = store
        self._journals = journals
        self._clock = clock
        self._beat = beat
        self._poll = poll
        self._chance = chance
        self._condemned = condemned
        self._suspicions: dict[SessionId, _Suspicion] = {}
        self._judged = float("-inf")
        self._looked = False
        self._deaths: dict[int, Evidence] = {}
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Sweep for ever; a task of the worker's crew."""
        pause, outage = 0.0, Outage("the store is swept")
        while True:
            try:
                await self.once()
                pause = 0.0
                outage.over()
            except BackendError as error:
                outage.goes_on("cannot sweep", error)
                pause = min(max(2 * pause, self._poll), OUTAGE_AT_MOST)
            await aio.happened(self._news, max(pause, self._pause()))
            self._news.clear()

    @property
    def undecided(self) -> bool:
        """Whether it is yet to be seen which sessions are silent, or to be judged whether they are dead."""
        return not self._looked or bool(self._suspicions)

    def hear_of(self, death: Evidence) -> None:
        """Somebody saw a process of this host die: look for its journal now, and record what was seen."""
        self._deaths[death.pid] = death
        while len(self._deaths) > _DEATHS:
            del self._deaths[next(iter(self._deaths))]
        self._news.set()

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
        evidence = self._with_what_was_seen(dead.evidence)
        ended = await self._store.end(dead.session, if_beat=None, started=dead.started, evidence=evidence)
        if ended.first:
            if ended.crashed or ended.released:
                log.warning("%s: %s", dead.evidence.cause, _became(ended))
            else:
                log.warning("the worker process %d died; it held no jobs", dead.evidence.pid)

    def _with_what_was_seen(self, found: Evidence) -> Evidence:
        death = self._deaths.get(found.pid)
        if death is None:
            return found
        return replace(found, exit_code=death.exit_code, signal=death.signal, memory=death.memory)

    async def _judge(self) -> None:
        now = self._clock.monotonic()
        overdue = {each.session: each for each in await self._store.overdue()}
        self._suspicions = {session: self._suspect(each, now) for session, each in overdue.items()}
        self._looked = True
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
            log.warning("worker %s gave no sign of life: %s", shown(each.worker), _became(ended))
        if ended.ended:
            self._condemned(each.session)


def _became(ended: Ended) -> str:
    """Of the jobs that a session held."""
    return shares("job", {"crashed": ended.crashed, "released": ended.released})
