"""The backend as applications and workers see it: coroutines in front of engines."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

from noria.backends.contract import (
    Altered,
    Batch,
    Capabilities,
    Change,
    Channel,
    Counts,
    Ended,
    Evidence,
    Fence,
    Hint,
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
from noria.backends.sqlite import sessions
from noria.backends.sqlite.alter import Alter
from noria.backends.sqlite.bus import Bus, Listener
from noria.backends.sqlite.call import Call
from noria.backends.sqlite.desk import Desk, InlineDesk
from noria.backends.sqlite.engine import Engine
from noria.backends.sqlite.keeper import SqliteKeeper
from noria.backends.sqlite.lease import Take
from noria.backends.sqlite.outlines import Note
from noria.backends.sqlite.push import Push
from noria.backends.sqlite.records import Find, Get, Watch
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.settle import Settle
from noria.backends.sqlite.sweep import Sweep
from noria.backends.sqlite.tallies import Count
from noria.backends.sqlite.thread import ThreadDesk
from noria.backends.sqlite.wires import Wires
from noria.clock import Clock
from noria.errors import ConfigError, NoriaError, NotRunning, Unavailable
from noria.ids import Id, IdSource, SessionId
from noria.model.job import Lease, NewJob, Receipt, Record
from noria.model.outcome import Failure, Settlement, after_release

_DURABILITY = {
    "full": "a committed job survives the death of any process and the loss of power",
    "normal": "a committed job survives the death of any process; the loss of power may undo the last commits",
    "off": "a committed job survives the death of any process; the loss of power may damage the file",
}


class SqliteStore:
    """See `noria.backends.contract.Backend`, whose promises are not repeated here."""

    def __init__(
        self, settings: Settings, clock: Clock, ids: IdSource, engine: Engine, bus: Bus, *, owns_engine: bool
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._ids = ids
        self._engine = engine
        self._owns_engine = owns_engine
        self._wires = Wires(settings, bus, f"{ids.session():016x}")
        self._desk: Desk | None = None
        self._reader: Desk | None = None
        self._pid = os.getpid()

    # ---- life

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            durability=_DURABILITY[self._settings.synchronous], max_body=self._settings.max_body
        )

    @property
    def reply_channel(self) -> Channel:
        return self._wires.reply_channel

    async def start(self) -> None:
        if self._desk is not None:
            return
        self._check_process()
        desk = self._make_desk(self._engine, "noria-sqlite")
        await desk.open(self._settings.timeout)
        try:
            self._wires.open()
        except BaseException:
            await desk.aclose(self._settings.timeout)
            raise
        self._desk = desk

    async def aclose(self) -> None:
        desk, reader, self._desk, self._reader = self._desk, self._reader, None, None
        if os.getpid() != self._pid:
            return
        for each in (reader, desk):
            if each is not None:
                await each.aclose(self._settings.timeout)
        # Leases that wait find out now, and not after a poll.
        self._wires.bus.reset()
        self._wires.close()

    def control(self) -> SqliteKeeper:
        """A second, independent connection for the keeper's thread."""
        if self._settings.inline:
            return SqliteKeeper(self._engine, self._check_process, owned=False)
        return SqliteKeeper(self._engine.twin(), self._check_process, owned=True)

    def sibling(self, ids: IdSource) -> SqliteStore:
        """Another backend on the same inline engine and bus: another process of a simulated machine."""
        if not self._settings.inline:
            raise ConfigError("only inline backends share an engine; others open the same file")
        return SqliteStore(self._settings, self._clock, ids, self._engine, self._wires.bus, owns_engine=False)

    # ---- queue

    async def push(self, jobs: Sequence[NewJob]) -> list[Receipt]:
        receipts: list[Receipt] = await self._ask(Push(jobs))
        return receipts

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        desk = self._open_desk()
        self._wires.hear_of_work()
        until = self._clock.monotonic() + wait
        with Listener(self._wires.bus, [f"queue:{want.queue}" for want in wants]) as bell:
            while True:
                # Cleared before looking: what is heard from here on may be news to this look.
                bell.clear()
                batch: Batch = await desk.ask(Take(session, wants, limit), self._settings.timeout)
                left = until - self._clock.monotonic()
                if batch.leases or left <= 0:
                    return batch
                due = self._settings.poll if batch.next_due is None else batch.next_due
                await bell.heard(max(0.001, min(left, due, self._settings.poll)))

    async def recall(self, session: SessionId, known: Collection[Fence]) -> int:
        given_back: int = await self._ask(sessions.Recall(session, known))
        return given_back

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        verdicts: list[Verdict] = await self._ask(Settle(session, ends))
        return verdicts

    async def sweep(self, limit: int) -> Swept:
        swept: Swept = await self._ask(Sweep(limit))
        return swept

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

    async def find(self, query: Query, after: Id | None = None, limit: int = 50) -> Page:
        page: Page = await self._consult(Find(query, after, limit))
        return page

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        altered: list[Altered] = await self._ask(Alter(ids, change))
        return altered

    async def counts(self) -> Counts:
        counts: Counts = await self._consult(Count())
        return counts

    # ---- hints

    async def notify(self, channel: Channel, payload: bytes = b"") -> None:
        note = (channel, payload)
        self._wires.bus.publish([note])
        self._wires.send([note])

    @asynccontextmanager
    async def listen(self, channels: Collection[Channel]) -> AsyncIterator[AsyncIterator[Hint]]:
        if any(channel.startswith(("queue:", "session:")) for channel in channels):
            self._wires.hear_of_work()
        with Listener(self._wires.bus, channels) as listener:
            yield listener.hints(self._settings.poll)

    # ---- the way to the engines

    async def _ask(self, call: Call) -> Any:
        """Have the engine answer."""
        desk = self._open_desk()
        return await desk.ask(call, self._settings.timeout)

    async def _consult(self, call: Call) -> Any:
        """Have the reader answer: long reads must not hold up leases and settles."""
        if self._settings.inline:
            return await self._ask(call)
        self._open_desk()
        if self._reader is None:
            await self._open_reader()
        assert self._reader is not None, "opened above"
        return await self._reader.ask(call, self._settings.timeout)

    async def _open_reader(self) -> None:
        # Set before it is open: whoever comes meanwhile queues up behind the opening.
        self._reader = self._make_desk(self._engine.twin(readonly=True), "noria-sqlite-reader")
        try:
            await self._reader.open(self._settings.timeout)
        except NoriaError:
            self._reader = None
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
            self._desk.post(Settle(call.session, [_released(lease, failure) for lease in batch.leases]))

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise Unavailable(
                f"SQLite database {self._settings.path} was opened before this process was forked: "
                "open the application anew in the child"
            )


def _released(lease: Lease, failure: Failure) -> Settlement:
    end = after_release(lease.tally, failure)
    return Settlement(lease.id, lease.starts, end.outcome, end.state, failure=end.failure)
