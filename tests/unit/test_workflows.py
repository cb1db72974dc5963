"""Nothing waits for ever: random graphs of jobs, and everything that can befall them (faults.md D17)."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noria.backends.contract import Change, Verdict, Want, WorkerCard
from noria.ids import Id, IdSource, SessionId
from noria.model.job import Extras, Lease, NewJob
from noria.model.outcome import Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import FINAL, State
from noria.testing.play import make_store
from tests.support.manual import ManualClock

QUEUE: Final = "q"
ENDS: Final = {
    State.SUCCEEDED: Outcome.SUCCEEDED,
    State.FAILED: Outcome.FAILED,
    State.CANCELLED: Outcome.CANCELLED,
    State.EXPIRED: Outcome.TIMED_OUT,
    State.RETRYING: Outcome.FAILED,
    State.QUEUED: Outcome.RELEASED,
}


class World:
    """A store, a graph of jobs in it, and what is known of how they ended first."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.clock = ManualClock()
        self.ids = IdSource(self.clock)
        self.store: Any = make_store(self.clock, self.ids)
        self.jobs: list[NewJob] = []
        self.ended: dict[Id, State] = {}
        self.begun: set[Id] = set()
        self.session = SessionId(0)

    async def open(self) -> None:
        await self.store.start()
        await self.begin()

    async def begin(self) -> None:
        card = WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=(QUEUE,))
        self.session = await self.store.open(card)

    def draft(self) -> NewJob:
        """A job that waits for some of those that were there before it; often in another push than they were."""
        rng = self.rng
        before = [job.id for job in self.jobs]
        parents = rng.sample(before, min(len(before), rng.choice((0, 1, 1, 2, 3))))
        extras = Extras(
            after=tuple(parent.hex() for parent in parents),
            on=rng.choice(("success", "success", "complete", "failure")),
        )
        job = NewJob(
            id=self.ids.next(), task="t", queue=QUEUE, body=b"{}", crash_budget=rng.choice((1, 3)), extras=extras,
            keep=rng.choice((None, None, 0.0)), attempts=3,
            expires=self.clock.wall() + 5 if rng.random() < 0.2 else None,
        )  # fmt: skip
        self.jobs.append(job)
        return job

    async def push(self) -> None:
        drafts = [self.draft() for _ in range(self.rng.randint(1, 4))]
        for job, receipt in zip(drafts, await self.store.push(drafts), strict=True):
            if receipt.status == "rejected":
                # Its parent's record is gone altogether.
                self.jobs.remove(job)
        await self.look()

    async def lease(self) -> list[Lease]:
        batch = await self.store.lease(self.session, [Want(QUEUE, 4)], 4, 0.0)
        leases: list[Lease] = batch.leases
        for lease in leases:
            self.check_may_run(lease)
        return leases

    def check_may_run(self, lease: Lease) -> None:
        """It never begins before those that it waits for have ended as they must."""
        ends = [self.ended.get(Id(bytes.fromhex(parent))) for parent in lease.extras.after]
        assert None not in ends, "it begins before a job that it waits for has ended"
        good = all(end is State.SUCCEEDED for end in ends)
        if ends and lease.extras.on != "complete":
            assert good is (lease.extras.on == "success")
        self.begun.add(lease.id)

    async def work(self, *, only: State | None = None) -> None:
        for lease in await self.lease():
            state = only or self.rng.choice(list(ENDS))
            result = b"1" if state is State.SUCCEEDED else None
            failure = None if state is State.SUCCEEDED else Failure("exception", "it broke")
            end = Settlement(lease.id, lease.starts, ENDS[state], state, 1.0, result, failure=failure)
            assert await self.store.settle(self.session, [end]) == [Verdict.OK]
            if state in FINAL:
                self.ended.setdefault(lease.id, state)
            await self.look()

    async def crash(self) -> None:
        await self.lease()
        await self.store.end(self.session, if_beat=None, started=None)
        await self.begin()
        await self.look()

    async def change(self) -> None:
        if self.jobs:
            kind = self.rng.choice(("cancel", "erase", "erase"))
            await self.store.alter([self.rng.choice(self.jobs).id], Change(kind=kind))
            await self.look()

    async def sweep(self) -> None:
        self.clock.advance(self.rng.choice((0.0, 1.0, 6.0)))
        while (await self.store.sweep(self.rng.choice((1, 2, 1_000)))).more:
            await self.look()
        await self.look()

    async def look(self) -> None:
        """Remember how each job ended first; those that are erased at success are known from their settle."""
        for job, record in zip(self.jobs, await self.store.get([job.id for job in self.jobs]), strict=True):
            if record is not None and record.state.final:
                self.ended.setdefault(job.id, record.state)

    async def live(self) -> int:
        records = await self.store.get([job.id for job in self.jobs])
        return sum(record is not None and not record.state.final for record in records)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 32), steps=st.integers(5, 40))
async def test_no_graph_of_jobs_hangs_or_begins_too_early(seed: int, steps: int) -> None:
    world = World(seed)
    await world.open()
    try:
        for _ in range(steps):
            act = world.rng.choice(
                (world.push, world.push, world.work, world.work, world.sweep, world.change, world.crash)
            )
            await act()
        for _ in range(200):
            if not await world.live():
                break
            await world.sweep()
            await world.work(only=world.rng.choice((State.SUCCEEDED, State.SUCCEEDED, State.FAILED)))
            world.clock.advance(2)
        assert await world.live() == 0, "a job waits for ever"
        for job in world.jobs:
            assert job.id in world.ended
    finally:
        await world.store.aclose()


@pytest.mark.parametrize("how", [State.FAILED, State.CANCELLED, State.EXPIRED], ids=lambda state: state.word)
async def test_a_group_ends_with_its_last_member_however_that_ends(how: State) -> None:
    world = World(1)
    await world.open()
    try:
        members = [NewJob(id=world.ids.next(), task="t", queue=QUEUE, body=b"{}") for _ in range(3)]
        names = tuple(member.id.hex() for member in members)
        callbacks = [
            NewJob(id=world.ids.next(), task="t", queue="later", body=b"{}", extras=Extras(after=names, on=on))
            for on in ("success", "complete", "failure")
        ]  # fmt: skip
        await world.store.push([*members, *callbacks])
        leases = await world.lease()
        for lease in leases[:-1]:
            end = Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")
            await world.store.settle(world.session, [end])
        last = Settlement(
            leases[-1].id, leases[-1].starts, ENDS[how], how, failure=Failure("fail", "it broke")
        )
        await world.store.settle(world.session, [last])
        states = [record.state for record in await world.store.get([job.id for job in callbacks])]
    finally:
        await world.store.aclose()

    assert states == [State.CANCELLED, State.QUEUED, State.QUEUED]
