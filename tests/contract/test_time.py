"""Clocks that jump: durations hold, nothing comes early, and no worker that lives is lost for good."""

from __future__ import annotations

import pytest

from noria.backends.contract import Orders, Verdict
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import one, state, swept
from tests.contract.workers import running, settle, take, take_all, worker

DAY, HOUR = 86_400.0, 3_600.0


async def test_after_a_jump_forward_a_session_is_suspected_and_lives_by_renewing(store: Store) -> None:
    """T4."""
    session, lease = await running(store)
    await store.jump(DAY)

    suspected = await store.overdue()

    assert [each.session for each in suspected] == [session]
    assert await store.renew(session) == Orders()
    assert (await store.end(session, if_beat=suspected[0].beat)).ended is False
    assert await settle(store, session, lease) is Verdict.OK


async def test_after_a_jump_back_a_deadline_that_is_impossibly_far_is_suspected(store: Store) -> None:
    """T4."""
    session = await worker(store, ttl=10.0)
    await store.jump(-HOUR)

    assert [each.session for each in await store.overdue()] == [session]


async def test_after_a_jump_back_a_renewal_sets_things_right(store: Store) -> None:
    session = await worker(store, ttl=10.0)
    await store.jump(-HOUR)
    await store.renew(session)

    assert await store.overdue() == []


async def test_a_small_step_back_suspects_nobody(store: Store) -> None:
    await worker(store, ttl=10.0)
    await store.jump(-5)

    assert await store.overdue() == []


async def test_a_dead_session_is_found_after_any_jump(store: Store) -> None:
    for jump in (DAY, -HOUR, -DAY):
        session = await worker(store)
        await store.jump(jump)
        (seen,) = [each for each in await store.overdue() if each.session == session]
        assert (await store.end(session, if_beat=seen.beat)).first


async def test_a_jump_back_never_makes_a_delayed_job_run_early(store: Store) -> None:
    await one(store, delay=60)
    await store.jump(-HOUR)
    await store.advance(120)

    assert await take(store, await worker(store)) == []


@pytest.mark.parametrize("jump", [DAY, -HOUR], ids=["a day forward", "an hour back"])
async def test_ready_jobs_stay_ready_through_a_jump(store: Store, jump: float) -> None:
    id = await one(store)
    await store.jump(jump)

    assert [lease.id for lease in await take(store, await worker(store))] == [id]


async def test_jobs_that_were_ready_before_a_jump_back_come_before_none_is_lost(store: Store) -> None:
    first = await one(store)
    await store.jump(-HOUR)
    second = await one(store)

    leases = await take_all(store, await worker(store))

    assert {lease.id for lease in leases} == {first, second}


async def test_a_due_job_is_promoted_once_through_jumps(store: Store) -> None:
    id = await one(store, delay=10)
    await store.jump(DAY)
    await swept(store)
    await store.jump(-DAY)
    await swept(store)
    session = await worker(store)

    leases = await take_all(store, session)

    assert [lease.id for lease in leases] == [id]


async def test_a_job_whose_deadline_is_jumped_over_expires(store: Store) -> None:
    id = await one(store, deadline=store.clock.wall() + HOUR)
    await store.jump(DAY)
    await swept(store)

    assert await state(store, id) is State.EXPIRED


async def test_ids_made_after_a_jump_back_are_still_new(store: Store) -> None:
    ids = [await one(store)]
    await store.jump(-DAY)
    ids += [await one(store) for _ in range(3)]

    assert sorted(set(ids)) == ids
