"""Outcomes on their way to the backend: gathered while one flush is in flight, then sent together."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from noria import aio
from noria.backends.contract import Verdict
from noria.errors import BackendError
from noria.ids import Id, SessionId
from noria.model.limits import MAX_BATCH
from noria.model.settlement import Settlement
from noria.model.wording import count
from noria.worker.outage import Outage
from noria.worker.settings import MAX_UNSETTLED_BYTES

Told = tuple[SessionId, dict[tuple[Id, int], Verdict]]
"""Whose outcomes another thread has recorded, and what became of each."""

_FIXED: Final = 256
"""Bytes that an outcome without a value is taken for."""
_RETRY_AT_MOST: Final = 1.0


class Sink(Protocol):
    """The part of a backend that records outcomes."""

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        """As `Queue.settle`."""
        ...


class Settler:
    """Collects settlements and records them in batches, one flush at a time.

    A flush starts with the first outcome, at the end of the loop's turn (latency), and takes all that came
    meanwhile (throughput). A flush that fails is repeated until the backend answers, which is safe.

    Args:
        sink: where outcomes go.
        most: outcomes that may wait before `full` stops the feed.
        verdict: hears what became of each.
        chance: for the jitter between repeats.
    """

    def __init__(
        self, sink: Sink, most: int, verdict: Callable[[Settlement, Verdict], None], chance: random.Random
    ) -> None:
        self._sink = sink
        self._most = most
        self._verdict = verdict
        self._chance = chance
        self._outage = Outage("outcomes are recorded")
        self._session = SessionId(0)
        self._waiting: list[Settlement] = []
        self._bytes = 0
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.settled = 0
        self._told: Told = SessionId(0), {}

    @property
    def full(self) -> bool:
        """Whether so much waits to be recorded that no further job should be leased."""
        return len(self._waiting) >= self._most or self._bytes >= MAX_UNSETTLED_BYTES

    @property
    def unsettled(self) -> int:
        """Outcomes that wait for the next flush."""
        return len(self._waiting)

    def reset(self, session: SessionId) -> None:
        """A new session begins: outcomes of the last one would be refused, so they are dropped."""
        self._session = session
        self._waiting.clear()
        self._bytes = 0
        self._settle_down()

    def add(self, end: Settlement) -> None:
        """Have an outcome recorded."""
        self._waiting.append(end)
        self._bytes += _size(end)
        self._idle.clear()
        self._news.set()

    def waiting(self) -> tuple[SessionId, list[Settlement]]:
        """From another thread: the first outcomes that wait and were not told of, and whose they are."""
        session = self._session
        waiting, (whose, told) = self._waiting, self._told
        ends = waiting[: _portion(waiting)]
        if whose == session:
            ends = [end for end in ends if (end.id, end.starts) not in told]
        # A new session may have begun meanwhile: these may be its outcomes.
        return (session, ends) if session == self._session else (session, [])

    def told(self, session: SessionId, ends: Sequence[Settlement], verdicts: Sequence[Verdict]) -> None:
        """From another thread: it has recorded outcomes that wait here."""
        known = dict(zip(((end.id, end.starts) for end in ends), verdicts, strict=True))
        whose, before = self._told
        self._told = session, {**before, **known} if whose == session else known

    async def flushed(self, seconds: float) -> bool:
        """Wait until everything is recorded; False when the seconds were over first."""
        return await aio.happened(self._idle, seconds)

    async def run(self) -> None:
        """Flush for ever; a task of the worker's crew."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                await self._flush()
            self._settle_down()

    async def _flush(self) -> None:
        session = self._session
        n = _portion(self._waiting)
        batch, self._waiting = self._waiting[:n], self._waiting[n:]
        self._bytes -= sum(map(_size, batch))
        batch = self._hear(session, batch)
        verdicts = await self._record(session, batch) if batch else []
        if session != self._session:
            return
        self._conclude(batch, verdicts)

    def _hear(self, session: SessionId, batch: list[Settlement]) -> list[Settlement]:
        """Conclude what another thread has recorded meanwhile; what is left of the batch."""
        whose, told = self._told
        if not told:
            return batch
        heard = [end for end in batch if (end.id, end.starts) in told] if whose == session else []
        rest = [end for end in batch if (end.id, end.starts) not in told] if heard else batch
        if not self._waiting:
            self._told = session, {}
        self._conclude(heard, [told[end.id, end.starts] for end in heard])
        return rest

    def _conclude(self, batch: Sequence[Settlement], verdicts: Sequence[Verdict]) -> None:
        self.settled += len(batch)
        for end, verdict in zip(batch, verdicts, strict=True):
            self._verdict(end, verdict)

    async def _record(self, session: SessionId, batch: list[Settlement]) -> list[Verdict]:
        pauses = aio.Pauses(0.05, _RETRY_AT_MOST, self._chance)
        while session == self._session:
            try:
                verdicts = await self._sink.settle(session, batch)
                self._outage.over()
                return verdicts
            except BackendError as error:
                self._outage.goes_on(f"{count(len(batch), 'outcome')} cannot be recorded yet", error)
            await aio.sleep(pauses.next())
        return []

    def _settle_down(self) -> None:
        if not self._waiting:
            self._bytes = 0
            self._idle.set()


def _size(end: Settlement) -> int:
    """Bytes that an outcome is taken for."""
    size = _FIXED + len(end.result or b"")
    return size + sum(_FIXED + len(job.body) for job in end.follow_ups) if end.follow_ups else size


def _portion(waiting: Sequence[Settlement]) -> int:
    """How many outcomes are recorded together: each is one with its follow-ups, which are counted as well."""
    jobs = 0
    for n, end in enumerate(waiting[:MAX_BATCH]):
        jobs += len(end.follow_ups)
        if n and jobs > MAX_BATCH:
            return n
    return min(len(waiting), MAX_BATCH)
