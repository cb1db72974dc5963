"""Jobs that wait for their time."""

from __future__ import annotations

import pytest

from noria.model.limits import MAX_BATCH
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import enqueue, one, record, state, swept
from tests.contract.workers import batch, settle, take, take_all, worker

DAY = 86_400.0


async def test_a_delayed_job_is_not_leased_early(store: Store) -> None:
    await one(store, delay=10)
    session = await worker(store)
    await store.advance(9.99)

    assert await take(store, session) == []


async def test_a_delayed_job_is_leased_once_it_is_due(store: Store) -> None:
    """T12."""
    id = await one(store, delay=10)
    await store.restart()
    await store.advance(10)

    assert [lease.id for lease in await take(store, await worker(store))] == [id]


async def test_a_job_for_a_point_in_time_is_leased_then(store: Store) -> None:
    id = await one(store, at=store.clock.wall() + 10)
    session = await worker(store)
    await store.advance(9.9)
    early = await take(store, session)
    await store.advance(0.2)

    assert (early, [lease.id for lease in await take(store, session)]) == ([], [id])


@pytest.mark.parametrize("days", [25, 50, 60, 3_650], ids=lambda days: f"{days} days")
async def test_a_delay_may_be_longer_than_any_counter_of_milliseconds(store: Store, days: float) -> None:
    """T11."""
    id = await one(store, delay=days * DAY)
    session = await worker(store)
    await store.advance(days * DAY - 1)
    early = await take(store, session)
    await store.advance(2)

    assert (early, [lease.id for lease in await take(store, session)]) == ([], [id])


async def test_five_thousand_jobs_due_at_once_all_arrive_in_order(store: Store) -> None:
    """B19."""
    ids = await enqueue(store, 5_000, delay=10)
    await store.advance(11)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == ids


async def test_a_lease_promotes_a_bounded_number(store: Store) -> None:
    await enqueue(store, 5_000, delay=10)
    await store.advance(11)

    (lease,) = await take(store, await worker(store), 1)

    states = (await store.counts()).queues[lease.queue].states
    assert states.get(State.QUEUED, 0) + 1 <= MAX_BATCH
    assert states[State.SCHEDULED] >= 4_000


async def test_a_sweep_promotes_a_bounded_number_and_says_that_there_is_more(store: Store) -> None:
    ids = await enqueue(store, 2_500, delay=10)
    await store.advance(11)

    seen = [await store.sweep(1_000) for _ in range(3)]

    assert [each.promoted for each in seen] == [1_000, 1_000, 500]
    assert [each.more for each in seen] == [True, True, False]
    assert await state(store, ids[-1]) is State.QUEUED


async def test_a_sweep_tells_when_the_next_job_is_due(store: Store) -> None:
    await one(store, delay=7, queue="a")
    await one(store, delay=5, queue="b")

    assert (await store.sweep()).next_due == pytest.approx(5, abs=0.01)


async def test_a_sweep_of_nothing_tells_of_nothing(store: Store) -> None:
    await one(store)

    swept = await store.sweep()

    assert (swept.done, swept.more, swept.next_due) == (0, False, None)


async def test_a_retry_waits_for_its_delay(store: Store) -> None:
    id = await one(store)
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease, State.RETRYING, delay=30)
    await store.advance(29)
    early = await take(store, session)
    await store.advance(2)

    assert (early, [each.id for each in await take(store, session)]) == ([], [id])


async def test_a_retry_without_delay_can_be_leased_at_once(store: Store) -> None:
    id = await one(store)
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease, State.RETRYING)

    assert [each.id for each in await take(store, session)] == [id]


async def test_a_due_job_and_one_that_is_not_are_told_apart(store: Store) -> None:
    due = await one(store, delay=5)
    await one(store, delay=15)
    await store.advance(6)

    found = await batch(store, await worker(store))

    assert [lease.id for lease in found.leases] == [due]
    assert found.next_due == pytest.approx(9, abs=0.01)


async def test_a_record_tells_when_its_job_is_due(store: Store) -> None:
    now = store.clock.wall()
    id = await one(store, delay=5)
    await store.advance(6)
    await swept(store)

    found = await record(store, id)

    assert (found.state, found.due) == (State.QUEUED, pytest.approx(now + 5))
