"""Sweeping: what time alone does, in bounded portions, by any number of sweepers."""

from __future__ import annotations

import asyncio

import pytest

from noria.backends.contract import Swept
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import enqueue, one, record, state, swept
from tests.contract.workers import running, settle, take_all, worker


@pytest.mark.parametrize("bound", ["expires", "deadline"])
@pytest.mark.parametrize("waiting", ["queued", "scheduled", "retrying", "parked"])
async def test_a_job_that_waits_too_long_expires(store: Store, waiting: str, bound: str) -> None:
    end = store.clock.wall() + 30
    if waiting in ("queued", "scheduled"):
        id = await one(store, delay=20 if waiting == "scheduled" else 0, **{bound: end})
    else:
        session, lease = await running(store, **{bound: end})
        id = lease.id
        await settle(
            store, session, lease, State.RETRYING if waiting == "retrying" else State.PARKED, delay=5
        )
    await store.advance(29)
    await swept(store)
    before = await state(store, id)
    await store.advance(2)
    await swept(store)

    after = await record(store, id)
    begun = waiting == "retrying" and bound == "expires"
    assert not before.final
    assert (after.state is State.EXPIRED) != begun  # it has started in time; only its deadline can end it
    if not begun:
        assert after.failure is not None
        assert after.failure.reason == ("expired" if bound == "expires" else "deadline")
        assert after.finished == pytest.approx(store.clock.wall())


async def test_a_running_job_is_not_expired_by_a_sweep(store: Store) -> None:
    """Its worker ends it, with what it knows."""
    _, lease = await running(store, deadline=store.clock.wall() + 5)
    await store.advance(60)
    await swept(store)

    assert await state(store, lease.id) is State.RUNNING


async def test_a_job_that_comes_back_after_its_deadline_expires(store: Store) -> None:
    session, lease = await running(store, deadline=store.clock.wall() + 5)
    await store.advance(60)
    await store.end(session, started=[])
    await swept(store)

    assert await state(store, lease.id) is State.EXPIRED


@pytest.mark.store(park_for=100.0)
async def test_a_task_that_nobody_knows_is_given_up_in_the_end(store: Store) -> None:
    """D8."""
    session, lease = await running(store, task="rare")
    await settle(store, session, lease, State.PARKED)
    await store.advance(99)
    await swept(store)
    before = await state(store, lease.id)
    await store.advance(2)
    await swept(store)

    after = await record(store, lease.id)
    assert before is State.PARKED
    assert (after.state, after.dead) == (State.FAILED, True)
    assert after.failure is not None
    assert after.failure.reason == "unknown_task"


@pytest.mark.store(park_for=100.0)
async def test_being_parked_again_begins_anew(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.PARKED)
    await store.advance(90)
    (lease,) = await take_all(store, session)
    await settle(store, session, lease, State.PARKED)
    await store.advance(90)
    await swept(store)

    assert await state(store, lease.id) is State.PARKED


async def test_a_sweep_says_what_it_moved(store: Store) -> None:
    now = store.clock.wall()
    await enqueue(store, 3, delay=5)
    await enqueue(store, 2, expires=now + 5)
    await store.advance(10)

    told = await store.sweep()

    assert told == Swept(promoted=3, expired=2)
    assert (await store.sweep()).done == 0


@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_a_sweep_moves_no_more_than_its_limit_of_each_kind(store: Store, limit: int) -> None:
    await enqueue(store, 30, delay=5)
    await enqueue(store, 30, expires=store.clock.wall() + 5)
    await store.advance(10)

    told = await store.sweep(limit)

    assert (told.promoted, told.expired) == (min(limit, 30), min(limit, 30))
    assert told.more == (limit < 30)


async def test_sweepers_at_once_move_each_job_once(store: Store) -> None:
    await enqueue(store, 300, delay=5)
    await enqueue(store, 300, expires=store.clock.wall() + 5)
    other = await store.join()
    await store.advance(10)

    told = await asyncio.gather(*(process.sweep(50) for process in (store, other) * 10))

    assert sum(each.promoted for each in told) == 300
    assert sum(each.expired for each in told) == 300


async def test_a_sweep_that_is_repeated_changes_nothing(store: Store) -> None:
    id = await one(store, delay=5)
    await store.advance(10)
    await swept(store)
    before = await record(store, id)

    await swept(store)

    assert await record(store, id) == before


@pytest.mark.store(restarts=False)
async def test_a_sweep_that_is_killed_is_finished_by_the_next(store: Store) -> None:
    ids = await enqueue(store, 3_000, delay=5)
    await store.advance(10)

    await store.killed_during([store.sweep(100) for _ in range(20)], answers=5)
    await swept(store)

    assert [lease.id for lease in await take_all(store, await worker(store))] == ids
