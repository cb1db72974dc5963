"""Enqueueing: durable on return, once for each id, at most one live job for each unique key."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from math import nan
from typing import Any

import pytest

from noria.backends.contract import Change, Parts
from noria.errors import Unknown
from noria.ids import Id, IdSource
from noria.model.backoff import Backoff
from noria.model.job import Extras, Receipt
from noria.model.state import FINAL, State
from tests.contract.store import Process, Store
from tests.contract.words import QUEUE, enqueue, new, one, record, state, swept
from tests.contract.workers import crash, running, settle, take, take_all, worker


async def test_a_pushed_job_is_there_after_a_restart(store: Store) -> None:
    job = new(store)

    receipts = await store.push([job])
    await store.restart()

    assert receipts == [Receipt("created", job.id)]
    assert await state(store, job.id) is State.QUEUED


async def test_a_record_tells_everything_that_was_pushed(store: Store) -> None:
    extras = Extras(timeout=3.5, retry=Backoff(base=2), tags=("a", "b c"), correlation_id="order 7")
    job = new(
        store,
        body=b"\x00\x01\xff",
        codec="msgpack",
        priority=-3,
        expires=store.clock.wall() + 60,
        deadline=store.clock.wall() + 90,
        attempts=7,
        crash_budget=2,
        unique="key",
        keep=5.0,
        extras=extras,
    )
    await store.push([job])
    await store.restart()

    found = await record(store, job.id, Parts.BODY)

    assert (found.task, found.queue, found.priority) == (job.task, job.queue, -3)
    assert (found.body, found.codec, found.extras) == (job.body, "msgpack", extras)
    assert (found.expires, found.deadline, found.keep) == (job.expires, job.deadline, 5.0)
    assert (found.tally.attempts, found.tally.crash_budget, found.unique) == (7, 2, "key")
    assert (found.starts, found.session, found.began, found.finished) == (0, 0, None, None)
    assert found.created == pytest.approx(store.clock.wall())


async def test_each_job_of_a_push_has_its_own_options_and_arguments(store: Store) -> None:
    """Whatever stands before it in the call: one that is alike, another, one that is refused, or one that exists."""
    kinds: list[dict[str, Any]] = [
        {"priority": 3},
        {"priority": 3},
        {"codec": "msgpack"},
        {"unique": "k"},
        {},
    ]
    kinds += [{"queue": "other"}, {"unique": "k"}, {"unique": "l"}, {"at": nan}, {"delay": 60.0}, {}, {}]
    jobs = [new(store, body=b"[%d]" % n, **kind) for n, kind in enumerate(kinds)]

    receipts = await store.push(jobs)
    found = [await record(store, jobs[n].id, Parts.BODY) for n in range(len(jobs)) if n not in (6, 8)]

    assert [n for n, receipt in enumerate(receipts) if receipt.status != "created"] == [6, 8]
    wanted = [job for n, job in enumerate(jobs) if n not in (6, 8)]
    told = [(each.id, each.body, each.priority, each.codec, each.unique, each.queue) for each in found]
    assert told == [(job.id, job.body, job.priority, job.codec, job.unique, job.queue) for job in wanted]
    assert [each.state is State.SCHEDULED for each in found] == [job.delay > 0 for job in wanted]


async def test_an_empty_push_is_answered_by_nothing(store: Store) -> None:
    assert await store.push([]) == []


async def test_receipts_come_in_the_order_of_the_jobs(store: Store) -> None:
    first, second = new(store), new(store)
    await store.push([second])

    receipts = await store.push([first, second, new(store)])

    assert [receipt.status for receipt in receipts] == ["created", "existing", "created"]
    assert [receipt.id for receipt in receipts[:2]] == [first.id, second.id]


async def test_a_repeated_push_is_the_same_job(store: Store) -> None:
    job = new(store)
    await store.push([job])
    await store.restart()

    receipts = await store.push([job])

    assert receipts == [Receipt("existing", job.id, "id")]
    session = await worker(store)
    assert len(await take_all(store, session)) == 1


async def test_a_repeated_push_changes_nothing(store: Store) -> None:
    job = new(store)
    await store.push([job])

    await store.push([new(store, id=job.id, body=b'["other"]', queue="other", priority=9)])

    found = await record(store, job.id, Parts.BODY)
    assert (found.body, found.queue, found.priority) == (job.body, job.queue, job.priority)


async def test_the_id_of_an_ended_job_is_not_free(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease)

    receipts = await store.push([new(store, id=lease.id)])

    assert receipts == [Receipt("existing", lease.id, "id")]
    assert await state(store, lease.id) is State.SUCCEEDED


async def test_one_id_twice_in_a_batch_is_one_job(store: Store) -> None:
    job = new(store)

    receipts = await store.push([job, job])

    assert receipts == [Receipt("created", job.id), Receipt("existing", job.id, "id")]


async def test_a_unique_key_names_the_job_that_has_it(store: Store) -> None:
    holder = await one(store, unique="k")
    other = new(store, unique="k")
    await store.restart()

    receipts = await store.push([other])

    assert receipts == [Receipt("existing", holder, "unique")]
    assert await store.get([other.id]) == [None]


async def test_one_key_twice_in_a_batch_creates_the_first(store: Store) -> None:
    first, second = new(store, unique="k"), new(store, unique="k")

    receipts = await store.push([first, second])

    assert receipts == [Receipt("created", first.id), Receipt("existing", first.id, "unique")]


async def test_the_same_key_of_another_task_is_another_key(store: Store) -> None:
    await one(store, unique="k")

    receipts = await store.push([new(store, unique="k", task="other")])

    assert receipts[0].status == "created"


async def test_jobs_without_a_key_never_collide(store: Store) -> None:
    await enqueue(store, 50, unique=None)

    assert len(await take_all(store, await worker(store))) == 50


@pytest.mark.parametrize(
    "stop", [State.SCHEDULED, State.RUNNING, State.RETRYING, State.PARKED], ids=lambda state: state.word
)
async def test_a_key_is_taken_as_long_as_its_job_lives(store: Store, stop: State) -> None:
    if stop is State.SCHEDULED:
        id = await one(store, unique="k", delay=60)
    else:
        session, lease = await running(store, unique="k")
        id = lease.id
        if stop is not State.RUNNING:
            await settle(store, session, lease, stop, delay=60)
    assert await state(store, id) is stop

    receipts = await store.push([new(store, unique="k")])

    assert receipts == [Receipt("existing", id, "unique")]


@pytest.mark.parametrize("final", sorted(FINAL), ids=lambda state: state.word)
async def test_every_outcome_of_a_start_frees_the_key(store: Store, final: State) -> None:
    session, lease = await running(store, unique="k")
    await settle(store, session, lease, final)
    await store.restart()

    receipts = await store.push([new(store, unique="k")])

    assert receipts[0].status == "created"


@pytest.mark.parametrize("way", ["cancelled", "expired", "crashed", "erased", "unknown task"])
async def test_every_other_end_frees_the_key(store: Store, way: str) -> None:
    budget = {"crash_budget": 1, "keep": 0.0, "expires": store.clock.wall() + 30}
    if way == "unknown task":
        del budget["expires"]  # it waits for as long as it may
    id = await one(store, unique="k", **budget)
    if way == "cancelled":
        await store.alter([id], Change(kind="cancel"))
    elif way == "expired":
        await store.advance(31)
        await swept(store)
    elif way == "crashed":
        await crash(store, id, 1)
    else:
        session = await worker(store)
        (lease,) = await take(store, session)
        await settle(store, session, lease, State.PARKED if way == "unknown task" else State.SUCCEEDED)
        await store.advance(15 * 86_400)
        await swept(store)

    receipts = await store.push([new(store, unique="k")])

    assert receipts[0].status == "created"


async def test_fifty_producers_of_a_thousand_keys_create_each_key_once(store: Store) -> None:
    """K4: each has the keys in an order of its own, and brings them in portions, so that all meet all the time."""
    others, rng = [store, *[await store.join() for _ in range(2)]], random.Random(4)
    stands: dict[str, set[Id]] = {f"key {key}": set() for key in range(1_000)}
    told: Counter[str] = Counter()

    async def produce(process: Process) -> None:
        keys = rng.sample(list(stands), len(stands))
        for start in range(0, len(keys), 250):
            portion = keys[start : start + 250]
            receipts = await process.push([new(store, unique=key) for key in portion])
            told.update(receipt.status for receipt in receipts)
            for key, receipt in zip(portion, receipts, strict=True):
                stands[key].add(receipt.id)

    await asyncio.gather(*(produce(others[n % len(others)]) for n in range(50)))

    assert told == {"created": 1_000, "existing": 49_000}
    assert {len(ids) for ids in stands.values()} == {1}
    assert (await store.counts()).queues[QUEUE].states == {State.QUEUED: 1_000}


async def test_five_thousand_jobs_fit_into_one_push(store: Store) -> None:
    ids = await enqueue(store, 5_000)

    assert [lease.id for lease in await take_all(store, await worker(store))] == ids


async def test_a_delay_makes_a_job_wait_by_the_stores_clock(store: Store) -> None:
    id = await one(store, delay=30.5)

    found = await record(store, id)

    assert found.state is State.SCHEDULED
    assert found.due == pytest.approx(store.clock.wall() + 30.5)


async def test_a_time_that_is_past_does_not_make_a_job_wait(store: Store) -> None:
    id = await one(store, at=store.clock.wall() - 5)

    assert await state(store, id) is State.QUEUED


async def test_a_body_that_is_too_large_is_rejected_and_its_neighbours_are_stored(store: Store) -> None:
    limit = (await store.capabilities()).max_body
    large = new(store, body=b'"' + b"x" * (limit - 1) + b'"')
    small = [new(store, body=b'"' + b"x" * (limit - 2) + b'"'), new(store)]

    receipts = await store.push([small[0], large, small[1]])

    assert [receipt.status for receipt in receipts] == ["created", "rejected", "created"]
    assert receipts[1].why != ""
    assert await store.get([large.id]) == [None]


@pytest.mark.store(restarts=False)
async def test_a_push_that_is_killed_is_stored_whole_or_not_at_all(store: Store) -> None:
    batches = [[new(store) for _ in range(20)] for _ in range(60)]

    told = await store.killed_during([store.push(each) for each in batches], answers=20)

    for jobs, answer in zip(batches, told, strict=True):
        there = [found is not None for found in await store.get([job.id for job in jobs])]
        if isinstance(answer, Unknown):
            assert len(set(there)) == 1
        else:
            assert all(there)


@pytest.mark.store(restarts=False)
async def test_a_push_that_is_killed_can_be_repeated(store: Store) -> None:
    batches = [[new(store) for _ in range(20)] for _ in range(60)]
    told = await store.killed_during([store.push(each) for each in batches], answers=20)
    unheard = [jobs for jobs, answer in zip(batches, told, strict=True) if isinstance(answer, Unknown)]

    for jobs in unheard:
        await store.push(jobs)

    assert len(await take_all(store, await worker(store))) == 1_200


async def test_ids_order_jobs_and_need_not_come_from_one_process(store: Store) -> None:
    other = IdSource(store.clock)
    jobs = [new(store, id=source.next()) for source in (store.ids, other) for _ in range(20)]
    await store.push(jobs)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == sorted(job.id for job in jobs)
