"""A backend that writes down every call before and after it is made, and changes nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager

from noria.backends.contract import (
    Altered,
    Backend,
    Batch,
    Capabilities,
    Change,
    Channel,
    Counts,
    Ended,
    Evidence,
    Fence,
    Hint,
    Keeper,
    Orders,
    Overdue,
    Page,
    Parts,
    Query,
    Swept,
    Verdict,
    Vitals,
    Want,
    WorkerCard,
)
from noria.ids import Id, SessionId
from noria.model.job import NewJob, Receipt, Record
from noria.model.outcome import Settlement
from noria.testing import telling
from noria.testing.events import (
    AlterEnd,
    AlterInvoke,
    End,
    EndEnd,
    Fact,
    LeaseLost,
    Opened,
    PushEnd,
    Renewed,
)
from noria.testing.history import Recorder


class RecordingBackend:
    """Wraps any backend and keeps its contract; `recorder` gets two events for each job of each call.

    Reads are told once, with the time at which they were asked for. `look` makes the reads of the end.
    """

    def __init__(self, inner: Backend, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder

    @property
    def capabilities(self) -> Capabilities:
        return self._inner.capabilities

    @property
    def reply_channel(self) -> Channel:
        return self._inner.reply_channel

    async def start(self) -> None:
        await self._inner.start()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def control(self) -> Keeper:
        return _RecordingKeeper(self._inner.control(), self._recorder)

    # -- queue

    async def push(self, jobs: Sequence[NewJob]) -> list[Receipt]:
        self._recorder.note(*map(telling.push_invoked, jobs))
        with self._telling(lambda end: [PushEnd(id=job.id.hex(), end=end) for job in jobs]):
            receipts = await self._inner.push(jobs)
        self._recorder.note(*map(telling.pushed, jobs, receipts))
        return receipts

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        with self._telling(lambda end: [LeaseLost(session=session)] if end == "info" else []):
            batch = await self._inner.lease(session, wants, limit, wait)
        self._recorder.note(*(telling.leased(session, lease) for lease in batch.leases))
        return batch

    async def recall(self, session: SessionId, known: Collection[Fence]) -> int:
        self._recorder.note(telling.recalled(session, known))
        return await self._inner.recall(session, known)

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        self._recorder.note(*(telling.settle_invoked(session, each) for each in ends))
        with self._telling(lambda end: [telling.settled(session, each, end) for each in ends]):
            verdicts = await self._inner.settle(session, ends)
        self._recorder.note(
            *(telling.settled(session, each, "ok", told) for each, told in zip(ends, verdicts, strict=True))
        )
        return verdicts

    async def sweep(self, limit: int) -> Swept:
        swept = await self._inner.sweep(limit)
        if swept.done:
            self._recorder.note(telling.swept(swept))
        return swept

    # -- sessions

    async def open(self, card: WorkerCard) -> SessionId:
        session = await self._inner.open(card)
        self._recorder.note(Opened(session=session, worker=card.worker, ttl=card.ttl))
        return session

    async def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        orders = await self._inner.renew(session, vitals)
        self._recorder.note(Renewed(session=session, lost=orders.lost))
        return orders

    async def overdue(self) -> list[Overdue]:
        return await self._inner.overdue()

    async def end(
        self,
        session: SessionId,
        *,
        if_beat: int | None,
        started: Collection[Fence] | None,
        evidence: Evidence | None = None,
    ) -> Ended:
        self._recorder.note(telling.end_invoked(session, started))
        with self._telling(lambda end: [EndEnd(session=session, end=end)]):
            told = await self._inner.end(session, if_beat=if_beat, started=started, evidence=evidence)
        self._recorder.note(telling.ended(session, told))
        return told

    # -- ledger

    async def get(
        self, ids: Sequence[Id], parts: Parts = Parts.NONE, watch: Channel | None = None
    ) -> list[Record | None]:
        return await self._read(ids, parts, watch, final=False)

    async def look(self, ids: Sequence[Id]) -> list[Record | None]:
        """The last look at these jobs, after everything has come to rest; the checker judges by it."""
        since = self._recorder.clock.monotonic()
        counts = await self._inner.counts()
        self._recorder.note(telling.counted(counts, since, final=True))
        return await self._read(ids, Parts.RESULT, None, final=True)

    async def find(self, query: Query, after: Id | None = None, limit: int = 50) -> Page:
        return await self._inner.find(query, after, limit)

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        kind = change.kind
        self._recorder.note(*(AlterInvoke(id=id.hex(), change=kind) for id in ids))
        with self._telling(lambda end: [AlterEnd(id=id.hex(), change=kind, end=end) for id in ids]):
            told = await self._inner.alter(ids, change)
        self._recorder.note(*(telling.altered(id, change, each) for id, each in zip(ids, told, strict=True)))
        return told

    async def counts(self) -> Counts:
        since = self._recorder.clock.monotonic()
        counts = await self._inner.counts()
        self._recorder.note(telling.counted(counts, since))
        return counts

    # -- hints

    async def notify(self, channel: Channel, payload: bytes = b"") -> None:
        await self._inner.notify(channel, payload)

    def listen(self, channels: Collection[Channel]) -> AbstractAsyncContextManager[AsyncIterator[Hint]]:
        return self._listen(channels)

    # -- how it tells

    async def _read(
        self, ids: Sequence[Id], parts: Parts, watch: Channel | None, *, final: bool
    ) -> list[Record | None]:
        since = self._recorder.clock.monotonic()
        records = await self._inner.get(ids, parts, watch)
        whole = Parts.RESULT in parts
        self._recorder.note(
            *(
                telling.read(id, record, since, final=final, whole=whole)
                for id, record in zip(ids, records, strict=True)
            )
        )
        return records

    @asynccontextmanager
    async def _listen(self, channels: Collection[Channel]) -> AsyncIterator[AsyncIterator[Hint]]:
        async with self._inner.listen(channels) as hints:
            yield self._heard(hints)

    async def _heard(self, hints: AsyncIterator[Hint]) -> AsyncIterator[Hint]:
        async for hint in hints:
            if hint.channel.startswith("reply:"):
                self._recorder.note(*telling.outcomes_seen(hint.payload))
            yield hint

    @contextmanager
    def _telling(self, facts: Callable[[End], Sequence[Fact]]) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._recorder.note(*facts(telling.after(error)))
            raise


class _RecordingKeeper:
    """A keeper whose renewals are written down."""

    def __init__(self, inner: Keeper, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        orders = self._inner.renew(session, vitals)
        self._recorder.note(Renewed(session=session, lost=orders.lost))
        return orders

    def close(self) -> None:
        self._inner.close()
