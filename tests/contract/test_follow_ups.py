"""Follow-ups: jobs that are stored in the step that records the success of the job that asked for them, or never."""

from __future__ import annotations

from typing import Any

import pytest

from noria.backends.contract import Change, Parts, Query, Verdict
from noria.ids import Id
from noria.model.job import Extras, Lease, NewJob
from noria.model.outcome import Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, new, one, record, state
from tests.contract.workers import ENDS, end, running, settle, take, take_all, worker

LATER = "later"


def follow_up(store: Store, parent: Lease, **fields: Any) -> NewJob:
    """A follow-up as a worker makes it."""
    return new(store, **{"queue": LATER, "extras": Extras(parent_id=parent.id.hex()), **fields})


async def children(store: Store, parent: Id) -> list[Id]:
    """The follow-ups of a job, the oldest first."""
    page = await store.find(Query(parent_id=parent.hex(), oldest_first=True))
    return [each.id for each in page.records]


async def test_follow_ups_are_stored_with_the_success(store: Store) -> None:
    session, lease = await running(store)
    jobs = [follow_up(store, lease, body=b'["first"]'), follow_up(store, lease, delay=60.0)]

    assert await settle(store, session, lease, follow_ups=tuple(jobs)) is Verdict.OK
    await store.restart()

    first, second = await store.get([job.id for job in jobs], Parts.BODY)
    assert first is not None and first.state is State.QUEUED and first.body == b'["first"]'
    assert second is not None and second.state is State.SCHEDULED
    assert await state(store, lease.id) is State.SUCCEEDED


async def test_a_follow_up_is_leased_as_any_job(store: Store) -> None:
    session, lease = await running(store)
    job = follow_up(store, lease)

    await settle(store, session, lease, follow_ups=(job,))

    (leased,) = await take(store, session, queue=LATER)
    assert (leased.id, leased.body, leased.extras.parent_id) == (job.id, job.body, lease.id.hex())


async def test_they_are_counted_and_wake_whoever_waits(store: Store) -> None:
    session, lease = await running(store)

    await settle(store, session, lease, follow_ups=tuple(follow_up(store, lease) for _ in range(3)))

    counts = await store.counts()
    assert counts.queues[LATER].states == {State.QUEUED: 3}
    assert counts.queues[QUEUE].states == {State.SUCCEEDED: 1}


@pytest.mark.parametrize(
    ("state", "outcome"), [pair for pair in ENDS if pair[0] is not State.SUCCEEDED], ids=lambda v: v.word
)
async def test_no_other_end_leaves_any(store: Store, state: State, outcome: Outcome) -> None:
    session, lease = await running(store)
    job = follow_up(store, lease)

    assert (
        await settle(store, session, lease, state, outcome=outcome, delay=60.0, follow_ups=(job,))
        is Verdict.OK
    )

    assert await store.get([job.id]) == [None]


async def test_a_stale_settle_stores_none(store: Store) -> None:
    session, lease = await running(store)
    await store.end(session)
    job = follow_up(store, lease)

    assert await settle(store, session, lease, follow_ups=(job,)) is Verdict.STALE
    assert await store.get([job.id]) == [None]


async def test_a_repeated_settle_stores_them_once(store: Store) -> None:
    session, lease = await running(store)
    ending = end(lease, follow_ups=(follow_up(store, lease), follow_up(store, lease)))

    told = [await store.settle(session, [ending]) for _ in range(2)]
    await store.restart()
    told.append(await store.settle(session, [ending]))

    assert told == [[Verdict.OK], [Verdict.ALREADY], [Verdict.ALREADY]]
    assert await children(store, lease.id) == [job.id for job in ending.follow_ups]


async def test_a_repeat_after_their_end_does_not_bring_them_back(store: Store) -> None:
    session, lease = await running(store)
    ending = end(lease, follow_ups=(follow_up(store, lease, keep=0.0),))
    await store.settle(session, [ending])
    (child,) = await take(store, session, queue=LATER)
    await settle(store, session, child)

    assert await store.settle(session, [ending]) == [Verdict.ALREADY]
    assert await take(store, session, queue=LATER) == []


async def test_two_ends_of_one_start_leave_the_first_ones(store: Store) -> None:
    session, lease = await running(store)
    first, second = follow_up(store, lease), follow_up(store, lease)

    told = await store.settle(session, [end(lease, follow_ups=(first,)), end(lease, follow_ups=(second,))])

    assert told == [Verdict.OK, Verdict.ALREADY]
    assert await children(store, lease.id) == [first.id]


async def test_each_end_of_a_batch_has_its_own(store: Store) -> None:
    for _ in range(4):
        await one(store)
    session = await worker(store)
    leases = await take_all(store, session)
    mine = {lease.id: follow_up(store, lease) for lease in leases}
    stale = Settlement(
        leases[1].id, 9, Outcome.SUCCEEDED, State.SUCCEEDED, follow_ups=(follow_up(store, leases[1]),)
    )
    ends = [
        end(leases[0], follow_ups=(mine[leases[0].id],)),
        stale,
        end(leases[2], State.FAILED, follow_ups=(mine[leases[2].id],)),
        end(leases[3], follow_ups=(mine[leases[3].id],)),
    ]

    assert await store.settle(session, ends) == [Verdict.OK, Verdict.STALE, Verdict.OK, Verdict.OK]

    left = [await children(store, lease.id) for lease in leases]
    assert left == [[mine[leases[0].id].id], [], [], [mine[leases[3].id].id]]


async def test_one_that_meets_a_taken_key_is_linked_to_the_job_that_has_it(store: Store) -> None:
    holder = await one(store, unique="k", queue=LATER)
    session, lease = await running(store)
    met, free = follow_up(store, lease, unique="k"), follow_up(store, lease, unique="other")

    assert await settle(store, session, lease, follow_ups=(met, free)) is Verdict.OK
    await store.restart()

    assert (await record(store, lease.id)).linked == (holder,)
    assert await store.get([met.id]) == [None]
    assert await children(store, lease.id) == [free.id]


async def test_two_with_one_key_are_one(store: Store) -> None:
    session, lease = await running(store)
    first, second = follow_up(store, lease, unique="k"), follow_up(store, lease, unique="k")

    await settle(store, session, lease, follow_ups=(first, second))

    assert await children(store, lease.id) == [first.id]
    assert (await record(store, lease.id)).linked == (first.id,)


async def test_one_may_take_over_the_key_of_its_parent(store: Store) -> None:
    """A job that enqueues itself again is unique at any time."""
    session, lease = await running(store, unique="k")
    again = follow_up(store, lease, unique="k")

    await settle(store, session, lease, follow_ups=(again,))

    found = await record(store, again.id)
    assert (found.state, found.unique) == (State.QUEUED, "k")
    assert (await record(store, lease.id)).linked == ()


async def test_one_whose_id_is_taken_is_linked_as_well(store: Store) -> None:
    other = await one(store, queue=LATER)
    session, lease = await running(store)

    await settle(store, session, lease, follow_ups=(follow_up(store, lease, id=other),))

    assert (await record(store, lease.id)).linked == (other,)


async def test_a_parent_that_is_erased_at_success_leaves_its_follow_ups(store: Store) -> None:
    await one(store, unique="k", queue=LATER)
    session, lease = await running(store, keep=0.0)
    job, met = follow_up(store, lease), follow_up(store, lease, unique="k")

    await settle(store, session, lease, follow_ups=(job, met))

    assert await store.get([lease.id]) == [None]
    assert await children(store, lease.id) == [job.id]


async def test_a_follow_up_that_cannot_be_stored_fails_its_parent_and_no_neighbour(store: Store) -> None:
    """Nothing is dropped in silence: neither the follow-up, nor the outcome."""
    await one(store)
    await one(store)
    session = await worker(store)
    bad, good = await take_all(store, session)
    large = b'"' + b"x" * (await store.capabilities()).max_body + b'"'
    lost, fine = follow_up(store, bad), follow_up(store, good)
    ends = [end(bad, follow_ups=(lost, follow_up(store, bad, body=large))), end(good, follow_ups=(fine,))]

    assert await store.settle(session, ends) == [Verdict.OK, Verdict.OK]

    found = await record(store, bad.id)
    assert (found.state, found.dead) == (State.FAILED, True)
    assert isinstance(found.failure, Failure) and found.failure.reason == "result"
    assert "follow-up" in found.failure.message
    assert await store.get([lost.id]) == [None]
    assert await children(store, good.id) == [fine.id]


async def test_a_result_that_cannot_be_stored_takes_the_follow_ups_with_it(store: Store) -> None:
    session, lease = await running(store)
    large = b'"' + b"x" * (await store.capabilities()).max_body + b'"'
    job = follow_up(store, lease)

    await settle(store, session, lease, result=large, follow_ups=(job,))

    assert await state(store, lease.id) is State.FAILED
    assert await store.get([job.id]) == [None]


async def test_large_bodies_arrive_whole(store: Store) -> None:
    session, lease = await running(store)
    body = b'"' + b"x" * 300_000 + b'"'
    job = follow_up(store, lease, body=body)

    await settle(store, session, lease, follow_ups=(job,))

    assert (await record(store, job.id, Parts.BODY)).body == body


async def test_a_thousand_follow_ups_of_one_job(store: Store) -> None:
    session, lease = await running(store)
    jobs = tuple(follow_up(store, lease) for _ in range(1_000))

    assert await settle(store, session, lease, follow_ups=jobs) is Verdict.OK

    assert (await store.counts()).queues[LATER].states == {State.QUEUED: 1_000}


async def test_children_are_found_with_other_filters(store: Store) -> None:
    session, lease = await running(store)
    jobs = [follow_up(store, lease), follow_up(store, lease, task="other", delay=60.0)]
    await settle(store, session, lease, follow_ups=tuple(jobs))
    parent = lease.id.hex()

    late = await store.find(Query(parent_id=parent, states=(State.SCHEDULED,)))
    page = await store.find(Query(parent_id=parent), limit=1)
    rest = await store.find(Query(parent_id=parent), page.next, limit=1)

    assert [each.id for each in late.records] == [jobs[1].id]
    assert [each.id for each in (*page.records, *rest.records)] == [jobs[1].id, jobs[0].id]
    assert (await store.find(Query(parent_id=jobs[0].id.hex()))).records == []


async def test_an_erased_child_is_found_no_more(store: Store) -> None:
    session, lease = await running(store)
    job = follow_up(store, lease)
    await settle(store, session, lease, follow_ups=(job,))
    await store.alter([job.id], Change(kind="cancel"))
    await store.alter([job.id], Change(kind="erase"))

    assert await children(store, lease.id) == []
