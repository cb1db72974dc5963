"""In which order ready jobs are leased."""

from __future__ import annotations

import pytest

from noria.model.limits import AGEING
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import enqueue, new, one
from tests.contract.workers import settle, take, take_all, worker


async def test_a_thousand_jobs_of_one_instant_come_in_the_order_of_publication(store: Store) -> None:
    """T13."""
    jobs = [new(store) for _ in range(1_000)]
    for start in range(0, 1_000, 100):
        await store.push(jobs[start : start + 100])

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [job.id for job in jobs]


async def test_ties_are_broken_by_id_whatever_the_order_of_the_push(store: Store) -> None:
    jobs = [new(store) for _ in range(20)]
    await store.push(jobs[::-1])

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [job.id for job in jobs]


async def test_the_oldest_job_comes_first(store: Store) -> None:
    first = await one(store)
    await store.advance(1)
    second = await one(store)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [first, second]


async def test_the_highest_priority_comes_first(store: Store) -> None:
    jobs = [new(store, priority=priority) for priority in (0, -9, 9, 1, -1)]
    await store.push(jobs)

    leases = await take_all(store, await worker(store))

    assert [lease.priority for lease in leases] == [9, 1, 0, -1, -9]


async def test_priority_is_strict_within_an_hour_of_waiting(store: Store) -> None:
    old = await one(store)
    await store.advance(AGEING - 1)
    urgent = await one(store, priority=1)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [urgent, old]


async def test_an_hour_of_waiting_is_worth_one_step_of_priority(store: Store) -> None:
    old = await one(store)
    await store.advance(AGEING + 1)
    urgent = await one(store, priority=1)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [old, urgent]


async def test_a_delayed_job_takes_its_place_by_when_it_was_due(store: Store) -> None:
    late = await one(store, delay=20)
    early = await one(store, delay=10)
    await store.advance(15)
    middle = await one(store)
    await store.advance(10)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [early, middle, late]


async def test_a_retried_job_takes_its_place_by_when_it_is_due_again(store: Store) -> None:
    first = await one(store)
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease, State.RETRYING, delay=10)
    second = await one(store)
    await store.advance(20)
    third = await one(store)

    leases = await take_all(store, session)

    assert [each.id for each in leases] == [second, first, third]


@pytest.mark.parametrize("limit", [1, 7])
async def test_the_order_holds_over_many_small_leases(store: Store, limit: int) -> None:
    ids = await enqueue(store, 40)
    session = await worker(store)

    leases = [lease.id for _ in range(40) for lease in await take(store, session, limit)]

    assert leases == ids


async def test_a_queue_is_not_held_up_by_another(store: Store) -> None:
    await enqueue(store, 2_000, queue="busy")
    id = await one(store, queue="quiet")

    leases = await take(store, await worker(store), queue="quiet")

    assert [lease.id for lease in leases] == [id]
