"""Limits of queues: the order of their jobs, how long they wait, how many of them, how many run at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from noria.backends.contract import Change, Fence, Limit, Pause, QueueLimits, QueueRef, Resume, Want
from noria.errors import Conflict, InvalidOption
from noria.model.claim import Claim
from noria.model.document import DocWrite
from noria.model.job import Lane
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, enqueue, new, one, record, state, swept
from tests.contract.workers import end, fence, running, settle, take, take_all, worker

MAIL = QueueRef(QUEUE)
HOUR = 3600.0


async def limit(store: Store, queue: str = QUEUE, **fields: Any) -> QueueLimits:
    """Change limits of a queue."""
    return (await store.steer(QueueRef(queue), Limit(**fields))).limits


async def limits_of(store: Store, queue: str = QUEUE) -> QueueLimits | None:
    found = (await store.counts()).queues.get(queue)
    return found and found.limits


# ---- the limits themselves


async def test_only_the_limits_that_are_named_change(store: Store) -> None:
    first = await limit(store, max_length=5, concurrency=2)
    await store.restart()
    second = await limit(store, max_length=7, ageing=60.0)
    third = await limit(store, concurrency=None, order="newest", max_age=90.0)

    assert first == QueueLimits(max_length=5, concurrency=2)
    assert second == QueueLimits(max_length=7, concurrency=2, ageing=60.0)
    assert third == QueueLimits(max_length=7, ageing=60.0, order="newest", max_age=90.0)
    assert await limits_of(store) == third


async def test_a_queue_whose_limits_are_lifted_has_none(store: Store) -> None:
    await limit(store, max_length=5, concurrency=2, order="newest", ageing=60.0, max_age=1.0)
    told = await limit(store, max_length=None, concurrency=None, order=None, ageing=None, max_age=None)

    assert told == QueueLimits()
    assert (await store.counts()).queues == {}


async def test_limits_and_pauses_stand_side_by_side(store: Store) -> None:
    await store.steer(MAIL, Pause(by="alice"))
    limited = await store.steer(MAIL, Limit(concurrency=3))
    resumed = await store.steer(MAIL, Resume())

    assert limited.paused is not None
    assert limited.limits == resumed.limits == QueueLimits(concurrency=3)
    assert resumed.paused is None


async def test_a_change_of_limits_can_be_repeated(store: Store) -> None:
    assert await limit(store, max_length=5) == await limit(store, max_length=5)


async def test_many_queues_have_limits_of_their_own(store: Store) -> None:
    for n in range(1, 30):
        await limit(store, f"q{n}", concurrency=n, max_age=float(n))

    found = {name: queue.limits for name, queue in (await store.counts()).queues.items()}

    assert found == {f"q{n}": QueueLimits(concurrency=n, max_age=float(n)) for n in range(1, 30)}


@pytest.mark.parametrize(
    "fields",
    [
        {"order": "random"},
        {"ageing": 0},
        {"ageing": float("nan")},
        {"max_age": -1.0},
        {"max_age": 1e12},
        {"max_age": True},
        {"max_length": -1},
        {"max_length": 1.5},
        {"concurrency": 0},
        {"concurrency": "3"},
    ],
    ids=str,
)
def test_limits_that_have_no_meaning_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption) as caught:
        Limit(**fields)

    assert caught.value.field in fields


# ---- the order


async def test_the_newest_job_comes_first(store: Store) -> None:
    await limit(store, order="newest", max_age=HOUR)
    ids = []
    for _ in range(3):
        ids.append(await one(store))
        await store.advance(1)
    await store.restart()

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == ids[::-1]


async def test_priority_counts_in_a_queue_of_newest_first(store: Store) -> None:
    await limit(store, order="newest", max_age=4 * HOUR)
    urgent = await one(store, priority=1)
    await store.advance(HOUR - 1)
    newest = await one(store)
    await store.advance(2)
    latest = await one(store)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [latest, urgent, newest]


async def test_ageing_says_what_a_step_of_priority_is_worth(store: Store) -> None:
    await limit(store, ageing=10.0)
    old = await one(store)
    await store.advance(9)
    urgent = await one(store, priority=1)
    await store.advance(2)
    late = await one(store, priority=1)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [urgent, old, late]


async def test_jobs_that_become_due_take_the_place_that_their_time_gives_them(store: Store) -> None:
    await limit(store, order="newest", max_age=HOUR)
    later = await one(store, delay=10)
    sooner = await one(store, delay=5)
    await store.advance(11)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [later, sooner]


async def test_a_retry_a_snooze_and_a_release_keep_the_order_of_their_queue(store: Store) -> None:
    await limit(store, order="newest", max_age=HOUR)
    retried = await one(store)
    await store.advance(1)
    released = await one(store)
    session = await worker(store)
    leases = {lease.id: lease for lease in await take(store, session)}
    await settle(store, session, leases[retried], State.RETRYING, delay=5.0)
    await settle(store, session, leases[released], State.QUEUED)
    await store.advance(6)
    newest = await one(store, at=store.clock.wall() + 1)
    await store.advance(1)

    order = [lease.id for lease in await take_all(store, session)]

    assert order == [newest, retried, released]


async def test_a_job_that_is_retried_edited_or_moved_has_the_order_of_its_queue(store: Store) -> None:
    await limit(store, order="newest", max_age=HOUR)
    session, lease = await running(store)
    await settle(store, session, lease, State.FAILED)
    moved = await one(store, queue="other")
    edited = await one(store, delay=100)
    await store.advance(1)
    await store.alter([lease.id], Change(kind="retry"))
    await store.alter([moved], Change(kind="move", queue=QUEUE))
    await store.advance(1)
    await store.alter([edited], Change(kind="run"))

    order = [each.id for each in await take_all(store, session)]

    assert order == [edited, lease.id, moved]


async def test_what_waits_keeps_its_place_when_the_order_changes(store: Store) -> None:
    old = await enqueue(store, 2)
    await limit(store, order="newest", max_age=HOUR)
    newest = await one(store)

    leases = await take_all(store, await worker(store))

    assert [lease.id for lease in leases] == [newest, *old]


async def test_other_queues_keep_their_order(store: Store) -> None:
    await limit(store, order="newest", max_age=HOUR)
    first = await one(store, queue="other")
    await store.advance(1)
    second = await one(store, queue="other")

    leases = await take(store, await worker(store), queue="other")

    assert [lease.id for lease in leases] == [first, second]


# ---- the greatest age


async def test_a_job_that_waited_too_long_expires_and_says_why(store: Store) -> None:
    await limit(store, max_age=10.0)
    ids = await enqueue(store, 2)
    await store.advance(9)
    session = await worker(store)
    (lease,) = await take(store, session, 1)
    await store.advance(2)
    await swept(store)
    await store.restart()

    found = await record(store, ids[1])
    assert lease.id == ids[0]
    assert await state(store, ids[0]) is State.RUNNING
    assert found.state is State.EXPIRED
    assert found.failure is not None
    assert found.failure.reason == "max_age"
    assert found.expires is None


async def test_a_job_that_is_too_old_is_not_leased(store: Store) -> None:
    await limit(store, max_age=10.0)
    await one(store)
    await store.advance(11)

    assert await take(store, await worker(store)) == []


async def test_a_bound_of_its_own_holds_if_it_is_sooner(store: Store) -> None:
    await limit(store, max_age=10.0)
    at = store.clock.wall()
    soon, late = await one(store, expires=at + 5), await one(store, deadline=at + 7)
    patient = await one(store, expires=at + 50)
    await store.advance(8)
    await swept(store)
    before = [await state(store, id) for id in (soon, late, patient)]
    await store.advance(3)
    await swept(store)

    found = [(await record(store, id)).failure for id in (soon, late, patient)]
    assert before == [State.EXPIRED, State.EXPIRED, State.QUEUED]
    assert [each and each.reason for each in found] == ["expired", "deadline", "max_age"]


async def test_age_counts_from_the_due_time(store: Store) -> None:
    await limit(store, max_age=10.0)
    id = await one(store, delay=20)
    await store.advance(25)
    await swept(store)
    waits = await state(store, id)
    await store.advance(6)
    await swept(store)

    assert [waits, await state(store, id)] == [State.QUEUED, State.EXPIRED]


async def test_a_job_that_has_begun_once_is_never_too_old(store: Store) -> None:
    await limit(store, max_age=10.0)
    session, lease = await running(store)
    await settle(store, session, lease, State.RETRYING, delay=0.0)
    await store.advance(60)
    await swept(store)

    assert await state(store, lease.id) is State.QUEUED


async def test_a_job_that_was_given_back_grows_older(store: Store) -> None:
    await limit(store, max_age=10.0)
    session, lease = await running(store)
    await store.advance(5)
    await settle(store, session, lease, State.QUEUED)
    await store.advance(6)
    await swept(store)

    assert await state(store, lease.id) is State.EXPIRED


async def test_a_job_that_is_put_off_retried_or_moved_grows_old_anew(store: Store) -> None:
    await limit(store, max_age=10.0)
    put_off, moved = await one(store), await one(store, queue="other")
    await store.advance(5)
    await store.alter([put_off], Change(kind="edit", run_at=store.clock.wall() + 100))
    await store.alter([moved], Change(kind="move", queue=QUEUE))
    await store.advance(6)
    await swept(store)
    before = [await state(store, put_off), await state(store, moved)]
    await store.alter([moved], Change(kind="retry"))
    await store.advance(11)
    await swept(store)

    assert before == [State.SCHEDULED, State.EXPIRED]
    assert await state(store, moved) is State.EXPIRED
    await store.advance(95)
    await swept(store)
    assert await state(store, put_off) is State.EXPIRED


# ---- the greatest length


async def test_a_full_queue_takes_no_more(store: Store) -> None:
    await limit(store, max_length=3)
    ids = await enqueue(store, 2)
    jobs = [new(store) for _ in range(3)]

    receipts = await store.push(jobs)
    await store.restart()

    assert [(each.status, each.full) for each in receipts] == [
        ("created", False),
        ("rejected", True),
        ("rejected", True),
    ]
    assert f"{QUEUE!r} is full" in receipts[1].why
    assert (await store.counts()).queues[QUEUE].length == 3
    assert await store.get([job.id for job in jobs[1:]]) == [None, None]
    assert len(ids) == 2


async def test_all_that_waits_counts_and_nothing_else(store: Store) -> None:
    session = await worker(store, tasks=())
    for become in (State.RETRYING, State.PARKED, State.SUCCEEDED, State.FAILED, None):
        await one(store)
        (lease,) = await take(store, session)
        if become is not None:
            await settle(
                store, session, lease, become, **({"delay": 60.0} if become is State.RETRYING else {})
            )
    await one(store, delay=60)
    await one(store)
    await limit(store, max_length=5)

    receipts = await store.push([new(store), new(store)])

    assert (await store.counts()).queues[QUEUE].length == 5
    assert [each.status for each in receipts] == ["created", "rejected"]


async def test_there_is_room_again_when_jobs_are_leased_or_cancelled(store: Store) -> None:
    await limit(store, max_length=2)
    (first, _) = await enqueue(store, 2)
    await store.alter([first], Change(kind="cancel"))
    await one(store)
    assert (await store.push([new(store)]))[0].full
    await take(store, await worker(store), 1)

    assert (await store.push([new(store)]))[0].status == "created"


async def test_what_is_stored_already_is_not_refused(store: Store) -> None:
    await limit(store, max_length=1)
    job = new(store, unique="k")
    await store.push([job])

    receipts = await store.push([job, new(store, unique="k"), new(store)])

    assert [(each.status, each.why if each.status == "existing" else "") for each in receipts] == [
        ("existing", "id"),
        ("existing", "unique"),
        ("rejected", ""),
    ]


async def test_what_follows_from_what_was_accepted_is_not_refused(store: Store) -> None:
    session, lease = await running(store)
    failed = await running(store)
    await settle(store, *failed, State.FAILED)
    await limit(store, max_length=0)

    (admitted,) = await store.push([new(store, admitted=True)])
    await settle(store, session, lease, State.RETRYING, delay=0.0)
    (retried,) = await store.alter([failed[1].id], Change(kind="retry"))

    assert (admitted.status, retried.status) == ("created", "done")
    assert (await store.counts()).queues[QUEUE].length == 3
    assert (await store.push([new(store)]))[0].full


async def test_a_call_with_documents_is_refused_whole(store: Store) -> None:
    await limit(store, max_length=1)
    docs = [DocWrite("note", "n", b"{}", if_version=0)]

    refused = await store.push([new(store), new(store)], docs)
    taken = await store.push([new(store)], docs)

    assert [each.status for each in refused] == ["rejected", "rejected"]
    assert [each.full for each in refused] == [False, True]
    assert [each.status for each in taken] == ["created"]
    await limit(store, max_length=None)
    with pytest.raises(Conflict):
        await store.push([new(store)], docs)


async def test_each_queue_of_a_call_has_its_own_length(store: Store) -> None:
    await limit(store, max_length=1)
    await limit(store, "other", max_length=2)
    jobs = [new(store, queue=queue) for queue in (QUEUE, "other", "free", QUEUE, "other", "other", "free")]

    receipts = await store.push(jobs)

    assert [each.full for each in receipts] == [False, False, False, True, False, True, False]


async def test_many_producers_at_once_never_exceed_the_length(store: Store) -> None:
    await limit(store, max_length=50)
    others = [await store.join() for _ in range(3)]

    async def produce(where: Store) -> int:
        told = [await where.push([new(store) for _ in range(5)]) for _ in range(10)]
        return sum(each.status == "created" for receipts in told for each in receipts)

    created = await asyncio.gather(*(produce(each) for each in (store, *others)))

    assert sum(created) == 50
    assert (await store.counts()).queues[QUEUE].states == {State.QUEUED: 50}


# ---- how many run


async def test_no_more_run_than_may(store: Store) -> None:
    await limit(store, concurrency=2)
    ids = await enqueue(store, 5)
    first, second = await worker(store), await worker(store)

    leases = await take(store, first, 1) + await take(store, second, 10)
    await store.restart()

    assert [lease.id for lease in leases] == ids[:2]
    assert await take(store, first) == await take(store, second) == []
    await settle(store, first, leases[0])
    assert [lease.id for lease in await take(store, second)] == [ids[2]]


@pytest.mark.parametrize(
    "become", [State.SUCCEEDED, State.FAILED, State.RETRYING, State.CANCELLED, State.PARKED]
)
async def test_every_end_of_a_start_frees_one_place(store: Store, become: State) -> None:
    await limit(store, concurrency=1)
    ids = await enqueue(store, 3)
    session = await worker(store, tasks=())
    (lease,) = await take(store, session)
    for _ in range(2):
        await settle(store, session, lease, become, **({"delay": 60.0} if become is State.RETRYING else {}))

    assert [each.id for each in await take(store, session)] == [ids[1]]
    assert await take(store, session) == []


async def test_a_stale_settle_frees_no_place(store: Store) -> None:
    await limit(store, concurrency=1)
    await enqueue(store, 2)
    session = await worker(store)
    (lease,) = await take(store, session)
    await store.end(session, started=[fence(lease)])
    other = await worker(store)
    assert len(await take(store, other)) == 1

    await settle(store, session, lease)

    assert await take(store, other) == []


async def test_a_worker_that_dies_frees_its_places(store: Store) -> None:
    await limit(store, concurrency=2)
    await enqueue(store, 4)
    session = await worker(store)
    (first, _) = await take(store, session)
    await store.end(session, started=[fence(first)])

    assert len(await take(store, await worker(store))) == 2


async def test_a_full_queue_leaves_its_share_to_others(store: Store) -> None:
    await limit(store, concurrency=1)
    (id, _) = await enqueue(store, 2)
    others = await enqueue(store, 6, queue="other")
    session = await worker(store)

    batch = await store.lease(session, [Want(QUEUE, 3), Want("other", 3)], 6, 0.0)

    assert [lease.id for lease in batch.leases] == [id, *others[:5]]


async def test_all_lanes_of_a_queue_share_its_places(store: Store) -> None:
    await limit(store, concurrency=3)
    for lane in Lane:
        await enqueue(store, 2, lane=lane)
    session = await worker(store)

    batch = await store.lease(session, [Want(QUEUE, 2, lane=lane) for lane in Lane], 10, 0.0)

    assert len(batch.leases) == 3
    assert (await store.lease(session, [Want(QUEUE, 2, lane=lane) for lane in Lane], 10, 0.0)).leases == []


async def test_parked_jobs_and_suspects_take_places_too(store: Store) -> None:
    session, lease = await running(store, task="rare")
    await settle(store, session, lease, State.PARKED)
    id = await one(store)
    for _ in range(2):
        session = await worker(store)
        (crashed,) = await take(store, session)
        await store.end(session, started=[fence(crashed)])
    await enqueue(store, 2)
    await limit(store, concurrency=2)
    session = await worker(store, tasks=("send", "rare"))

    leases = await take(store, session) + await take(store, session)

    assert id == crashed.id
    assert len(leases) == 2


async def test_nothing_is_taken_ahead_where_places_are_few(store: Store) -> None:
    await limit(store, concurrency=5)
    await enqueue(store, 5)
    session = await worker(store)

    batch = await store.lease(session, [Want(QUEUE, 2, 10), Want("empty", 0, 10)], 22, 0.0)

    assert len(batch.leases) == 2


async def test_a_limit_that_is_lowered_lets_run_what_runs(store: Store) -> None:
    await enqueue(store, 6)
    session = await worker(store)
    leases = await take(store, session, 3)
    await limit(store, concurrency=2)

    verdicts = await store.settle(session, [end(leases[0])])
    assert await take(store, session) == []
    await store.settle(session, [end(leases[1])])

    assert [each.value for each in verdicts] == ["ok"]
    assert len(await take(store, session)) == 1


@pytest.mark.store(restarts=False, poll=10.0)
@pytest.mark.parametrize("become", [State.SUCCEEDED, State.FAILED])
async def test_a_free_place_wakes_a_worker_that_waits(store: Store, become: State) -> None:
    await limit(store, concurrency=1)
    ids = await enqueue(store, 2)
    session = await worker(store)
    other = await store.join()
    (lease,) = await take(store, session)
    waiting = asyncio.create_task(other.lease(await worker(store), [Want(QUEUE, 1)], 1, 9.0))
    await asyncio.sleep(0.2)
    await settle(store, session, lease, become)

    batch = await asyncio.wait_for(waiting, 8)

    assert [each.id for each in batch.leases] == ids[1:]


@pytest.mark.store(restarts=False, poll=10.0)
async def test_a_higher_limit_wakes_a_worker_that_waits(store: Store) -> None:
    await limit(store, concurrency=1)
    await enqueue(store, 2)
    session = await worker(store)
    await take(store, session)
    other = await store.join()
    waiting = asyncio.create_task(store.lease(session, [Want(QUEUE, 1)], 1, 9.0))
    await asyncio.sleep(0.2)
    await other.steer(MAIL, Limit(concurrency=2))

    assert len((await asyncio.wait_for(waiting, 8)).leases) == 1


async def test_many_workers_at_once_never_run_more_than_may(store: Store) -> None:
    await limit(store, concurrency=3)
    await enqueue(store, 60)
    stores = [store, *[await store.join() for _ in range(3)]]
    running: set[Fence] = set()
    most = done = 0

    async def work(where: Store) -> None:
        nonlocal most, done
        session = await worker(store)
        while done < 60:
            leases = (await where.lease(session, [Want(QUEUE, 2)], 2, 0.0)).leases
            running.update(map(fence, leases))
            await asyncio.sleep(0.001)
            most = max(most, len(running))
            running.difference_update(map(fence, leases))
            if leases:
                await where.settle(session, [end(each) for each in leases])
            done += len(leases)

    await asyncio.gather(*(work(each) for each in stores))

    assert (most <= 3, done) == (True, 60)
    assert (await store.counts()).queues[QUEUE].states == {State.SUCCEEDED: 60}


# ---- together with unique keys


async def test_a_job_that_takes_the_time_of_another_takes_the_place_that_its_queue_gives_it(
    store: Store,
) -> None:
    await limit(store, order="newest", max_age=HOUR)
    last = Claim(until_start=True, on_conflict="keep_last")
    kept = await one(store, unique="k", claim=last, delay=20.0)
    older = await one(store, delay=10.0)
    await store.advance(10.0)
    await store.push([new(store, unique="k", claim=last, delay=20.0)])

    await store.advance(HOUR + 15.0)
    await swept(store)

    assert (await state(store, older), await state(store, kept)) == (State.EXPIRED, State.QUEUED)


async def test_a_job_that_replaces_another_needs_no_room_of_its_own(store: Store) -> None:
    await limit(store, max_length=1)
    replace = Claim(until_start=True, on_conflict="replace")
    first, second = (new(store, unique="k", claim=replace) for _ in range(2))
    await store.push([first])

    [receipt] = await store.push([second])

    assert receipt.status == "replaced"
    assert (await state(store, first.id), await state(store, second.id)) == (State.CANCELLED, State.QUEUED)
