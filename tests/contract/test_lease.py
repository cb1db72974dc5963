"""Leasing: an atomic step that gives each job to one session."""

from __future__ import annotations

import asyncio

import pytest

from noria.backends.contract import Batch, Parts, Want
from noria.ids import Id, SessionId
from noria.model.backoff import Backoff
from noria.model.job import Extras, Lane, Lease
from noria.model.limits import SUSPECT_AT
from noria.model.outcome import Tally
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, TASK, enqueue, new, one, record, state, swept
from tests.contract.workers import batch, crash, fence, running, settle, take, take_all, worker


async def test_a_lease_brings_everything_that_a_worker_needs(store: Store) -> None:
    extras = Extras(timeout=3.5, retry=Backoff(base=2), tags=("a",), correlation_id="c")
    deadline = store.clock.wall() + 60
    job = new(store, body=b"\xff\x00", codec="msgpack", priority=2, attempts=4, crash_budget=2)
    job = new(
        store, id=job.id, body=job.body, codec=job.codec, priority=2, attempts=4, crash_budget=2,
        deadline=deadline, extras=extras,
    )  # fmt: skip
    await store.push([job])
    created = store.clock.wall()

    (lease,) = await take(store, await worker(store))

    assert lease == Lease(
        id=job.id,
        starts=1,
        task=TASK,
        queue=QUEUE,
        body=b"\xff\x00",
        codec="msgpack",
        tally=Tally(attempts=4, crash_budget=2),
        priority=2,
        created=created,
        deadline=deadline,
        extras=extras,
    )


async def test_a_leased_job_runs_in_its_session(store: Store) -> None:
    session, lease = await running(store)
    await store.restart()

    found = await record(store, lease.id)

    assert (found.state, found.session, found.starts) == (State.RUNNING, session, 1)
    assert (found.worker, found.began) == ("w", pytest.approx(store.clock.wall()))


async def test_a_leased_job_is_not_leased_again(store: Store) -> None:
    await running(store)

    assert await take(store, await worker(store)) == []


async def test_starts_rise_by_one_with_each_lease(store: Store) -> None:
    await one(store)
    session = await worker(store)

    seen = []
    for _ in range(5):
        (lease,) = await take(store, session)
        seen.append(lease.starts)
        await settle(store, session, lease, State.QUEUED)

    assert seen == [1, 2, 3, 4, 5]


async def test_a_job_of_another_queue_is_left_alone(store: Store) -> None:
    await one(store, queue="other")

    assert await take(store, await worker(store)) == []


async def test_no_wants_give_nothing(store: Store) -> None:
    await one(store)

    assert (await store.lease(await worker(store), [], 10, 0.0)).leases == []


async def test_a_limit_of_nothing_gives_nothing(store: Store) -> None:
    await one(store)

    assert await take(store, await worker(store), 0) == []


async def test_a_session_that_ended_gets_nothing(store: Store) -> None:
    await one(store)
    session = await worker(store)
    await store.end(session)

    assert await take(store, session) == []


async def test_a_session_that_was_never_opened_gets_nothing(store: Store) -> None:
    id = await one(store)

    assert await take(store, SessionId(12_345)) == []
    assert await state(store, id) is State.QUEUED


async def test_ten_sessions_at_once_share_jobs_without_overlap(store: Store) -> None:
    ids = await enqueue(store, 500)
    sessions = [await worker(store) for _ in range(10)]

    told = await asyncio.gather(*(take_all(store, session) for session in sessions))

    assert sorted(lease.id for leases in told for lease in leases) == ids


async def test_two_processes_share_jobs_without_overlap(store: Store) -> None:
    ids = await enqueue(store, 300)
    first, second = await worker(store), await worker(store)
    other = await store.join()

    told = await asyncio.gather(
        *(
            process.lease(session, [Want(QUEUE, 10)], 10, 0.0)
            for _ in range(15)
            for process, session in ((store, first), (other, second))
        )
    )

    assert sorted(lease.id for batch in told for lease in batch.leases) == ids


# -- wants and the limit


async def test_each_want_is_filled_and_the_limit_bounds_all(store: Store) -> None:
    for queue in ("a", "b", "c"):
        await enqueue(store, 10, queue=queue)
    session = await worker(store)

    wants = [Want("a", 3), Want("b", 4), Want("c", 5)]
    leases = (await store.lease(session, wants, 9, 0.0)).leases

    assert [lease.queue for lease in leases] == ["a"] * 3 + ["b"] * 4 + ["c"] * 2


async def test_what_a_queue_cannot_fill_goes_to_the_others(store: Store) -> None:
    await enqueue(store, 2, queue="a")
    await enqueue(store, 20, queue="b")

    leases = (await store.lease(await worker(store), [Want("a", 5), Want("b", 5)], 10, 0.0)).leases

    assert sorted(lease.queue for lease in leases) == ["a"] * 2 + ["b"] * 8


async def test_ahead_takes_further_jobs(store: Store) -> None:
    ids = await enqueue(store, 10)

    leases = (await store.lease(await worker(store), [Want(QUEUE, 2, ahead=3)], 5, 0.0)).leases

    assert [lease.id for lease in leases] == ids[:5]


async def test_a_lane_gives_only_its_own_jobs(store: Store) -> None:
    thread = await enqueue(store, 2, lane=Lane.THREAD)
    loop = await enqueue(store, 2, lane=Lane.LOOP)
    session = await worker(store)

    first = (await store.lease(session, [Want(QUEUE, 5, lane=Lane.LOOP)], 5, 0.0)).leases
    second = (await store.lease(session, [Want(QUEUE, 5, lane=Lane.THREAD)], 5, 0.0)).leases

    assert [lease.id for lease in first] == loop
    assert [lease.id for lease in second] == thread


async def test_both_lanes_of_a_queue_are_served_in_one_lease(store: Store) -> None:
    thread = await enqueue(store, 5, lane=Lane.THREAD)
    loop = await enqueue(store, 5, lane=Lane.LOOP)
    wants = [Want(QUEUE, 3, lane=Lane.LOOP), Want(QUEUE, 2, lane=Lane.THREAD)]

    leases = (await store.lease(await worker(store), wants, 5, 0.0)).leases

    assert sorted(lease.id for lease in leases) == sorted(loop[:3] + thread[:2])


async def test_a_lane_without_jobs_leaves_its_slots_to_no_other_lane(store: Store) -> None:
    """A job whose slots are taken must not stand before jobs whose slots are free."""
    await enqueue(store, 10, lane=Lane.THREAD)
    wants = [Want(QUEUE, 6, lane=Lane.LOOP), Want(QUEUE, 2, lane=Lane.THREAD)]

    leases = (await store.lease(await worker(store), wants, 8, 0.0)).leases

    assert len(leases) == 2


async def test_a_lane_survives_a_retry(store: Store) -> None:
    id = await one(store, lane=Lane.THREAD)
    session = await worker(store)
    want = [Want(QUEUE, 1, lane=Lane.THREAD)]
    (lease,) = (await store.lease(session, want, 1, 0.0)).leases
    await settle(store, session, lease, State.RETRYING)

    assert await take(store, session) == []
    assert [each.id for each in (await store.lease(session, want, 1, 0.0)).leases] == [id]


# -- suspects


async def suspects(store: Store, n: int) -> list[Id]:
    """Jobs that have crashed their process often enough to be suspects."""
    ids = await enqueue(store, n, crash_budget=10)
    for _ in range(SUSPECT_AT):
        session = await worker(store)
        leases = []
        while more := await take(store, session):
            leases += more
        await store.end(session, started=[fence(lease) for lease in leases])
    return ids


async def test_a_lease_takes_one_suspect_at_most(store: Store) -> None:
    ids = await suspects(store, 3)
    session = await worker(store)

    leases = await take(store, session)

    assert [lease.id for lease in leases] == ids[:1]
    assert leases[0].tally.suspect


async def test_free_jobs_are_leased_beside_a_suspect(store: Store) -> None:
    ids = await suspects(store, 2)
    free = await enqueue(store, 3)

    leases = await take(store, await worker(store))

    assert [lease.id for lease in leases] == [ids[0], *free]


async def test_a_worker_that_runs_a_suspect_gets_no_other(store: Store) -> None:
    await suspects(store, 2)
    free = await enqueue(store, 2)

    leases = (await store.lease(await worker(store), [Want(QUEUE, 5, suspect=False)], 5, 0.0)).leases

    assert [lease.id for lease in leases] == free


async def test_suspects_are_never_taken_ahead(store: Store) -> None:
    await suspects(store, 2)
    free = await enqueue(store, 2)

    leases = (await store.lease(await worker(store), [Want(QUEUE, 0, ahead=5)], 5, 0.0)).leases

    assert [lease.id for lease in leases] == free


async def test_only_one_of_several_queues_gives_a_suspect(store: Store) -> None:
    for queue in ("a", "b"):
        id = await one(store, queue=queue, crash_budget=10)
        for _ in range(SUSPECT_AT):
            session = await worker(store)
            (lease,) = await take(store, session, queue=queue)
            assert lease.id == id
            await store.end(session, started=[fence(lease)])

    leases = (await store.lease(await worker(store), [Want("a", 2), Want("b", 2)], 4, 0.0)).leases

    assert len(leases) == 1


async def test_a_crash_that_is_no_suspicion_yet_changes_nothing(store: Store) -> None:
    id = await one(store, crash_budget=10)
    await crash(store, id, SUSPECT_AT - 1)

    leases = (await store.lease(await worker(store), [Want(QUEUE, 0, ahead=1)], 1, 0.0)).leases

    assert [lease.id for lease in leases] == [id]


# -- parked jobs


async def parked(store: Store, task: str = "rare", **fields: object) -> Id:
    """A job that a worker did not know."""
    session, lease = await running(store, task=task, **fields)
    assert (await settle(store, session, lease, State.PARKED)).value == "ok"
    return lease.id


async def test_a_parked_job_goes_to_a_session_that_knows_its_task(store: Store) -> None:
    id = await parked(store)

    leases = await take(store, await worker(store, tasks=(TASK, "rare")))

    assert [lease.id for lease in leases] == [id]


async def test_a_parked_job_does_not_go_to_a_session_that_does_not_know_it(store: Store) -> None:
    id = await parked(store)

    assert await take(store, await worker(store)) == []
    assert await state(store, id) is State.PARKED


async def test_parked_jobs_are_served_before_others(store: Store) -> None:
    id = await parked(store)
    later = await one(store, priority=9)

    leases = await take(store, await worker(store, tasks=(TASK, "rare")), 1)

    assert [lease.id for lease in leases] == [id]
    assert await state(store, later) is State.QUEUED


async def test_parked_jobs_of_several_tasks_are_leased_oldest_first(store: Store) -> None:
    """None waits behind the jobs of another task for ever."""
    first = await parked(store, task="z")
    await store.advance(1)
    second = await parked(store, task="a")
    session = await worker(store, tasks=("a", "z"))

    leases = [await take(store, session, 1) for _ in range(2)]

    assert [lease.id for each in leases for lease in each] == [first, second]


async def test_a_lease_does_not_ask_whether_the_task_is_known(store: Store) -> None:
    id = await one(store, task="rare")

    leases = await take(store, await worker(store))

    assert [lease.id for lease in leases] == [id]


async def test_a_session_that_knows_thousands_of_tasks_is_served(store: Store) -> None:
    id = await parked(store, task="t1999")
    session = await worker(store, tasks=tuple(f"t{n}" for n in range(2_000)))

    assert [lease.id for lease in await take(store, session)] == [id]


# -- recall


async def test_a_recall_gives_back_what_the_worker_never_heard_of(store: Store) -> None:
    ids = await enqueue(store, 5)
    session = await worker(store)
    heard = await take(store, session, 2)
    await take(store, session, 3)

    given_back = await store.recall(session, [fence(lease) for lease in heard])

    assert given_back == 3
    assert [await state(store, id) for id in ids] == [State.RUNNING] * 2 + [State.QUEUED] * 3


async def test_a_recalled_start_counts_nowhere(store: Store) -> None:
    session, lease = await running(store)
    await store.recall(session, [])

    found = await record(store, lease.id)

    assert (found.tally.spent, found.tally.crashes) == (0, 0)


async def test_a_recalled_job_can_be_leased_and_its_old_start_settles_nothing(store: Store) -> None:
    session, lease = await running(store)
    await store.recall(session, [])
    (again,) = await take(store, await worker(store))

    verdict = await settle(store, session, lease)

    assert (again.id, again.starts, verdict.value) == (lease.id, 2, "stale")


async def test_a_recall_leaves_other_sessions_alone(store: Store) -> None:
    _, lease = await running(store)

    assert await store.recall(await worker(store), []) == 0
    assert await state(store, lease.id) is State.RUNNING


async def test_a_recall_may_be_repeated(store: Store) -> None:
    session, _ = await running(store)
    await store.recall(session, [])
    await store.restart()

    assert await store.recall(session, []) == 0


async def test_a_recall_of_thousands_is_whole(store: Store) -> None:
    ids = await enqueue(store, 2_500)
    session = await worker(store)
    await take_all(store, session)

    assert await store.recall(session, []) == 2_500
    assert [lease.id for lease in await take_all(store, session)] == ids


@pytest.mark.store(restarts=False)
async def test_leases_that_nobody_heard_of_come_back_and_none_is_given_twice(store: Store) -> None:
    """W5: the process is killed between the claim and the answer."""
    ids = await enqueue(store, 600)
    session = await worker(store)
    calls = [store.lease(session, [Want(QUEUE, 10)], 10, 0.0) for _ in range(60)]

    told = await store.killed_during(calls, answers=15)
    heard = [lease for each in told if isinstance(each, Batch) for lease in each.leases]
    await store.recall(session, [fence(lease) for lease in heard])

    rest = await take_all(store, await worker(store))
    assert sorted(lease.id for lease in heard + rest) == ids


# -- what is not to be started any more


@pytest.mark.parametrize("bound", ["expires", "deadline"])
async def test_a_job_whose_time_is_over_is_not_leased(store: Store, bound: str) -> None:
    """D15."""
    id = await one(store, **{bound: store.clock.wall() + 5})
    await store.advance(5.1)

    assert await take(store, await worker(store)) == []
    await swept(store)
    assert await state(store, id) is State.EXPIRED


async def test_a_job_is_leased_until_its_time_is_over(store: Store) -> None:
    id = await one(store, expires=store.clock.wall() + 5)
    await store.advance(4.9)

    assert [lease.id for lease in await take(store, await worker(store))] == [id]


async def test_a_body_is_read_only_where_it_is_asked_for(store: Store) -> None:
    id = await one(store)

    assert (await record(store, id)).body is None
    assert (await record(store, id, Parts.BODY)).body == b'["a"]'


async def test_next_due_tells_when_to_look_again(store: Store) -> None:
    await one(store, delay=30)
    await one(store, delay=12)
    session = await worker(store)

    first = await batch(store, session)
    await store.advance(5)
    second = await batch(store, session)

    assert (first.next_due, second.next_due) == (pytest.approx(12, abs=0.01), pytest.approx(7, abs=0.01))


async def test_next_due_is_none_if_nothing_waits_for_its_time(store: Store) -> None:
    await one(store)
    await one(store, queue="other", delay=5)

    assert (await batch(store, await worker(store))).next_due is None
