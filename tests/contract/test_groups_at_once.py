"""Groups and resources while several processes push, lease and settle at once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from noria.backends.contract import Change, Verdict, Want, WorkerCard
from noria.ids import Id, SessionId
from noria.model.groups import Grouped, GroupRef, Need, Rate, Rule
from noria.model.job import Lease, NewJob
from noria.model.outcome import Outcome
from noria.model.state import State
from tests.contract.conftest import needs
from tests.contract.store import Process, Store
from tests.contract.words import QUEUE, TASK, new, record, swept
from tests.contract.workers import end

pytestmark = needs("groups")

GROUPS = 6
JOBS = 120
RULES = {
    "one": Rule(limit=1),
    "three": Rule(limit=3),
    "line": Rule(ordered=True),
    "fair": Rule(),
    "often": Rule(limit=4, rate=Rate(1_000, 1.0, burst=50)),
}
TUNNEL = Need("tunnel", capacity=2)
SCREEN = Need("screen", capacity=1)


class Watch:
    """What runs at this moment, as those know who lease and settle."""

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self.most: dict[str, int] = {"tunnel": 2, "screen": 1}
        self.holds: dict[Id, list[str]] = {}
        self.done: set[Id] = set()

    def know(self, job: NewJob) -> None:
        """What a job holds while it runs."""
        holds = [need.name for need in job.needs]
        if job.group is not None:
            name = f"{job.group.ref.family}:{job.group.ref.key}"
            holds.append(name)
            rule = job.group.rule
            self.most[name] = (rule.most if rule is not None else None) or JOBS
        self.holds[job.id] = holds

    def start(self, id: Id) -> None:
        for name in self.holds[id]:
            self.running[name] += 1
            assert self.running[name] <= self.most[name], f"too many of {name} run"

    def stop(self, id: Id) -> None:
        self.running.subtract(self.holds[id])


def jobs_of(store: Store, rng: random.Random) -> list[NewJob]:
    """Jobs of all kinds of groups and needs."""
    made = []
    for _ in range(JOBS):
        family = rng.choice([*RULES, ""])
        group = Grouped(GroupRef(family, str(rng.randrange(GROUPS))), RULES[family]) if family else None
        wanted = rng.choice([(), (), (TUNNEL,), (SCREEN, TUNNEL)])
        made.append(new(store, group=group, needs=wanted, crash_budget=JOBS))
    return made


async def work(process: Process, session: SessionId, watch: Watch, rng: random.Random) -> None:
    """Lease and settle until all is done; some are given back, or tried again."""
    while len(watch.done) < len(watch.holds):
        leases = (await process.lease(session, [Want(QUEUE, rng.randint(1, 8))], 8)).leases
        for lease in leases:
            watch.start(lease.id)
        await asyncio.sleep(0)
        if leases:
            await settle_some(process, session, watch, leases, rng)
        else:
            await process.sweep()


async def settle_some(
    process: Process, session: SessionId, watch: Watch, leases: list[Lease], rng: random.Random
) -> None:
    ends = []
    for lease in leases:
        watch.stop(lease.id)
        if rng.random() < 0.2:
            ends.append(end(lease, State.QUEUED, outcome=Outcome.RELEASED))
        else:
            ends.append(end(lease))
    assert set(await process.settle(session, ends)) == {Verdict.OK}
    watch.done |= {each.id for each in ends if each.state is State.SUCCEEDED}


async def push(process: Process, jobs: list[NewJob], rng: random.Random) -> None:
    while jobs:
        portion, jobs = jobs[:7], jobs[7:]
        receipts = await process.push(portion)
        assert [receipt.status for receipt in receipts] == ["created"] * len(portion)
        await process.alter([rng.choice(portion).id], Change(kind="edit", priority=rng.randint(-9, 9)))


@pytest.mark.store(restarts=False)
async def test_no_limit_is_passed_and_nothing_is_left_behind(store: Store) -> None:
    """K2, K6: places and tokens are those of all processes, and each comes back once."""
    rng = random.Random(5)
    processes: list[Process] = [store, await store.join(), await store.join()]
    card = WorkerCard(worker="w", host="h", pid=7, tasks=(TASK,), queues=(QUEUE,), ttl=9_999.0)
    sessions = [await process.open(card) for process in processes]
    jobs, watch = jobs_of(store, rng), Watch()
    for job in jobs:
        watch.know(job)

    async with asyncio.timeout(240.0), asyncio.TaskGroup() as tasks:
        tasks.create_task(let_time_pass(store, watch))
        for place, process in enumerate(processes):
            tasks.create_task(push(process, jobs[place::3], random.Random(place)))
            tasks.create_task(work(process, sessions[place], watch, random.Random(10 + place)))

    assert (await record(store, jobs[0].id)).state is State.SUCCEEDED
    await store.advance(3_600.0)
    await swept(store)
    assert await store.groups() == []
    assert {line.need.name: line.used for line in await store.resources()} == {"screen": 0, "tunnel": 0}
    assert (await store.counts()).queues[QUEUE].states == {State.SUCCEEDED: JOBS}


async def let_time_pass(store: Store, watch: Watch) -> None:
    """Let time pass, by which rates allow more."""
    while len(watch.done) < len(watch.holds):
        await store.advance(0.01)
        await asyncio.sleep(0.005)
