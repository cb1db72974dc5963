"""High water: nothing of a queue is leased while another backs up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from noria.backends.contract import Change, GroupRef, Limit, Pause, QueueLimits, QueueRef, Resume, Want
from noria.errors import InvalidOption
from noria.ids import Id
from noria.model.groups import Grouped, Rule
from noria.model.job import Extras, Lane
from noria.model.state import State
from tests.contract.conftest import needs
from tests.contract.store import Process, Store
from tests.contract.words import enqueue, one, state, swept
from tests.contract.workers import end, fence, running, settle, take, worker

LISTS, DETAILS = "lists", "details"
BOTH = (LISTS, DETAILS)
HOST = Grouped(GroupRef("host", "a"), Rule(limit=1))
GROUPS = needs("groups")


async def mark(store: Store, most: int = 2, queue: str = LISTS, other: str = DETAILS) -> QueueLimits:
    """Have a queue be held by another."""
    return (await store.steer(QueueRef(queue), Limit(high_water={other: most}))).limits


async def lists(store: Store) -> list[Id]:
    """What a worker gets of the queue that may be held; it gives it back."""
    session = await worker(store, queues=BOTH)
    leases = await take(store, session, queue=LISTS)
    await store.end(session, started=[])
    await swept(store)
    return [lease.id for lease in leases]


async def test_nothing_is_leased_while_the_other_backs_up(store: Store) -> None:
    told = await mark(store)
    (id,) = await enqueue(store, queue=LISTS)
    await enqueue(store, 1, queue=DETAILS)
    below = await lists(store)
    await enqueue(store, 1, queue=DETAILS)
    await store.restart()

    assert told == QueueLimits(high_water={DETAILS: 2})
    assert (below, await lists(store)) == ([id], [])
    assert (await store.counts()).queues[LISTS].limits == told


async def test_it_goes_on_when_enough_was_leased(store: Store) -> None:
    await mark(store)
    (id,) = await enqueue(store, queue=LISTS)
    await enqueue(store, 2, queue=DETAILS)
    session = await worker(store)
    await take(store, session, 1, queue=DETAILS)

    assert await lists(store) == [id]


async def test_a_lease_of_both_takes_what_is_not_held(store: Store) -> None:
    await mark(store)
    await enqueue(store, 3, queue=LISTS)
    details = await enqueue(store, 3, queue=DETAILS)
    session = await worker(store)
    wants = [Want(LISTS, 3), Want(DETAILS, 1)]

    first = await store.lease(session, wants, 4, 0.0)
    then = await store.lease(session, wants, 4, 0.0)

    assert [lease.id for lease in first.leases] == details
    assert [lease.queue for lease in then.leases] == [LISTS] * 3


@pytest.mark.parametrize("lane", list(Lane))
async def test_every_lane_is_held(store: Store, lane: Lane) -> None:
    await mark(store)
    await one(store, queue=LISTS, lane=lane)
    await enqueue(store, 2, queue=DETAILS)
    session = await worker(store)

    assert (await store.lease(session, [Want(LISTS, 1, lane=lane)], 1, 0.0)).leases == []


@GROUPS
async def test_what_has_a_group_a_need_or_was_parked_is_held_too(store: Store) -> None:
    for _ in range(2):
        session, lease = await running(store, queue=LISTS)
        await store.end(session, started=[fence(lease)])
        await swept(store)
    session, lease = await running(store, queue="other")
    await settle(store, session, lease, State.PARKED)
    await store.alter([lease.id], Change(kind="move", queue=LISTS))
    await one(store, queue=LISTS, group=HOST)
    await mark(store)
    await enqueue(store, 2, queue=DETAILS)

    assert await lists(store) == []


async def test_what_runs_goes_on_and_what_waits_moves_in_time(store: Store) -> None:
    await mark(store)
    session = await worker(store)
    running = await one(store, queue=LISTS)
    (lease,) = await take(store, session, queue=LISTS)
    later, late = (
        await one(store, queue=LISTS, delay=5),
        await one(store, queue=LISTS, expires=store.clock.wall() + 5),
    )
    await enqueue(store, 2, queue=DETAILS)
    await store.advance(6)
    await swept(store)
    await settle(store, session, lease)

    found = [await state(store, id) for id in (running, later, late)]

    assert found == [State.SUCCEEDED, State.QUEUED, State.EXPIRED]


# ---- what counts


async def test_what_waits_for_its_time_does_not_count(store: Store) -> None:
    await mark(store)
    (id,) = await enqueue(store, queue=LISTS)
    await enqueue(store, 5, queue=DETAILS, delay=60)
    await enqueue(store, 1, queue=DETAILS)
    session = await worker(store)
    (lease,) = await take(store, session, queue=DETAILS)
    await settle(store, session, lease, State.RETRYING, delay=60.0)
    before = await lists(store)
    await store.advance(61)
    await swept(store)

    assert (before, await lists(store)) == ([id], [])


@GROUPS
async def test_what_waits_in_line_for_its_group_counts(store: Store) -> None:
    await mark(store)
    await enqueue(store, queue=LISTS)
    for _ in range(2):
        await one(store, queue=DETAILS, group=HOST)

    assert await lists(store) == []


async def test_jobs_that_all_wait_for_held_ones_hold_nothing(store: Store) -> None:
    await mark(store)
    parents = await enqueue(store, 3, queue=LISTS)
    for parent in parents:
        await one(store, queue=DETAILS, extras=Extras(after=(parent.hex(),)))

    assert await lists(store) == parents


@GROUPS
async def test_a_place_that_a_held_job_has_comes_free(store: Store) -> None:
    await mark(store)
    (id,) = await enqueue(store, queue=LISTS, group=HOST)
    await enqueue(store, 3, queue=DETAILS, group=HOST)

    assert await lists(store) == [id]


async def test_a_paused_queue_still_holds_others(store: Store) -> None:
    await mark(store)
    await enqueue(store, queue=LISTS)
    await enqueue(store, 2, queue=DETAILS)
    await store.steer(QueueRef(DETAILS), Pause())
    paused = await lists(store)
    await store.steer(QueueRef(DETAILS), Resume())

    assert (paused, await lists(store)) == ([], [])


async def test_one_of_several_is_enough(store: Store) -> None:
    await store.steer(QueueRef(LISTS), Limit(high_water={DETAILS: 2, "images": 3}))
    (id,) = await enqueue(store, queue=LISTS)
    await enqueue(store, 1, queue=DETAILS)
    await enqueue(store, 2, queue="images")
    before = await lists(store)
    await enqueue(store, 1, queue="images")

    assert (before, await lists(store)) == ([id], [])


# ---- waking


@pytest.mark.store(restarts=False, poll=10.0)
@pytest.mark.parametrize("how", ["lease", "cancel", "lift", "raise"])
async def test_a_worker_that_waits_hears_that_a_queue_is_held_no_longer(store: Store, how: str) -> None:
    await mark(store)
    (id,) = await enqueue(store, queue=LISTS)
    details = await enqueue(store, 2, queue=DETAILS)
    session, other = await worker(store), await store.join()
    waiting = asyncio.create_task(store.lease(session, [Want(LISTS, 1)], 1, 9.0))
    await asyncio.sleep(0.2)

    if how == "lease":
        await other.lease(await worker(store), [Want(DETAILS, 1)], 1, 0.0)
    elif how == "cancel":
        await other.alter(details[:1], Change(kind="cancel"))
    else:
        marks = None if how == "lift" else {DETAILS: 3}
        await other.steer(QueueRef(LISTS), Limit(high_water=marks))

    assert [lease.id for lease in (await asyncio.wait_for(waiting, 8)).leases] == [id]


@pytest.mark.store(restarts=False, poll=10.0)
async def test_a_worker_that_waits_hears_that_nothing_goes_on_in_the_other(store: Store) -> None:
    await mark(store)
    parents = await enqueue(store, 2, queue=LISTS)
    for parent in parents:
        await one(store, queue=DETAILS, extras=Extras(after=(parent.hex(),)))
    await one(store, queue=DETAILS)
    session, busy = await worker(store), await worker(store)
    (lease,) = await take(store, busy, queue=DETAILS)
    waiting = asyncio.create_task(store.lease(session, [Want(LISTS, 2)], 2, 9.0))
    await asyncio.sleep(0.2)

    await settle(store, busy, lease)

    assert [each.id for each in (await asyncio.wait_for(waiting, 8)).leases] == parents


async def test_many_workers_at_once_lease_nothing_that_is_held(store: Store) -> None:
    await mark(store, 40)
    await enqueue(store, 30, queue=LISTS)
    await enqueue(store, 100, queue=DETAILS)
    stores = [store, *[await store.join() for _ in range(3)]]
    done: list[str] = []

    async def work(where: Process) -> None:
        session = await worker(store)
        while len(done) < 130:
            leases = (await where.lease(session, [Want(LISTS, 2), Want(DETAILS, 2)], 4, 0.0)).leases
            await where.settle(session, [end(each) for each in leases])
            done.extend(each.queue for each in leases)

    await asyncio.gather(*(work(each) for each in stores))

    # Leases that are asked for at the same time are heard of in any order.
    assert done[:40] == [DETAILS] * 40
    assert (await store.counts()).queues[LISTS].states == {State.SUCCEEDED: 30}


# ---- the limit itself


async def test_it_is_changed_and_lifted_like_others(store: Store) -> None:
    await mark(store)
    other = (await store.steer(QueueRef(LISTS), Limit(concurrency=3))).limits
    changed = await mark(store, 7, other="images")
    lifted = (await store.steer(QueueRef(LISTS), Limit(high_water=None, concurrency=None))).limits

    assert other == QueueLimits(high_water={DETAILS: 2}, concurrency=3)
    assert changed == QueueLimits(high_water={"images": 7}, concurrency=3)
    assert lifted == QueueLimits()
    assert (await store.counts()).queues == {}


async def test_a_queue_is_not_held_by_itself_through_others(store: Store) -> None:
    await mark(store, queue="a", other="b")
    await mark(store, queue="b", other="c")

    with pytest.raises(
        InvalidOption, match="'c' cannot be held by 'a', which is held by 'b', which is held by 'c'"
    ):
        await mark(store, queue="c", other="a")

    assert "c" not in (await store.counts()).queues
    await mark(store, queue="c", other="d")
    await mark(store, queue="d", other="e")


async def test_a_queue_is_not_held_by_itself(store: Store) -> None:
    with pytest.raises(InvalidOption, match="'a' cannot be held by itself"):
        await mark(store, queue="a", other="a")


async def test_of_two_changes_at_once_that_make_a_circle_one_is_refused(store: Store) -> None:
    other = await store.join()
    told = await asyncio.gather(
        store.steer(QueueRef("a"), Limit(high_water={"b": 1})),
        other.steer(QueueRef("b"), Limit(high_water={"a": 1})),
        return_exceptions=True,
    )

    assert sorted(isinstance(each, InvalidOption) for each in told) == [False, True]


@pytest.mark.parametrize(
    "marks",
    [
        {},
        {DETAILS: 0},
        {DETAILS: True},
        {DETAILS: 1.5},
        {"a b": 3},
        {"": 3},
        [DETAILS],
        5,
        {f"q{n}": 1 for n in range(17)},
    ],
    ids=str,
)
def test_a_high_water_that_has_no_meaning_is_refused(marks: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        Limit(high_water=marks)

    assert caught.value.field == "high_water"
