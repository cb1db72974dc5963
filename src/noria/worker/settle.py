"""Outcomes on their way to the backend: gathered while one flush is in flight, then sent together."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from noria import aio
from noria.backends.contract import Verdict
from noria.errors import BackendError
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.outcome import Settlement
from noria.worker.settings import MAX_UNSETTLED_BYTES

log = logging.getLogger("noria.worker")

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
        self._session = SessionId(0)
        self._waiting: list[Settlement] = []
        self._bytes = 0
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.settled = 0

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
        self._bytes += _FIXED + len(end.result or b"")
        self._idle.clear()
        self._news.set()

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
        batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        self._bytes -= sum(_FIXED + len(end.result or b"") for end in batch)
        verdicts = await self._record(session, batch)
        if session != self._session:
            return
        self.settled += len(batch)
        for end, verdict in zip(batch, verdicts, strict=True):
            self._verdict(end, verdict)

    async def _record(self, session: SessionId, batch: list[Settlement]) -> list[Verdict]:
        pause = 0.05
        while session == self._session:
            try:
                return await self._sink.settle(session, batch)
            except BackendError as error:
                log.warning("%d outcomes cannot be recorded yet, trying again: %s", len(batch), error)
            await aio.sleep(pause * (0.5 + self._chance.random()))
            pause = min(pause * 2, _RETRY_AT_MOST)
        return []

    def _settle_down(self) -> None:
        if not self._waiting:
            self._bytes = 0
            self._idle.set()
