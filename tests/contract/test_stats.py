"""How many jobs came and went: in all, and by the minute, for as long as minutes are kept."""

from __future__ import annotations

import pytest

from noria.backends.contract import Change, Fence, Flow, Point
from noria.model.limits import FLOW_FOR
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, TASK, enqueue, new, one, swept
from tests.contract.workers import running, settle, take, take_all, worker

MINUTE = 60.0


async def counts(store: Store) -> dict[str, int]:
    """The totals of the usual task and queue."""
    (flow,) = await store.stats()
    assert (flow.queue, flow.task) == (QUEUE, TASK)
    return dict(flow.counts)


async def to_the_minute(store: Store) -> float:
    """Let a new minute begin; when that is."""
    await store.advance(MINUTE - store.clock.wall() % MINUTE)
    return store.clock.wall()


async def test_a_new_store_has_seen_nothing(store: Store) -> None:
    assert await store.stats() == []
    assert await store.series(0.0) == []


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (State.SUCCEEDED, "succeeded"),
        (State.FAILED, "failed"),
        (State.CANCELLED, "cancelled"),
        (State.EXPIRED, "expired"),
        (State.RETRYING, "retried"),
    ],
)
async def test_an_end_is_counted_once(store: Store, state: State, word: str) -> None:
    session, lease = await running(store)
    for _ in range(2):
        await settle(store, session, lease, state)
    await store.restart()

    assert await counts(store) == {"arrived": 1, word: 1}


async def test_what_is_given_back_or_put_off_is_not_counted(store: Store) -> None:
    for state in (State.QUEUED, State.SCHEDULED, State.PARKED):
        session, lease = await running(store)
        await settle(store, session, lease, state, delay=60)

    assert await counts(store) == {"arrived": 3}


async def test_jobs_that_end_without_running_are_counted(store: Store) -> None:
    cancelled, _ = await enqueue(store, 2, expires=store.clock.wall() + 5)
    await store.alter([cancelled], Change(kind="cancel"))
    await store.advance(6)
    await swept(store)

    assert await counts(store) == {"arrived": 2, "cancelled": 1, "expired": 1}


async def test_a_crash_is_counted_and_so_is_its_failure(store: Store) -> None:
    session, lease = await running(store, crash_budget=1)
    await store.end(session, started=[Fence(lease.id, lease.starts)])

    assert await counts(store) == {"arrived": 1, "crashed": 1, "failed": 1}


async def test_a_job_that_is_erased_at_success_has_succeeded(store: Store) -> None:
    session, lease = await running(store, keep=0.0)
    await settle(store, session, lease)

    assert await counts(store) == {"arrived": 1, "succeeded": 1}


async def test_a_repeated_push_arrives_once(store: Store) -> None:
    job = new(store, unique="k")
    for each in (job, job, new(store, unique="k")):
        await store.push([each])

    assert await counts(store) == {"arrived": 1}


async def test_a_retry_is_no_arrival_and_its_outcome_counts(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.FAILED)
    await store.alter([lease.id], Change(kind="retry"))
    (again,) = await take(store, session)
    await settle(store, session, again)

    assert await counts(store) == {"arrived": 1, "failed": 1, "succeeded": 1}


async def test_totals_outlive_the_records(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease)
    await store.alter([lease.id], Change(kind="erase"))
    await store.advance(1_000)
    await swept(store)

    assert await counts(store) == {"arrived": 1, "succeeded": 1}


async def test_queues_and_tasks_are_told_apart_and_in_order(store: Store) -> None:
    for queue, task, n in [("b", "y", 1), ("a", "y", 2), ("a", "x", 3)]:
        await enqueue(store, n, queue=queue, task=task)

    assert await store.stats() == [
        Flow("a", "x", {"arrived": 3}),
        Flow("a", "y", {"arrived": 2}),
        Flow("b", "y", {"arrived": 1}),
    ]


async def test_a_thousand_at_once_are_counted(store: Store) -> None:
    await enqueue(store, 1_000)
    session = await worker(store)
    leases = await take_all(store, session)
    for lease in leases[:3]:
        await settle(store, session, lease)

    assert await counts(store) == {"arrived": 1_000, "succeeded": 3}


# -- by the minute


async def test_each_minute_counts_what_happened_in_it(store: Store) -> None:
    first = await to_the_minute(store)
    await enqueue(store, 2)
    await store.advance(MINUTE)
    session = await worker(store)
    for lease in await take(store, session):
        await settle(store, session, lease)
    await store.restart()

    assert await store.series(first) == [
        Point(first, QUEUE, TASK, {"arrived": 2}),
        Point(first + MINUTE, QUEUE, TASK, {"succeeded": 2}),
    ]


async def test_a_series_has_its_bounds(store: Store) -> None:
    first = await to_the_minute(store)
    for _ in range(4):
        await one(store)
        await store.advance(MINUTE)

    spans = [point.at - first for point in await store.series(first + 70, first + 130)]

    assert spans == [60.0, 120.0]
    assert await store.series(first + 600) == []


async def test_spans_are_sums_of_minutes(store: Store) -> None:
    first = await to_the_minute(store)
    await store.advance(5 * MINUTE - first % (5 * MINUTE))
    first = store.clock.wall()
    for _ in range(7):
        await one(store)
        await store.advance(MINUTE)

    points = await store.series(first + MINUTE, None, 5)

    assert [(point.at - first, point.counts) for point in points] == [
        (0.0, {"arrived": 5}),
        (300.0, {"arrived": 2}),
    ]


async def test_old_minutes_are_kept_as_a_sum(store: Store) -> None:
    for _ in range(3):
        await one(store)
        await store.advance(3600)
    await store.advance(FLOW_FOR - 3600)
    while (await store.sweep()).more:
        pass

    assert len(await store.series(0.0)) < 3
    assert await counts(store) == {"arrived": 3}
    await store.advance(2 * FLOW_FOR)
    await swept(store)
    assert await store.series(0.0) == []
    assert await counts(store) == {"arrived": 3}


async def test_a_sweep_between_counts_nothing_twice_and_loses_nothing(store: Store) -> None:
    first = await to_the_minute(store)
    for n in (1, 2):
        await enqueue(store, n)
        await to_the_minute(store)
        await swept(store)
    await enqueue(store, 3)

    assert await counts(store) == {"arrived": 6}
    assert [(p.at - first, p.counts["arrived"]) for p in await store.series(first)] == [
        (0.0, 1),
        (MINUTE, 2),
        (2 * MINUTE, 3),
    ]
    assert [p.counts["arrived"] for p in await store.series(first + MINUTE, first + 2 * MINUTE - 1)] == [2]


async def test_an_idle_store_has_nothing_to_fold(store: Store) -> None:
    await one(store)
    await store.advance(FLOW_FOR / 2)

    assert not (await store.sweep()).more
