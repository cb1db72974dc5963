"""The backend as applications and workers see it: coroutines in front of engines."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from noria.backends import docs as docs_of
from noria.backends.bells import Bell, Bells, Haul
from noria.backends.bus import Listener, Note
from noria.backends.contract import (
    Altered,
    Batch,
    Capabilities,
    Change,
    Channel,
    Command,
    Counts,
    DeadGroup,
    DocWrite,
    Ended,
    Evidence,
    Fence,
    Flow,
    GroupRef,
    Hint,
    Mark,
    Member,
    Orders,
    Overdue,
    Page,
    Parts,
    Point,
    Query,
    Steered,
    Steering,
    Stream,
    Swept,
    Tallied,
    Target,
    Verdict,
    Vitals,
    Want,
    WorkerCard,
)
from noria.backends.marks import check as check_marks
from noria.backends.sql import grouped, sessions
from noria.backends.sql.ahead import Ahead
from noria.backends.sql.alter import Alter
from noria.backends.sql.alter import check as check_change
from noria.backends.sql.boards import SqlBoard
from noria.backends.sql.call import Call
from noria.backends.sql.desk import Desk, InlineDesk, Reader
from noria.backends.sql.engine import Engine
from noria.backends.sql.find import Find, GroupDead, Tally
from noria.backends.sql.fleet import Fleet, Tell
from noria.backends.sql.flow import Series, Totals
from noria.backends.sql.keeper import SqlKeeper
from noria.backends.sql.lease import Take, released
from noria.backends.sql.marks import Emitted, WriteMarks
from noria.backends.sql.push import Push
from noria.backends.sql.records import Get, Watch
from noria.backends.sql.settings import Settings
from noria.backends.sql.steer import Steer
from noria.backends.sql.tallies import Count
from noria.backends.sql.thread import ThreadDesk
from noria.backends.sql.wires import Wires
from noria.clock import Clock
from noria.errors import NoriaError, NotRunning, Unavailable
from noria.ids import Id, IdSource, SessionId
from noria.model.groups import GroupLine, ResourceLine
from noria.model.job import NewJob, Receipt, Record
from noria.model.outcome import Failure
from noria.model.settlement import Settlement

SOON: Final = 0.005
"""Seconds after which a lease that met others at the same jobs looks again."""


class SqlStore(SqlBoard):
    """See `noria.backends.contract.Backend`, whose promises are not repeated here.

    Args:
        engine: answers the calls.
        wires: the ways of hints.
        owns_engine: close it together with the store.
        name: of its threads.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        ids: IdSource,
        engine: Engine,
        wires: Wires,
        *,
        owns_engine: bool,
        name: str,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._ids = ids
        self._engine = engine
        self._owns_engine = owns_engine
        self._wires = wires
        self._name = name
        self._bells = Bells(wires.bus)
        self._desk: Desk | None = None
        self._readers: dict[Reader, Desk] = {}
        self._pid = os.getpid()

    # ---- life

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities: ...

    @property
    def reply_channel(self) -> Channel:
        return self._wires.reply_channel

    async def start(self) -> None:
        if self._desk is not None:
            return
        self._check_process()
        desk = self._make_desk(self._engine, self._name)
        await desk.open(self._settings.timeout)
        try:
            await self._wires.open()
        except BaseException:
            await desk.aclose(self._settings.timeout)
            raise
        self._desk = desk

    async def aclose(self) -> None:
        desk, self._desk = self._desk, None
        readers, self._readers = list(self._readers.values()), {}
        if os.getpid() != self._pid:
            return
        for each in (*readers, desk):
            if each is not None:
                await each.aclose(self._settings.timeout)
        # Leases that wait find out now, and not after a poll.
        self._wires.bus.reset()
        self._bells.close()
        await self._wires.aclose()

    def control(self) -> SqlKeeper:
        """A second, independent connection for the keeper's thread."""
        if self._settings.inline:
            return SqlKeeper(self._engine, self._check_process, self._deliver)
        engine = self._engine.twin()
        relay = self._wires.relay(engine)
        return SqlKeeper(engine, self._check_process, relay.tell, engine.close, relay.close)

    # ---- queue

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        docs_of.check(docs)
        receipts: list[Receipt] = await self._ask(Push(jobs, docs))
        return receipts

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        desk = self._open_desk()
        await self._wires.hear_of_work()
        now = self._clock.monotonic()
        until = now + wait
        bell = self._bells.of(session, wants)
        if bell.dry and wait > 0:
            await bell.heard(now, until)
        again = False
        while True:
            batch = await self._look(desk, bell, self._engine.take(session, wants, limit, bell.hopeful))
            now = self._clock.monotonic()
            # Suspects that came while it waited: whoever asks may want to invite one.
            if batch.leases or now >= until or batch.bound or (again and batch.suspects):
                return batch
            await bell.heard(now, until)
            again = True

    async def _look(self, desk: Desk, bell: Bell, call: Take) -> Batch:
        bell.look()
        haul: Haul = await desk.ask(call, self._settings.timeout)
        poll, due = self._settings.poll, haul.batch.next_due
        wait = poll if due is None else min(due, poll)
        bell.looked(haul, self._clock.monotonic() + (min(wait, SOON) if haul.contended else wait))
        return haul.batch

    async def recall(self, session: SessionId, known: Collection[Fence]) -> int:
        given_back: list[Fence] = await self._ask(sessions.Recall(session, known))
        return len(given_back)

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        verdicts: list[Verdict] = await self._ask(self._engine.settle(session, ends))
        return verdicts

    async def mark(self, session: SessionId, marks: Sequence[Mark]) -> list[Verdict]:
        check_marks(marks)
        verdicts: list[Verdict] = await self._ask(WriteMarks(session, marks))
        return verdicts

    async def sweep(self, limit: int) -> Swept:
        swept: Swept = await self._ask(self._engine.sweep(limit))
        return swept

    async def steer(self, target: Target, change: Steering) -> Steered:
        steered: Steered = await self._ask(Steer(target, change))
        return steered

    # ---- sessions

    async def open(self, card: WorkerCard) -> SessionId:
        session: SessionId = await self._ask(sessions.Open(self._ids.session(), card))
        return session

    async def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        orders: Orders = await self._ask(sessions.Renew(session, vitals))
        return orders

    async def overdue(self) -> list[Overdue]:
        suspects: list[Overdue] = await self._ask(sessions.ListOverdue())
        return suspects

    async def end(
        self,
        session: SessionId,
        *,
        if_beat: int | None,
        started: Collection[Fence] | None,
        evidence: Evidence | None = None,
    ) -> Ended:
        ended: Ended = await self._ask(sessions.End(session, if_beat, started, evidence))
        return ended

    async def fleet(self) -> list[Member]:
        members: list[Member] = await self._consult(Fleet())
        return members

    async def command(self, session: SessionId, command: Command) -> bool:
        told: bool = await self._ask(Tell(session, command))
        return told

    # ---- ledger

    async def get(
        self, ids: Sequence[Id], parts: Parts = Parts.NONE, watch: Channel | None = None
    ) -> list[Record | None]:
        records: list[Record | None]
        if watch is None:
            records = await self._consult(Get(ids, parts))
        else:
            records = await self._ask(Watch(ids, parts, watch))
        return records

    async def emitted(self, id: Id, start: int = 0, limit: int = 100) -> Stream | None:
        stream: Stream | None = await self._consult(Emitted(id, start, limit))
        return stream

    async def find(
        self,
        query: Query,
        after: Id | None = None,
        limit: int = 50,
        *,
        parts: Parts = Parts.NONE,
        ids_only: bool = False,
    ) -> Page:
        page: Page = await self._consult(Find(self._clock, query, after, limit, parts, ids_only), "searcher")
        return page

    async def tally(self, query: Query, most: int = 10_000) -> Tallied:
        tallied: Tallied = await self._consult(Tally(self._clock, query, most), "searcher")
        return tallied

    async def place(self, id: Id, most: int = 10_000) -> int | None:
        place: int | None = await self._consult(Ahead(id, most))
        return place

    async def dead_groups(self, limit: int = 100) -> list[DeadGroup]:
        groups: list[DeadGroup] = await self._consult(GroupDead(limit), "searcher")
        return groups

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        check_change(change, self._settings)
        altered: list[Altered] = await self._ask(Alter(ids, change))
        return altered

    async def group(self, refs: Sequence[GroupRef]) -> list[GroupLine | None]:
        lines: list[GroupLine | None] = await self._consult(grouped.ReadGroups(refs))
        return lines

    async def groups(
        self, family: str | None = None, after: GroupRef | None = None, limit: int = 100
    ) -> list[GroupLine]:
        lines: list[GroupLine] = await self._consult(grouped.ListGroups(family, after, limit))
        return lines

    async def resources(self) -> list[ResourceLine]:
        lines: list[ResourceLine] = await self._consult(grouped.ListResources())
        return lines

    async def counts(self) -> Counts:
        counts: Counts = await self._consult(Count())
        return counts

    async def stats(self) -> list[Flow]:
        flow: list[Flow] = await self._consult(Totals())
        return flow

    async def series(self, since: float, until: float | None = None, step: int = 1) -> list[Point]:
        points: list[Point] = await self._consult(Series(since, until, step))
        return points

    # ---- hints

    async def notify(self, channel: Channel, payload: bytes = b"") -> None:
        note = (channel, payload)
        self._wires.bus.publish([note])
        await self._wires.notify([note])

    @asynccontextmanager
    async def listen(self, channels: Collection[Channel]) -> AsyncIterator[AsyncIterator[Hint]]:
        if any(channel.startswith(("queue:", "session:")) for channel in channels):
            await self._wires.hear_of_work()
        await self._wires.hear(channels)
        with Listener(self._wires.bus, channels) as listener:
            yield listener.hints(self._settings.poll)

    # ---- the way to the engines

    async def _ask(self, call: Call) -> Any:
        """Have the engine answer."""
        desk = self._open_desk()
        return await desk.ask(call, self._settings.timeout)

    async def _consult(self, call: Call, reader: Reader = "reader") -> Any:
        """Have a reader answer: reads must not hold up leases and settles, nor long ones the short ones."""
        if self._settings.inline:
            return await self._ask(call)
        self._open_desk()
        if reader not in self._readers:
            await self._open_reader(reader)
        return await self._readers[reader].ask(call, self._settings.timeout)

    async def _open_reader(self, reader: Reader) -> None:
        desk = self._make_desk(self._engine.twin(readonly=True), f"{self._name}-{reader}")
        # Known before it is open: whoever comes meanwhile queues up behind the opening.
        self._readers[reader] = desk
        try:
            await desk.open(self._settings.timeout)
        except NoriaError:
            self._readers.pop(reader, None)
            raise

    def _open_desk(self) -> Desk:
        self._check_process()
        if self._desk is None:
            raise NotRunning("the backend is not open: await its start() first")
        return self._desk

    def _make_desk(self, engine: Engine, name: str) -> Desk:
        if self._settings.inline:
            return InlineDesk(engine, self._deliver, owns_engine=self._owns_engine)
        return ThreadDesk(
            engine,
            name,
            publish=self._wires.bus.publish,
            send=self._wires.send,
            unheard=self._release_unheard,
        )

    def _deliver(self, notes: list[Note]) -> None:
        self._wires.bus.publish(notes)
        self._wires.send(notes)

    def _release_unheard(self, call: Take, batch: Batch) -> None:
        """Give back leases whose caller was cancelled, or gave up, before they came."""
        failure = Failure.of("released", "nobody waited for its lease any more")
        if self._desk is not None:
            ends = [released(lease, failure) for lease in batch.leases]
            self._desk.post(self._engine.settle(call.session, ends))

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise Unavailable(
                f"{self._settings.store} was opened before this process was forked: "
                "open the application anew in the child"
            )
