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
    Command,
    Counts,
    DeadGroup,
    Doc,
    DocWrite,
    Ended,
    Evidence,
    Fence,
    Flow,
    Hint,
    Keeper,
    Mark,
    Member,
    Orders,
    Overdue,
    Page,
    Parts,
    Pause,
    Point,
    Query,
    QueueRef,
    Resume,
    Steered,
    Steering,
    Stream,
    Swept,
    Tallied,
    Target,
    Verdict,
    Version,
    Vitals,
    Want,
    WorkerCard,
)
from noria.ids import Id, SessionId
from noria.model.groups import GroupLine, GroupRef, ResourceLine
from noria.model.job import NewJob, Receipt, Record
from noria.model.settlement import Settlement
from noria.testing import telling
from noria.testing.events import (
    AlterEnd,
    End,
    EndEnd,
    Fact,
    LeaseLost,
    Opened,
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

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        self._recorder.note(*map(telling.push_invoked, jobs), *telling.write_invoked(docs, jobs))
        with self._telling(lambda end: telling.push_ended(jobs, docs, end)):
            receipts = await self._inner.push(jobs, docs)
        along = telling.written_along(docs, jobs, receipts)
        self._recorder.note(*map(telling.pushed, jobs, receipts), *along)
        return receipts

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        since = self._recorder.clock.monotonic()
        with self._telling(lambda end: [LeaseLost(session=session)] if end == "info" else []):
            batch = await self._inner.lease(session, wants, limit, wait)
        self._recorder.note(*(telling.leased(session, lease, since) for lease in batch.leases))
        return batch

    async def recall(self, session: SessionId, known: Collection[Fence]) -> int:
        self._recorder.note(telling.recalled(session, known))
        given_back = await self._inner.recall(session, known)
        self._recorder.note(telling.recall_ended(session))
        return given_back

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        with _settling(self._recorder, session, ends) as told:
            told += await self._inner.settle(session, ends)
        return told

    async def mark(self, session: SessionId, marks: Sequence[Mark]) -> list[Verdict]:
        return await self._inner.mark(session, marks)

    async def emitted(self, id: Id, start: int = 0, limit: int = 100) -> Stream | None:
        return await self._inner.emitted(id, start, limit)

    async def sweep(self, limit: int) -> Swept:
        swept = await self._inner.sweep(limit)
        if swept.done:
            self._recorder.note(telling.swept(swept))
        return swept

    async def steer(self, target: Target, change: Steering) -> Steered:
        if not isinstance(target, QueueRef) or not isinstance(change, Pause | Resume):
            return await self._inner.steer(target, change)
        self._recorder.note(telling.steer_invoked(target, change))
        with self._telling(lambda end: [telling.steered(target, change, end)]):
            told = await self._inner.steer(target, change)
        self._recorder.note(telling.steered(target, change, "ok"))
        return told

    # -- sessions

    async def open(self, card: WorkerCard) -> SessionId:
        since = self._recorder.clock.monotonic()
        session = await self._inner.open(card)
        self._recorder.note(Opened(session=session, worker=card.worker, ttl=card.ttl, since=since))
        return session

    async def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        since = self._recorder.clock.monotonic()
        orders = await self._inner.renew(session, vitals)
        self._recorder.note(Renewed(session=session, lost=orders.lost, since=since))
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

    async def fleet(self) -> list[Member]:
        return await self._inner.fleet()

    async def command(self, session: SessionId, command: Command) -> bool:
        return await self._inner.command(session, command)

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

    async def find(
        self,
        query: Query,
        after: Id | None = None,
        limit: int = 50,
        *,
        parts: Parts = Parts.NONE,
        ids_only: bool = False,
    ) -> Page:
        return await self._inner.find(query, after, limit, parts=parts, ids_only=ids_only)

    async def place(self, id: Id, most: int = 10_000) -> int | None:
        return await self._inner.place(id, most)

    async def tally(self, query: Query, most: int = 10_000) -> Tallied:
        return await self._inner.tally(query, most)

    async def dead_groups(self, limit: int = 100) -> list[DeadGroup]:
        return await self._inner.dead_groups(limit)

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        kind = change.kind
        self._recorder.note(*(telling.alter_invoked(id, change) for id in ids))
        with self._telling(lambda end: [AlterEnd(id=id.hex(), change=kind, end=end) for id in ids]):
            told = await self._inner.alter(ids, change)
        self._recorder.note(*(telling.altered(id, change, each) for id, each in zip(ids, told, strict=True)))
        return told

    async def group(self, refs: Sequence[GroupRef]) -> list[GroupLine | None]:
        return await self._inner.group(refs)

    async def groups(
        self, family: str | None = None, after: GroupRef | None = None, limit: int = 100
    ) -> list[GroupLine]:
        return await self._inner.groups(family, after, limit)

    async def resources(self) -> list[ResourceLine]:
        return await self._inner.resources()

    async def counts(self) -> Counts:
        since = self._recorder.clock.monotonic()
        counts = await self._inner.counts()
        self._recorder.note(telling.counted(counts, since))
        return counts

    async def stats(self) -> list[Flow]:
        return await self._inner.stats()

    async def series(self, since: float, until: float | None = None, step: int = 1) -> list[Point]:
        return await self._inner.series(since, until, step)

    # -- board

    async def read(self, kind: str, names: Sequence[str]) -> list[Doc | None]:
        since = self._recorder.clock.monotonic()
        docs = await self._inner.read(kind, names)
        told = zip(names, docs, strict=True)
        self._recorder.note(*(telling.doc_read(kind, name, doc, since) for name, doc in told))
        return docs

    async def write(self, docs: Sequence[DocWrite]) -> list[Version]:
        self._recorder.note(*telling.write_invoked(docs))
        with self._telling(lambda end: telling.written(docs, end)):
            versions = await self._inner.write(docs)
        self._recorder.note(*telling.written(docs, "ok"))
        return versions

    async def scan(
        self, kind: str, after: str | None = None, limit: int = 100, prefix: str = ""
    ) -> list[Doc]:
        since = self._recorder.clock.monotonic()
        docs = await self._inner.scan(kind, after, limit, prefix)
        self._recorder.note(*(telling.doc_read(kind, doc.name, doc, since) for doc in docs))
        return docs

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


@contextmanager
def _settling(recorder: Recorder, session: SessionId, ends: Sequence[Settlement]) -> Iterator[list[Verdict]]:
    """Write down that these starts are ended, and the verdicts that are put into the list."""
    follow_ups = telling.follow_ups_invoked(ends)
    recorder.note(*follow_ups, *(telling.settle_invoked(session, each) for each in ends))
    verdicts: list[Verdict] = []
    try:
        yield verdicts
    except BaseException as error:
        _ended(recorder, session, [(each, telling.after(error), None) for each in ends])
        raise
    _ended(recorder, session, [(each, "ok", told) for each, told in zip(ends, verdicts, strict=True)])


def _ended(
    recorder: Recorder, session: SessionId, told: Sequence[tuple[Settlement, End, Verdict | None]]
) -> None:
    recorder.note(
        *(telling.settled(session, *each) for each in told),
        *(fact for each in told for fact in telling.follow_ups_stored(*each)),
    )


class _RecordingKeeper:
    """A keeper whose calls are written down."""

    def __init__(self, inner: Keeper, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        since = self._recorder.clock.monotonic()
        orders = self._inner.renew(session, vitals)
        self._recorder.note(Renewed(session=session, lost=orders.lost, since=since))
        return orders

    def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        with _settling(self._recorder, session, ends) as told:
            told += self._inner.settle(session, ends)
        return told

    def recall(self, session: SessionId, known: Collection[Fence], why: str) -> list[Fence]:
        self._recorder.note(telling.recalled(session, known))
        given_back = self._inner.recall(session, known, why)
        self._recorder.note(telling.recall_ended(session))
        return given_back

    def close(self) -> None:
        self._inner.close()
