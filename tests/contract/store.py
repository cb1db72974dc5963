"""What the body of a contract test holds: a store, with the contract's calls, time, and restarts.

A body is written once and runs in every mode. In mode "restarted" every process of the store is killed with
SIGKILL and opened anew at each `restart`, and also by itself before some of the calls: nothing that a call
promised may live in a process. In the other modes `restart` does nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from noria.backends.contract import (
    Altered,
    Batch,
    Capabilities,
    Change,
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
from noria.ids import Id, IdSource, SessionId
from noria.model.groups import GroupLine, ResourceLine
from noria.model.job import NewJob, Receipt, Record
from noria.model.settlement import Settlement
from tests.contract.factories import Factory, Mode, Options, Order
from tests.support.manual import ManualClock
from tests.support.remote import RemoteBackend, call
from tests.support.zygote import Zygote, kill


class Place:
    """One namespace, and every process that has it open."""

    def __init__(
        self, factory: Factory, address: str, mode: Mode, options: Options, zygote: Zygote | None
    ) -> None:
        self.factory = factory
        self.address = address
        self.mode = mode
        self.options = options
        self.clock = ManualClock()
        self.ids = IdSource(self.clock)
        self.zygote = zygote
        self.processes: list[Process] = []
        self.busy = 0
        self.turns = asyncio.Lock()

    async def join(self) -> Process:
        """Open the namespace once more."""
        process = Process(self)
        await process.begin()
        self.processes.append(process)
        return process

    async def restart(self) -> None:
        """Kill every process, then open as many anew; none of them has had a chance to tidy up."""
        if self.mode == "restarted":
            for process in self.processes:
                process.kill()
            for process in self.processes:
                await process.mourn()
            for process in self.processes:
                await process.begin()

    async def advance(self, seconds: float) -> None:
        """Let time pass for all."""
        self.clock.advance(seconds)
        await self._tick()

    async def jump(self, seconds: float) -> None:
        """Set everybody's wall clock."""
        self.clock.jump(seconds)
        await self._tick()

    async def _tick(self) -> None:
        for process in self.processes:
            if process.remote is not None:
                await process.remote.tick()

    async def close(self) -> None:
        for process in self.processes:
            await process.finish()
        self.factory.drop(self.address)


class Process:
    """One process that has the store open: in here, or a child that can be killed."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._calls = 0
        self._pid = 0
        self.remote: RemoteBackend | None = None
        self.backend: Any = None
        self._next_restart: float = math.inf
        self._gaps: Iterator[int] = iter(())

    # -- its life

    async def begin(self) -> None:
        place = self._place
        if place.mode != "restarted":
            beside = next((each.backend for each in place.processes if each.backend is not None), None)
            self.backend = place.factory.open(place.address, place.mode, place.clock, place.options, beside)
            await self.backend.start()
            return
        assert place.zygote is not None
        order = Order(place.factory.name, place.address, place.options)
        self._pid, sock = place.zygote.fork(msgspec.json.encode(order).decode())
        self.remote = RemoteBackend(place.clock)
        await self.remote.connect(sock)

    def restart_by_itself(self, rng: random.Random) -> None:
        """Be restarted before some calls from now on: one of the first few, then ever more rarely."""
        self._gaps = (rng.randint(1, 3) * 2**turn for turn in itertools.count())
        self._next_restart = 1 + next(self._gaps)

    def kill(self) -> None:
        """SIGKILL, whatever it is doing."""
        kill(self._pid)

    async def mourn(self) -> None:
        """Tell those who wait for answers that there will be none."""
        assert self.remote is not None
        await self.remote.lost()

    async def finish(self) -> None:
        if self.remote is not None:
            self.kill()
            await self.mourn()
        elif self.backend is not None:
            await self.backend.aclose()

    async def _call(self, name: str, *args: Any) -> Any:
        await self._take_turn()
        try:
            if self.remote is None:
                return await call(self.backend, name, args)
            return await self.remote.call(name, args)
        finally:
            self._place.busy -= 1

    async def _take_turn(self) -> None:
        """Restart now and then, never under a call that is on its way."""
        async with self._place.turns:
            self._calls += 1
            if self._calls >= self._next_restart and not self._place.busy:
                self._next_restart = self._calls + next(self._gaps)
                await self._place.restart()
            self._place.busy += 1

    # -- the contract's calls

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        return await self._call("push", list(jobs), list(docs))

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float = 0.0) -> Batch:
        return await self._call("lease", session, list(wants), limit, wait)

    async def recall(self, session: SessionId, known: Collection[Fence]) -> int:
        return await self._call("recall", session, list(known))

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        return await self._call("settle", session, list(ends))

    async def mark(self, session: SessionId, marks: Sequence[Mark]) -> list[Verdict]:
        return await self._call("mark", session, list(marks))

    async def emitted(self, id: Id, start: int = 0, limit: int = 100) -> Stream | None:
        return await self._call("emitted", id, start, limit)

    async def sweep(self, limit: int = 1_000) -> Swept:
        return await self._call("sweep", limit)

    async def steer(self, target: Target, change: Steering) -> Steered:
        return await self._call("steer", target, change)

    async def group(self, refs: Sequence[GroupRef]) -> list[GroupLine | None]:
        return await self._call("group", list(refs))

    async def groups(
        self, family: str | None = None, after: GroupRef | None = None, limit: int = 100
    ) -> list[GroupLine]:
        return await self._call("groups", family, after, limit)

    async def resources(self) -> list[ResourceLine]:
        return await self._call("resources")

    async def open(self, card: WorkerCard) -> SessionId:
        return await self._call("open", card)

    async def renew(self, session: SessionId, vitals: Vitals = Vitals()) -> Orders:  # noqa: B008 - a frozen value
        return await self._call("renew", session, vitals)

    async def overdue(self) -> list[Overdue]:
        return await self._call("overdue")

    async def end(
        self,
        session: SessionId,
        *,
        if_beat: int | None = None,
        started: Collection[Fence] | None = (),
        evidence: Evidence | None = None,
    ) -> Ended:
        return await self._call("end", session, if_beat, None if started is None else list(started), evidence)

    async def fleet(self) -> list[Member]:
        return await self._call("fleet")

    async def command(self, session: SessionId, command: Command) -> bool:
        return await self._call("command", session, command)

    async def get(
        self, ids: Sequence[Id], parts: Parts = Parts.NONE, watch: str | None = None
    ) -> list[Record | None]:
        return await self._call("get", list(ids), parts.value, watch)

    async def find(
        self,
        query: Query,
        after: Id | None = None,
        limit: int = 50,
        *,
        parts: Parts = Parts.NONE,
        ids_only: bool = False,
    ) -> Page:
        return await self._call("find", query, after, limit, parts.value, ids_only)

    async def tally(self, query: Query, most: int = 10_000) -> Tallied:
        return await self._call("tally", query, most)

    async def place(self, id: Id, most: int = 10_000) -> int | None:
        return await self._call("place", id, most)

    async def dead_groups(self, limit: int = 100) -> list[DeadGroup]:
        return await self._call("dead_groups", limit)

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        return await self._call("alter", list(ids), change)

    async def counts(self) -> Counts:
        return await self._call("counts")

    async def read(self, kind: str, names: Sequence[str]) -> list[Doc | None]:
        return await self._call("read", kind, list(names))

    async def write(self, docs: Sequence[DocWrite]) -> list[Version]:
        return await self._call("write", list(docs))

    async def scan(
        self, kind: str, after: str | None = None, limit: int = 100, prefix: str = ""
    ) -> list[Doc]:
        return await self._call("scan", kind, after, limit, prefix)

    async def stats(self) -> list[Flow]:
        return await self._call("stats")

    async def series(self, since: float, until: float | None = None, step: int = 1) -> list[Point]:
        return await self._call("series", since, until, step)

    async def notify(self, channel: str, payload: bytes = b"") -> None:
        return await self._call("notify", channel, payload)

    async def reply_channel(self) -> str:
        return await self._call("reply_channel")

    async def capabilities(self) -> Capabilities:
        return await self._call("capabilities")

    @asynccontextmanager
    async def listen(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Hint]]:
        """Hear hints; while anybody listens, nothing is restarted by itself."""
        self._place.busy += 1
        try:
            async with (self.remote or self.backend).listen(channels) as hints:
                yield hints
        finally:
            self._place.busy -= 1


class Store(Process):
    """The first process of a namespace, with the namespace's time, ids and restarts, and words for usual things."""

    @property
    def clock(self) -> ManualClock:
        return self._place.clock

    @property
    def ids(self) -> IdSource:
        return self._place.ids

    @property
    def case(self) -> tuple[Factory, Mode]:
        """Which backend this is, and how it is reached."""
        return self._place.factory, self._place.mode

    def unstarted(self) -> Any:
        """A backend on the same namespace that nobody has started."""
        place = self._place
        return place.factory.open(place.address, place.mode, place.clock, place.options, None)

    async def join(self) -> Process:
        """A second process on the same store."""
        return await self._place.join()

    async def restart(self) -> None:
        """Kill every process and open the store anew, where the mode is about that."""
        await self._place.restart()

    async def advance(self, seconds: float) -> None:
        await self._place.advance(seconds)

    async def jump(self, seconds: float) -> None:
        await self._place.jump(seconds)

    async def killed_during(self, calls: Sequence[Coroutine[Any, Any, Any]], answers: int) -> list[Any]:
        """Make calls at once and kill every process when this many were answered; the rest end as errors.

        In the other modes all of them are answered.
        """
        tasks = [asyncio.ensure_future(each) for each in calls]
        if self._place.mode == "restarted":
            while sum(task.done() for task in tasks) < answers:
                await asyncio.wait([task for task in tasks if not task.done()], return_when="FIRST_COMPLETED")
            await self.restart()
        return await asyncio.gather(*tasks, return_exceptions=True)
