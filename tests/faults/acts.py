"""One of each kind of call: what it needs beforehand, what its right answer is, and what it leaves behind, once."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from noria.backends.contract import (
    Backend,
    Change,
    DocWrite,
    Ended,
    Fence,
    Orders,
    Parts,
    Pause,
    Query,
    QueueRef,
    Verdict,
    Vitals,
    Want,
    WorkerCard,
)
from noria.ids import Id, SessionId
from noria.model.job import Lease, NewJob
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.faults.sites import CLOCK, IDS

N = 8


class Act(Protocol):
    """A call that can be made again.

    `arrange` makes what it needs; `call` makes it, and `again` repeats it after an error; `check` judges an answer
    to either; `done` says whether it has changed anything yet; `final` judges what is left behind.
    """

    async def arrange(self, sure: Backend) -> None: ...
    async def call(self, backend: Backend) -> Any: ...
    async def again(self, backend: Backend) -> Any: ...
    def check(self, answer: Any) -> None: ...
    async def done(self, sure: Backend) -> bool: ...
    async def final(self, sure: Backend) -> None: ...


class Base:
    """An act on jobs of a queue of its own."""

    def __init__(self) -> None:
        self.name = f"a{IDS.next().hex()}"
        self.jobs = [self._job(number) for number in range(N)]
        self.ids: list[Id] = [job.id for job in self.jobs]
        self.session = SessionId(0)
        self.leases: list[Lease] = []

    def _job(self, number: int) -> NewJob:
        return NewJob(
            id=IDS.next(), task="t", queue=self.name, body=b'["%s",%d]' % (self.name.encode(), number)
        )

    async def arrange(self, sure: Backend) -> None:
        await sure.push(self.jobs)

    async def call(self, backend: Backend) -> Any:
        raise NotImplementedError

    async def again(self, backend: Backend) -> Any:
        return await self.call(backend)

    async def done(self, sure: Backend) -> bool:
        return False

    async def final(self, sure: Backend) -> None:
        """It leaves nothing."""

    async def states(self, sure: Backend) -> dict[State, int]:
        counted = (await sure.counts()).queues.get(self.name)
        return {} if counted is None else {state: n for state, n in counted.states.items() if n}

    async def begin(self, sure: Backend, *, leases: bool) -> None:
        await sure.push(self.jobs)
        self.session = await sure.open(card(self.name))
        if leases:
            self.leases = (await sure.lease(self.session, [Want(self.name, N)], N, 0.0)).leases
            assert len(self.leases) == N


def card(name: str) -> WorkerCard:
    return WorkerCard(worker=name, host="h", pid=1, tasks=("t",), queues=(name,), ttl=600.0)


class Push(Base):
    async def arrange(self, sure: Backend) -> None:
        """Nothing is there yet."""

    async def call(self, backend: Backend) -> Any:
        return await backend.push(self.jobs)

    def check(self, answer: Any) -> None:
        assert [receipt.id for receipt in answer] == self.ids
        assert {receipt.status for receipt in answer} in ({"created"}, {"existing"})

    async def done(self, sure: Backend) -> bool:
        return any(await sure.get(self.ids))

    async def final(self, sure: Backend) -> None:
        assert await self.states(sure) == {State.QUEUED: N}


class LeaseSome(Base):
    async def arrange(self, sure: Backend) -> None:
        await self.begin(sure, leases=False)

    async def call(self, backend: Backend) -> Any:
        return (await backend.lease(self.session, [Want(self.name, N)], N, 0.0)).leases

    async def again(self, backend: Backend) -> Any:
        """Until all are there: the server may still be at the first call, whose jobs it holds meanwhile."""
        leases: list[Lease] = []
        while len(leases) < N:
            await backend.recall(self.session, [Fence(lease.id, lease.starts) for lease in leases])
            leases += await self.call(backend)
        return leases

    def check(self, answer: Any) -> None:
        told = sorted(answer, key=lambda lease: lease.id)
        assert [(lease.id, lease.body) for lease in told] == [(job.id, job.body) for job in self.jobs]
        assert {lease.starts for lease in told} <= {1, 2}
        self.leases = told

    async def done(self, sure: Backend) -> bool:
        return State.RUNNING in await self.states(sure)

    async def final(self, sure: Backend) -> None:
        ends = [success(lease) for lease in self.leases]
        assert await sure.settle(self.session, ends) == [Verdict.OK] * N
        assert {(lease.tally.spent, lease.tally.crashes) for lease in self.leases} == {(0, 0)}
        assert await self.states(sure) == {State.SUCCEEDED: N}


def success(lease: Lease) -> Settlement:
    return Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=lease.body)


class Settle(Base):
    async def arrange(self, sure: Backend) -> None:
        await self.begin(sure, leases=True)

    async def call(self, backend: Backend) -> Any:
        return await backend.settle(self.session, [success(lease) for lease in self.leases])

    def check(self, answer: Any) -> None:
        assert answer in ([Verdict.OK] * N, [Verdict.ALREADY] * N)

    async def done(self, sure: Backend) -> bool:
        return State.SUCCEEDED in await self.states(sure)

    async def final(self, sure: Backend) -> None:
        records = await sure.get(self.ids, Parts.RESULT | Parts.LOG)
        assert [record and (record.result, len(record.log)) for record in records] == [
            (job.body, 1) for job in self.jobs
        ]
        assert await self.states(sure) == {State.SUCCEEDED: N}


class Sweep(Base):
    def _job(self, number: int) -> NewJob:
        fields = {"expires": CLOCK.wall() + 0.02, "at": CLOCK.wall() + 0.01}
        return NewJob(id=IDS.next(), task="t", queue=self.name, body=b"[]", **fields)

    async def arrange(self, sure: Backend) -> None:
        await sure.push(self.jobs)
        await asyncio.sleep(0.03)

    async def call(self, backend: Backend) -> Any:
        return await backend.sweep(100)

    def check(self, answer: Any) -> None:
        assert answer.expired in (0, N)

    async def done(self, sure: Backend) -> bool:
        return State.EXPIRED in await self.states(sure)

    async def final(self, sure: Backend) -> None:
        assert await self.states(sure) == {State.EXPIRED: N}


class Open(Base):
    async def arrange(self, sure: Backend) -> None:
        """It needs nothing."""

    async def call(self, backend: Backend) -> Any:
        return await backend.open(card(self.name))

    def check(self, answer: Any) -> None:
        self.session = answer

    async def _mine(self, sure: Backend) -> list[SessionId]:
        return [member.session for member in await sure.fleet() if member.card.worker == self.name]

    async def done(self, sure: Backend) -> bool:
        return bool(await self._mine(sure))

    async def final(self, sure: Backend) -> None:
        mine = await self._mine(sure)
        assert self.session in mine
        assert len(mine) <= 2
        for session in mine:
            await sure.end(session, if_beat=None, started=None)


class Renew(Base):
    async def arrange(self, sure: Backend) -> None:
        self.session = await sure.open(card(self.name))

    async def call(self, backend: Backend) -> Any:
        return await backend.renew(self.session, Vitals(running=7))

    def check(self, answer: Any) -> None:
        assert answer == Orders()

    async def _seen(self, sure: Backend) -> int:
        return next(each.vitals.running for each in await sure.fleet() if each.session == self.session)

    async def done(self, sure: Backend) -> bool:
        return await self._seen(sure) == 7

    async def final(self, sure: Backend) -> None:
        assert await self._seen(sure) == 7
        await sure.end(self.session, if_beat=None, started=None)


class End(Base):
    async def arrange(self, sure: Backend) -> None:
        await self.begin(sure, leases=True)

    async def call(self, backend: Backend) -> Any:
        return await backend.end(self.session, if_beat=None, started=())

    def check(self, answer: Any) -> None:
        assert answer in (Ended(True, True, 0, N), Ended(True, False, 0, N))

    async def done(self, sure: Backend) -> bool:
        return any(member.session == self.session for member in await sure.fleet()) is False

    async def final(self, sure: Backend) -> None:
        await sure.sweep(100)
        assert await self.states(sure) == {State.QUEUED: N}


class Get(Base):
    async def call(self, backend: Backend) -> Any:
        return await backend.get(self.ids, Parts.BODY)

    def check(self, answer: Any) -> None:
        assert [(record.id, record.body) for record in answer] == [(job.id, job.body) for job in self.jobs]


class Find(Base):
    async def call(self, backend: Backend) -> Any:
        return await backend.find(Query(queues=(self.name,)), limit=N, parts=Parts.BODY)

    def check(self, answer: Any) -> None:
        assert [(each.id, each.body) for each in answer.records] == [
            (job.id, job.body) for job in reversed(self.jobs)
        ]


class Alter(Base):
    async def call(self, backend: Backend) -> Any:
        return await backend.alter(self.ids, Change(kind="cancel", note="no more"))

    def check(self, answer: Any) -> None:
        assert [(each.status, each.state) for each in answer] == [("done", State.CANCELLED)] * N

    async def done(self, sure: Backend) -> bool:
        return State.CANCELLED in await self.states(sure)

    async def final(self, sure: Backend) -> None:
        assert await self.states(sure) == {State.CANCELLED: N}


class Count(Base):
    async def call(self, backend: Backend) -> Any:
        return await backend.counts()

    def check(self, answer: Any) -> None:
        assert answer.queues[self.name].states == {State.QUEUED: N}

    async def final(self, sure: Backend) -> None:
        # The next answer is as long as this one.
        await sure.alter(self.ids, Change(kind="cancel"))
        await sure.alter(self.ids, Change(kind="erase"))


class Steer(Base):
    async def call(self, backend: Backend) -> Any:
        return await backend.steer(QueueRef(self.name), Pause(reason="full"))

    def check(self, answer: Any) -> None:
        assert answer.paused is not None
        assert answer.paused.reason == "full"

    async def done(self, sure: Backend) -> bool:
        return (await sure.counts()).queues[self.name].paused is not None

    async def final(self, sure: Backend) -> None:
        assert await self.done(sure)


class Documents(Base):
    def writes(self) -> list[DocWrite]:
        return [DocWrite(self.name, f"d{at}", job.body) for at, job in enumerate(self.jobs)]

    async def arrange(self, sure: Backend) -> None:
        await sure.write(self.writes())

    def check(self, answer: Any) -> None:
        assert [(doc.kind, doc.name, doc.data) for doc in answer] == [
            (each.kind, each.name, each.data) for each in self.writes()
        ]


class Read(Documents):
    async def call(self, backend: Backend) -> Any:
        return await backend.read(self.name, [each.name for each in self.writes()])


class Scan(Documents):
    async def call(self, backend: Backend) -> Any:
        return await backend.scan(self.name)


class Write(Documents):
    async def arrange(self, sure: Backend) -> None:
        """Nothing is there yet."""

    async def call(self, backend: Backend) -> Any:
        return await backend.write(self.writes())

    def check(self, answer: Any) -> None:
        assert len(answer) == N
        assert all(version > 0 for version in answer)

    async def done(self, sure: Backend) -> bool:
        return bool(await sure.scan(self.name))

    async def final(self, sure: Backend) -> None:
        super().check(await sure.scan(self.name))


class Notify(Base):
    async def arrange(self, sure: Backend) -> None:
        """Nobody listens: what is heard, and what is not, is told of elsewhere."""

    async def call(self, backend: Backend) -> Any:
        return await backend.notify(f"queue:{self.name}", b"0")

    def check(self, answer: Any) -> None:
        assert answer is None


ACTS: dict[str, type[Any]] = {
    "push": Push,
    "lease": LeaseSome,
    "settle": Settle,
    "sweep": Sweep,
    "open": Open,
    "renew": Renew,
    "end": End,
    "get": Get,
    "find": Find,
    "alter": Alter,
    "counts": Count,
    "steer": Steer,
    "read": Read,
    "write": Write,
    "scan": Scan,
    "notify": Notify,
}
