"""The store in numbers, without reading its jobs."""

from __future__ import annotations

import random

import pytest

from noria.backends.contract import Change, Counts, Query
from noria.ids import SessionId
from noria.model.limits import CRASH_BUDGET
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import enqueue, one, swept
from tests.contract.workers import crash, end, fence, running, settle, take, worker


async def recount(store: Store) -> dict[str, dict[State, int]]:
    """What the counts should say, found out the long way."""
    numbers: dict[str, dict[State, int]] = {}
    after = None
    while True:
        page = await store.find(Query(), after, 500)
        for each in page.records:
            queue = numbers.setdefault(each.queue, {})
            queue[each.state] = queue.get(each.state, 0) + 1
        if page.next is None:
            return numbers
        after = page.next


def told(counts: Counts) -> dict[str, dict[State, int]]:
    """The numbers of `counts`, without zeros."""
    numbers = {
        name: {state: n for state, n in queue.states.items() if n} for name, queue in counts.queues.items()
    }
    return {name: states for name, states in numbers.items() if states}


async def test_an_empty_store_counts_nothing(store: Store) -> None:
    assert await store.counts() == Counts({}, [])


async def test_each_queue_is_counted_by_state(store: Store) -> None:
    await enqueue(store, 3, queue="a")
    await enqueue(store, 2, queue="a", delay=60)
    await enqueue(store, 4, queue="b")
    session = await worker(store)
    await take(store, session, 1, "b")
    await store.restart()

    assert told(await store.counts()) == {
        "a": {State.QUEUED: 3, State.SCHEDULED: 2},
        "b": {State.QUEUED: 3, State.RUNNING: 1},
    }


async def test_dead_letters_are_counted(store: Store) -> None:
    id = await one(store)
    await crash(store, id, CRASH_BUDGET)

    assert (await store.counts()).queues["mail"].dead == 1


async def test_erased_jobs_are_counted(store: Store) -> None:
    for _ in range(3):
        session, lease = await running(store, keep=0.0)
        await settle(store, session, lease)
    await store.restart()

    counts = await store.counts()

    assert counts.erased == 3
    assert told(counts) == {}


async def test_the_oldest_ready_job_is_told_by_queue(store: Store) -> None:
    await one(store, queue="a")
    await store.advance(10)
    await enqueue(store, 2, queue="a")
    await one(store, queue="b", delay=3)
    await store.advance(5)
    await swept(store)

    queues = (await store.counts()).queues

    assert queues["a"].oldest_ready == pytest.approx(15)
    assert queues["b"].oldest_ready == pytest.approx(2)


async def test_a_suspect_may_be_the_oldest_ready_job_of_its_queue(store: Store) -> None:
    """A queue in which only suspects wait does not look as if nothing waited."""
    id = await one(store, crash_budget=9)
    await crash(store, id, 2)
    await swept(store)
    await store.advance(7)

    queues = (await store.counts()).queues

    assert queues["mail"].states == {State.QUEUED: 1}
    assert queues["mail"].oldest_ready == pytest.approx(7, abs=1)


async def test_a_queue_without_ready_jobs_has_no_oldest(store: Store) -> None:
    await one(store, delay=60)

    assert (await store.counts()).queues["mail"].oldest_ready is None


async def test_pushes_that_store_nothing_count_nothing(store: Store) -> None:
    from tests.contract.words import new

    first = new(store, unique="k")
    await store.push([first, first, new(store, unique="k")])
    await store.push([first, new(store, unique="k")])

    assert told(await store.counts()) == {"mail": {State.QUEUED: 1}}


async def test_counts_equal_a_recount_after_any_operations(store: Store) -> None:
    rng = random.Random(11)
    session = await worker(store)
    for _ in range(60):
        session = await step(store, rng, session)

    assert told(await store.counts()) == await recount(store)


async def step(store: Store, rng: random.Random, session: SessionId) -> SessionId:
    """Something that anybody could do."""
    kind = rng.randrange(6)
    if kind == 0:
        await enqueue(store, rng.randrange(1, 8), queue=rng.choice("ab"), delay=rng.choice([0, 0, 5]))
    elif kind in (1, 2):
        ends = [State.SUCCEEDED, State.FAILED, State.RETRYING, State.QUEUED, State.PARKED, State.CANCELLED]
        leases = await take(store, session, rng.randrange(1, 6), rng.choice("ab"))
        await store.settle(session, [end(lease, rng.choice(ends)) for lease in leases if rng.random() < 0.8])
    elif kind == 3:
        page = await store.find(Query(), None, 5)
        change = Change(kind=rng.choice(["cancel", "retry", "discard"]))
        await store.alter([each.id for each in page.records], change)
    elif kind == 4:
        held = await take(store, session, 3, "a")
        await store.end(session, started=[fence(lease) for lease in held[:1]])
        session = await worker(store)
    else:
        await store.advance(2)
        await store.sweep()
    return session
