"""The backend as applications and workers see it: coroutines in front of a connection."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

from noria.backends import docs as docs_of
from noria.backends.bells import Bell, Bells, Haul
from noria.backends.bus import Listener
from noria.backends.contract import (
    Altered,
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
    Version,
    Vitals,
    Want,
    WorkerCard,
)
from noria.backends.marks import check as check_marks
from noria.backends.redis import board, grouped, sessions
from noria.backends.redis.ahead import Ahead
from noria.backends.redis.alter import Alter
from noria.backends.redis.alter import check as check_change
from noria.backends.redis.call import Call
from noria.backends.redis.checks import Check
from noria.backends.redis.desk import Desk
from noria.backends.redis.ears import Ears
from noria.backends.redis.faults import restarted
from noria.backends.redis.find import Find, GroupDead, Tally
from noria.backends.redis.fleet import Fleet, Tell
from noria.backends.redis.flow import Series, Totals
from noria.backends.redis.keeper import RedisKeeper
from noria.backends.redis.lease import Take
from noria.backends.redis.link import Link
from noria.backends.redis.notes import Emitted, WriteMarks
from noria.backends.redis.push import Push
from noria.backends.redis.records import Get, Watch
from noria.backends.redis.say import Say
from noria.backends.redis.settings import Settings
from noria.backends.redis.settle import Settle
from noria.backends.redis.steer import steering_of
from noria.backends.redis.sweep import Sweep
from noria.backends.redis.talk import Epoch
from noria.backends.redis.tallies import Count
from noria.clock import Clock
from noria.errors import NotRunning, Unavailable
from noria.ids import Id, IdSource, SessionId
from noria.model.groups import GroupLine, ResourceLine
from noria.model.job import Lease, NewJob, Receipt, Record
from noria.model.outcome import Failure, after_release
from noria.model.settlement import Settlement


class RedisStore:
    """See `noria.backends.contract.Backend`, whose promises are not repeated here."""

    def __init__(self, settings: Settings, clock: Clock, ids: IdSource) -> None:
        self._settings = settings
        self._clock = clock
        self._ids = ids
        self._epoch = Epoch(lambda: f"{ids.session():016x}")
        self._token = f"{ids.session():016x}"
        self._ears = Ears(settings)
        self._bells = Bells(self._ears)
        self._restarts: dict[SessionId, int] = {}
        self._desk: Desk | None = None
        self._durability = "unknown until the backend was started"
        self._pid = os.getpid()

    # ---- life

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(groups=True, durability=self._durability, max_body=self._settings.max_body)

    @property
    def reply_channel(self) -> Channel:
        return f"reply:{self._token}"

    async def start(self) -> None:
        if self._desk is not None:
            return
        self._check_process()
        desk = Desk(Link(self._settings, self._clock, self._epoch), self._settings, self._release_unheard)
        await desk.open()
        try:
            self._durability = await desk.ask(Check())
        except BaseException:
            await desk.aclose()
            raise
        self._ears.open()
        self._desk = desk

    async def aclose(self) -> None:
        desk, self._desk = self._desk, None
        if os.getpid() != self._pid or desk is None:
            return
        await desk.aclose()
        # Leases that wait find out now, and not after a poll.
        self._ears.reset()
        self._bells.close()
        await self._ears.aclose()

    def control(self) -> RedisKeeper:
        """A second, independent connection for the keeper's thread."""
        return RedisKeeper(self._settings, self._clock, self._epoch, self._check_process)

    # ---- queue

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        docs_of.check(docs)
        receipts: list[Receipt] = await self._ask(Push(jobs, docs))
        return receipts

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        desk = self._open_desk()
        now = self._clock.monotonic()
        until = now + wait
        bell = self._bells.of(session, wants)
        if bell.dry and wait > 0:
            await bell.heard(now, until)
        again = False
        while True:
            self._check_memory(session)
            batch = await self._look(desk, bell, Take(session, wants, limit))
            now = self._clock.monotonic()
            # Suspects that came while it waited: whoever asks may want to invite one.
            if batch.leases or now >= until or batch.bound or (again and batch.suspects):
                return batch
            await bell.heard(now, until)
            again = True

    def _check_memory(self, session: SessionId) -> None:
        """A server that was restarted may have forgotten what it did last, and the session may hold again what it had
        settled: whoever leases hears of that once, and recalls."""
        restarts = self._epoch.restarts
        if self._restarts.setdefault(session, restarts) != restarts:
            self._restarts[session] = restarts
            raise Unavailable(restarted(self._settings.address))

    async def _look(self, desk: Desk, bell: Bell, call: Take) -> Batch:
        bell.look()
        haul: Haul = await desk.ask(call)
        poll, due = self._settings.poll, haul.batch.next_due
        bell.looked(haul, self._clock.monotonic() + (poll if due is None else min(due, poll)))
        return haul.batch

    async def recall(self, session: SessionId, known: Collection[Fence]) -> int:
        given_back: list[Fence] = await self._ask(sessions.Recall(session, known))
        return len(given_back)

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        verdicts: list[Verdict] = await self._ask(Settle(session, ends))
        return verdicts

    async def mark(self, session: SessionId, marks: Sequence[Mark]) -> list[Verdict]:
        check_marks(marks)
        verdicts: list[Verdict] = await self._ask(WriteMarks(session, marks))
        return verdicts

    async def sweep(self, limit: int) -> Swept:
        swept: Swept = await self._ask(Sweep(limit))
        return swept

    async def steer(self, target: Target, change: Steering) -> Steered:
        steered: Steered = await self._ask(steering_of(target, change))
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
        members: list[Member] = await self._ask(Fleet())
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
            records = await self._ask(Get(ids, parts))
        else:
            records = await self._ask(Watch(ids, parts, watch))
        return records

    async def emitted(self, id: Id, start: int = 0, limit: int = 100) -> Stream | None:
        stream: Stream | None = await self._ask(Emitted(id, start, limit))
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
        page: Page = await self._ask(Find(self._clock, query, after, limit, parts, ids_only))
        return page

    async def tally(self, query: Query, most: int = 10_000) -> Tallied:
        tallied: Tallied = await self._ask(Tally(self._clock, query, most))
        return tallied

    async def place(self, id: Id, most: int = 10_000) -> int | None:
        place: int | None = await self._ask(Ahead(id, most))
        return place

    async def dead_groups(self, limit: int = 100) -> list[DeadGroup]:
        groups: list[DeadGroup] = await self._ask(GroupDead(limit))
        return groups

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        check_change(change, self._settings)
        altered: list[Altered] = await self._ask(Alter(ids, change))
        return altered

    async def group(self, refs: Sequence[GroupRef]) -> list[GroupLine | None]:
        lines: list[GroupLine | None] = await self._ask(grouped.ReadGroups(refs))
        return lines

    async def groups(
        self, family: str | None = None, after: GroupRef | None = None, limit: int = 100
    ) -> list[GroupLine]:
        lines: list[GroupLine] = await self._ask(grouped.ListGroups(family, after, limit))
        return lines

    async def resources(self) -> list[ResourceLine]:
        lines: list[ResourceLine] = await self._ask(grouped.ListResources())
        return lines

    async def counts(self) -> Counts:
        counts: Counts = await self._ask(Count())
        return counts

    async def stats(self) -> list[Flow]:
        flow: list[Flow] = await self._ask(Totals())
        return flow

    async def series(self, since: float, until: float | None = None, step: int = 1) -> list[Point]:
        points: list[Point] = await self._ask(Series(since, until, step))
        return points

    # ---- board

    async def read(self, kind: str, names: Sequence[str]) -> list[Doc | None]:
        docs_of.check_names(kind, *names)
        docs: list[Doc | None] = await self._ask(board.ReadDocs(kind, names))
        return docs

    async def write(self, docs: Sequence[DocWrite]) -> list[Version]:
        docs_of.check(docs)
        versions: list[Version] = await self._ask(board.WriteDocs(docs))
        return versions

    async def scan(
        self, kind: str, after: str | None = None, limit: int = 100, prefix: str = ""
    ) -> list[Doc]:
        docs_of.check_names(kind, *filter(None, (after, prefix)))
        docs: list[Doc] = await self._ask(board.ScanDocs(kind, after, limit, prefix))
        return docs

    # ---- hints

    async def notify(self, channel: Channel, payload: bytes = b"") -> None:
        await self._ask(Say(channel, payload))

    @asynccontextmanager
    async def listen(self, channels: Collection[Channel]) -> AsyncIterator[AsyncIterator[Hint]]:
        self._open_desk()
        with Listener(self._ears, channels) as listener:
            await self._ears.confirmed(channels)
            yield listener.hints(self._settings.poll)

    # ---- the way to the server

    async def _ask(self, call: Call) -> Any:
        return await self._open_desk().ask(call)

    def _open_desk(self) -> Desk:
        self._check_process()
        if self._desk is None:
            raise NotRunning("the backend is not open: await its start() first")
        return self._desk

    def _release_unheard(self, call: Take, batch: Batch) -> None:
        """Give back leases whose caller was cancelled, or gave up, before they came."""
        failure = Failure.of("released", "nobody waited for its lease any more")
        if self._desk is not None:
            self._desk.post(Settle(call.session, [_released(lease, failure) for lease in batch.leases]))

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise Unavailable(
                f"the connection to {self._settings.address.shown} was opened before this process was forked: "
                "open the application anew in the child"
            )


def _released(lease: Lease, failure: Failure) -> Settlement:
    end = after_release(lease.tally, failure)
    return Settlement(lease.id, lease.starts, end.outcome, end.state, failure=end.failure)
