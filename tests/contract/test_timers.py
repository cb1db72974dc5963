"""Timers over every backend: each slot once, whatever the number of workers, and nothing lost when one dies."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from noria.backends.contract import DocWrite, Parts, Query
from noria.errors import Unavailable, Unknown
from noria.ids import to_text
from noria.model.claim import Claim
from noria.model.job import NewJob, Record
from noria.model.schedule import KIND, Overlap, Schedule, Standing, Template
from noria.model.state import State
from noria.model.timetable import Every
from noria.worker.timer import Store as Timed
from noria.worker.timer import Timer
from tests.contract.store import Process, Store
from tests.contract.words import QUEUE, TASK
from tests.contract.workers import settle, take_all, worker

PERIOD = 10.0
KEYED = Template(task=TASK, queue=QUEUE, body=b'["a"]', unique="k")


def schedule(store: Store, **fields: Any) -> Schedule:
    template = Template(task=TASK, queue=QUEUE, body=b'["a"]')
    given: dict[str, Any] = {"rule": Every(PERIOD), "template": template, **fields}
    return Schedule(standing=Standing(store.clock.wall()), **given)


def timer(
    store: Store, process: Process | None = None, names: tuple[str, ...] = ("tick",), **fields: Any
) -> Timer:
    """A worker's timer; several of them stand for as many workers."""
    declared = {name: schedule(store, **fields) for name in names}
    place = cast(Timed, process or store)
    return Timer(store=place, declared=declared, clock=store.clock, ids=store.ids, poll=1.0)


async def jobs(store: Store) -> list[Record]:
    return list((await store.find(Query(oldest_first=True), parts=Parts.BODY)).records)


async def stored(store: Store, name: str = "tick") -> Standing:
    [doc] = await store.read(KIND, [name])
    assert doc is not None
    return msgspec.json.decode(doc.data, type=Schedule).standing


async def test_nothing_happens_before_the_first_slot(store: Store) -> None:
    one = timer(store)
    assert 0 < await one.once() <= 5.0
    assert await jobs(store) == []


async def test_a_slot_becomes_a_job_of_its_time(store: Store) -> None:
    one = timer(store)
    await one.once()
    await store.advance(PERIOD)
    await one.once()

    [job] = await jobs(store)
    assert (job.task, job.queue, job.body, job.state) == (TASK, QUEUE, b'["a"]', State.QUEUED)
    assert (job.extras.schedule, job.extras.slot) == ("tick", store.clock.wall())


async def test_a_slot_whose_unique_key_is_taken_is_skipped(store: Store) -> None:
    one = timer(store, template=KEYED)
    await store.push([NewJob(id=store.ids.next(), task=TASK, queue=QUEUE, body=b"[]", unique="k")])
    for _ in range(2):
        await one.once()
        await store.advance(PERIOD)
    await one.once()

    assert len(await jobs(store)) == 1
    assert [(entry.what, entry.count) for entry in (await stored(store)).log] == [("skipped", 2)]


async def test_a_slot_can_be_added_to_the_job_that_waits(store: Store) -> None:
    claim = Claim(until_start=True, on_conflict="keep_last")
    one = timer(store, template=replace(KEYED, claim=claim))
    waits = NewJob(id=store.ids.next(), task=TASK, queue=QUEUE, body=b"[]", unique="k", delay=60)
    await store.push([waits])
    await one.once()
    await store.advance(PERIOD)
    await one.once()

    [job] = await jobs(store)
    assert (job.id, job.body, job.state) == (waits.id, b'["a"]', State.QUEUED)
    standing = await stored(store)
    assert (standing.job, standing.log[0].what) == (to_text(waits.id), "ran")


async def test_t1_three_workers_make_one_job_of_a_slot(store: Store) -> None:
    processes = [store, await store.join(), await store.join()]
    timers = [timer(store, each) for each in processes]
    await asyncio.gather(*(each.once() for each in timers))
    for _ in range(3):
        await store.advance(PERIOD)
        await asyncio.gather(*(each.once() for each in timers))
        await asyncio.gather(*(each.once() for each in timers))
        await end_all(store)

    slots = [job.extras.slot for job in await jobs(store)]
    assert len(slots) == len(set(slots)) == 3
    assert (await stored(store)).ran == 3


async def test_many_schedules_at_once_are_each_run_by_one_of_three_workers(store: Store) -> None:
    names = tuple(f"tick{n}" for n in range(40))
    timers = [timer(store, each, names) for each in [store, await store.join(), await store.join()]]
    await asyncio.gather(*(each.once() for each in timers))
    await store.advance(PERIOD)
    for _ in range(3):
        await asyncio.gather(*(each.once() for each in timers))

    found = sorted(job.extras.schedule for job in await jobs(store))
    assert found == sorted(names)


async def test_a_slot_whose_last_job_is_live_is_skipped_and_counted(store: Store) -> None:
    one = timer(store)
    await one.once()
    for _ in range(3):
        await store.advance(PERIOD)
        await one.once()

    assert len(await jobs(store)) == 1
    assert ((await stored(store)).ran, (await stored(store)).skipped) == (1, 2)


@pytest.mark.parametrize(("overlap", "runs"), [("queue_one", 2), ("queue_all", 3)])
async def test_slots_that_wait_run_one_after_another(store: Store, overlap: Overlap, runs: int) -> None:
    one = timer(store, overlap=overlap)
    await one.once()
    for _ in range(3):
        await store.advance(PERIOD)
        await one.once()
    found = []
    for _ in range(runs):
        found.append(len([job for job in await jobs(store) if not job.state.final]))
        await end_all(store)
        await store.advance(1.0)
        await one.once()

    assert found == [1] * runs
    assert (await stored(store)).ran == runs


async def test_cancel_old_runs_after_the_end_of_what_it_cancelled(store: Store) -> None:
    one = timer(store, overlap="cancel_old")
    await one.once()
    await store.advance(PERIOD)
    await one.once()
    await store.advance(PERIOD)
    await one.once()  # the last job waits still, and is cancelled at once
    await store.advance(1.0)
    await one.once()

    old, new = await jobs(store)
    assert (old.state, new.state) == (State.CANCELLED, State.QUEUED)
    assert new.extras.slot == pytest.approx((old.extras.slot or 0) + PERIOD)


async def test_t3_after_a_time_without_workers_the_latest_slot_runs_and_the_rest_is_counted(
    store: Store,
) -> None:
    await timer(store).once()
    await store.restart()
    await store.advance(10 * PERIOD)
    await timer(store).once()

    [job] = await jobs(store)
    assert job.extras.slot == store.clock.wall()
    assert (await stored(store)).missed == 9


async def test_t8_a_schedule_that_is_edited_when_it_is_due_runs_once_as_old_or_new(store: Store) -> None:
    old = timer(store)
    await old.once()
    await store.advance(PERIOD)
    new = timer(store, jitter=2.0)
    await asyncio.gather(old.once(), new.once())
    await asyncio.gather(old.once(), new.once())

    assert len(await jobs(store)) == 1


async def test_a_document_that_cannot_be_read_stops_no_other_schedule(store: Store) -> None:
    one = timer(store, names=("bad", "good"))
    await one.once()
    await store.write([DocWrite(KIND, "bad", b"nothing")])
    await store.advance(PERIOD)
    await one.once()

    assert [job.extras.schedule for job in await jobs(store)] == ["good"]


class Faulty:
    """A store whose pushes are done, or not, and never answered."""

    def __init__(self, store: Store, *, done: bool) -> None:
        self._store, self._done, self.faults = store, done, 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def push(self, jobs: list[NewJob], docs: list[DocWrite]) -> Any:
        if not self.faults:
            return await self._store.push(jobs, docs)
        self.faults -= 1
        if self._done:
            await self._store.push(jobs, docs)
            raise Unknown("no answer")
        raise Unavailable("not reached")


@pytest.mark.parametrize("done", [True, False])
async def test_t2_a_slot_whose_write_was_not_answered_has_one_job_in_the_end(
    store: Store, done: bool
) -> None:
    one = timer(store, cast(Process, Faulty(store, done=done)))
    await one.once()
    await store.advance(PERIOD)
    with pytest.raises((Unknown, Unavailable)):
        await one.once()
    await one.once()

    assert len(await jobs(store)) == 1


async def end_all(store: Store) -> None:
    """Run every job to its end."""
    session = await worker(store)
    for lease in await take_all(store, session):
        await settle(store, session, lease)
