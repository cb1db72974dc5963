"""Jobs that wait for others: what they wait for, and what becomes of them, however those end."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import pytest

from noria.backends.contract import Change, DocWrite, Query, Verdict
from noria.ids import Id
from noria.model.job import Extras, NewJob, Receipt
from noria.model.outcome import Failure
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, new, one, record, state, swept
from tests.contract.workers import crash, end, running, settle, take, take_all, worker

On = Literal["success", "complete", "failure"]

UNSUCCESSFUL = [State.FAILED, State.CANCELLED, State.EXPIRED]
FINAL = [State.SUCCEEDED, *UNSUCCESSFUL]
ONS: tuple[On, ...] = ("success", "complete", "failure")
HEIRS = "heirs"


def heir(store: Store, *parents: Id, on: On = "success", **fields: Any) -> NewJob:
    """A job that waits for others."""
    extras = Extras(after=tuple(parent.hex() for parent in parents), on=on)
    return new(store, **{"queue": HEIRS, "extras": extras, **fields})


async def waits(store: Store, *parents: Id, **fields: Any) -> Id:
    """Push one that does wait."""
    job = heir(store, *parents, **fields)
    assert await store.push([job]) == [Receipt("created", job.id)]
    return job.id


async def ended(store: Store, state: State, **fields: Any) -> Id:
    """A job that has ended like this."""
    session, lease = await running(store, **fields)
    await settle(store, session, lease, state)
    return lease.id


async def why(store: Store, id: Id) -> Failure:
    failure = (await record(store, id)).failure
    assert failure is not None
    return failure


# ---- waiting


async def test_a_job_waits_until_the_other_has_succeeded(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)
    await store.restart()

    found = await record(store, child)
    assert (found.state, found.awaits, found.extras.after) == (State.WAITING, (lease.id,), (lease.id.hex(),))
    assert await take(store, session, queue=HEIRS) == []

    await settle(store, session, lease)
    await store.restart()

    assert (await record(store, child)).awaits == ()
    assert [each.id for each in await take(store, session, queue=HEIRS)] == [child]


async def test_waiting_jobs_are_counted_as_such(store: Store) -> None:
    session, lease = await running(store)
    await waits(store, lease.id)
    assert (await store.counts()).queues[HEIRS].states == {State.WAITING: 1}

    await settle(store, session, lease)

    assert (await store.counts()).queues[HEIRS].states == {State.QUEUED: 1}


async def test_waiting_jobs_are_found(store: Store) -> None:
    parent = await one(store)
    child = await waits(store, parent)

    found = await store.find(Query(states=(State.WAITING,)))

    assert [each.id for each in found.records] == [child]


async def test_its_place_in_the_queue_is_that_of_a_job_that_comes_now(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)
    await store.advance(60)
    other = await one(store, queue=HEIRS)
    await store.advance(60)

    await settle(store, session, lease)

    assert [each.id for each in await take(store, session, queue=HEIRS)] == [other, child]


async def test_a_delay_goes_on_while_it_waits(store: Store) -> None:
    session, lease = await running(store)
    child, late = await waits(store, lease.id, delay=30.0), await waits(store, lease.id, delay=300.0)
    await store.advance(60)

    await settle(store, session, lease)

    assert [await state(store, id) for id in (child, late)] == [State.QUEUED, State.SCHEDULED]


async def test_it_waits_for_all_of_several(store: Store) -> None:
    parents = [await one(store) for _ in range(3)]
    child = await waits(store, *parents)
    session = await worker(store)

    for lease in await take_all(store, session):
        assert await state(store, child) is State.WAITING
        await settle(store, session, lease)

    assert await state(store, child) is State.QUEUED


async def test_several_that_end_together_count_each(store: Store) -> None:
    parents = [await one(store) for _ in range(3)]
    child = await waits(store, *parents)
    session = await worker(store)

    await store.settle(session, [end(lease) for lease in await take_all(store, session)])

    assert await state(store, child) is State.QUEUED


async def test_a_job_that_is_named_twice_counts_once(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id, lease.id)

    await settle(store, session, lease)

    assert await state(store, child) is State.QUEUED


async def test_a_retry_of_the_parent_is_no_end(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)

    await settle(store, session, lease, State.RETRYING, delay=10.0)

    assert await state(store, child) is State.WAITING


async def test_a_repeated_settle_counts_once(store: Store) -> None:
    session, lease = await running(store)
    other = await one(store, queue="other")
    child = await waits(store, lease.id, other)

    for _ in range(3):
        await settle(store, session, lease)

    assert await state(store, child) is State.WAITING


# ---- however the others end


@pytest.mark.parametrize("how", UNSUCCESSFUL, ids=lambda state: state.word)
async def test_if_one_does_not_succeed_it_is_cancelled_and_says_why(store: Store, how: State) -> None:
    session, lease = await running(store)
    other = await one(store, queue="other")
    child = await waits(store, other, lease.id)

    await settle(store, session, lease, how)

    failure = await why(store, child)
    assert await state(store, child) is State.CANCELLED
    assert failure.reason == "parent"
    assert how.word in failure.message and lease.id.hex()[-12:] in failure.message


@pytest.mark.parametrize("how", FINAL, ids=lambda state: state.word)
async def test_on_complete_it_runs_however_they_end(store: Store, how: State) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id, on="complete")

    await settle(store, session, lease, how)

    assert await state(store, child) is State.QUEUED


@pytest.mark.parametrize("how", FINAL, ids=lambda state: state.word)
async def test_on_failure_it_runs_if_one_did_not_succeed(store: Store, how: State) -> None:
    done = await ended(store, State.SUCCEEDED)
    session, lease = await running(store)
    child = await waits(store, done, lease.id, on="failure")

    await settle(store, session, lease, how)

    if how is State.SUCCEEDED:
        assert (await why(store, child)).reason == "parent"
    assert await state(store, child) is (State.CANCELLED if how is State.SUCCEEDED else State.QUEUED)


async def test_on_failure_it_waits_for_the_last(store: Store) -> None:
    first, second = await one(store), await one(store)
    child = await waits(store, first, second, on="failure")
    session = await worker(store)
    a, b = await take_all(store, session)

    await settle(store, session, a, State.FAILED)
    assert await state(store, child) is State.WAITING
    await settle(store, session, b)

    assert await state(store, child) is State.QUEUED


async def test_a_cancel_of_the_parent_before_it_runs(store: Store) -> None:
    parent = await one(store)
    child = await waits(store, parent)

    await store.alter([parent], Change(kind="cancel"))

    assert await state(store, child) is State.CANCELLED


async def test_the_expiry_of_a_parent_that_never_ran(store: Store) -> None:
    parent = await one(store, expires=store.clock.wall() + 10)
    child = await waits(store, parent)
    await store.advance(11)

    await swept(store)

    assert await state(store, child) is State.CANCELLED


async def test_a_parent_that_crashes_for_good(store: Store) -> None:
    parent = await one(store, crash_budget=1)
    child = await waits(store, parent)

    await crash(store, parent, 1)
    await swept(store)

    assert await state(store, child) is State.CANCELLED


async def test_a_parked_parent_that_nobody_comes_to_know(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)
    await settle(store, session, lease, State.PARKED)
    await store.advance(25 * 3600)

    await swept(store)

    assert await state(store, child) is State.CANCELLED


async def test_a_parent_that_is_erased_at_success(store: Store) -> None:
    session, lease = await running(store, keep=0.0)
    child = await waits(store, lease.id)

    await settle(store, session, lease)

    assert await state(store, child) is State.QUEUED


async def test_a_cascade_goes_to_the_end(store: Store) -> None:
    """Cancelling a job cancels what depends on it, and so on."""
    first = await one(store)
    line = [first]
    for _ in range(20):
        line.append(await waits(store, line[-1]))
    last = await waits(store, line[-1], on="complete")

    await store.alter([first], Change(kind="cancel", note="not needed"))

    assert {await state(store, id) for id in line} == {State.CANCELLED}
    assert await state(store, last) is State.QUEUED


async def test_whoever_waits_for_a_dependant_hears_of_its_end(local: Store) -> None:
    parent = await one(local)
    child = await waits(local, parent)
    async with local.listen(["reply:me"]) as hints:
        await local.get([child], watch="reply:me")
        await local.alter([parent], Change(kind="cancel"))
        async for hint in hints:
            if not hint.reset:
                break

    assert child.hex().encode() in hint.payload


async def test_the_counts_of_a_cascade_are_right(store: Store) -> None:
    parent = await one(store)
    child = await waits(store, parent)
    await waits(store, child)

    await store.alter([parent], Change(kind="cancel"))

    assert (await store.counts()).queues[HEIRS].states == {State.CANCELLED: 2}


# ---- what stands already when it is pushed


@pytest.mark.parametrize(("how", "on"), list(itertools.product(FINAL, ONS)))
async def test_a_parent_that_has_ended_counts_at_once(store: Store, how: State, on: On) -> None:
    parent = await ended(store, how)

    child = await waits(store, parent, on=on)

    runs = on == "complete" or (how is State.SUCCEEDED) == (on == "success")
    assert await state(store, child) is (State.QUEUED if runs else State.CANCELLED)


@pytest.mark.parametrize(("how", "on"), list(itertools.product(FINAL, ONS)))
async def test_a_parent_that_was_erased_by_a_person_counts_as_it_ended(
    store: Store, how: State, on: On
) -> None:
    parent = await ended(store, how)
    await store.alter([parent], Change(kind="erase"))

    child = await waits(store, parent, on=on)

    runs = on == "complete" or (how is State.SUCCEEDED) == (on == "success")
    assert await state(store, child) is (State.QUEUED if runs else State.CANCELLED)


async def test_a_parent_that_was_erased_at_success_has_succeeded(store: Store) -> None:
    parent = await ended(store, State.SUCCEEDED, keep=0.0)

    assert await state(store, await waits(store, parent)) is State.QUEUED


async def test_a_job_that_waits_for_one_that_is_not_there_is_rejected(store: Store) -> None:
    parent, missing = await one(store), store.ids.next()
    bad, good = heir(store, parent, missing), heir(store, parent)

    first, second = await store.push([bad, good])

    assert (first.status, second.status) == ("rejected", "created")
    assert "is not there" in first.why
    assert await store.get([bad.id]) == [None]


async def test_a_rejected_one_takes_a_call_with_documents_with_it(store: Store) -> None:
    bad = heir(store, store.ids.next())

    receipts = await store.push([new(store), bad], [DocWrite("k", "n", b"x")])

    assert {receipt.status for receipt in receipts} == {"rejected"}
    assert await store.read("k", ["n"]) == [None]


async def test_a_job_never_waits_for_itself_or_for_one_that_comes_later(store: Store) -> None:
    """So nothing can wait in a circle."""
    own = store.ids.next()
    first, second = store.ids.next(), store.ids.next()

    receipts = await store.push(
        [heir(store, own, id=own), heir(store, second, id=first), heir(store, first, id=second)]
    )

    assert {receipt.status for receipt in receipts} == {"rejected"}


async def test_a_whole_workflow_in_one_call(store: Store) -> None:
    a, b = new(store), new(store)
    c = heir(store, a.id, b.id)
    d = heir(store, c.id)

    receipts = await store.push([a, b, c, d])

    assert {receipt.status for receipt in receipts} == {"created"}
    assert [await state(store, job.id) for job in (c, d)] == [State.WAITING] * 2
    session = await worker(store)
    await store.settle(session, [end(lease) for lease in await take_all(store, session)])
    assert [await state(store, job.id) for job in (c, d)] == [State.QUEUED, State.WAITING]


async def test_a_repeated_push_of_a_workflow_changes_nothing(store: Store) -> None:
    a = new(store)
    b = heir(store, a.id)
    await store.push([a, b])
    await store.restart()

    again = await store.push([a, b])
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease)
    last = await store.push([a, b])

    assert [receipt.why for receipt in (*again, *last)] == ["id"] * 4
    assert await state(store, b.id) is State.QUEUED
    assert (await store.counts()).queues[HEIRS].states == {State.QUEUED: 1}


async def test_one_whose_parent_met_a_taken_key_waits_for_the_job_that_has_it(store: Store) -> None:
    session, holder = await running(store, unique="k")
    a = new(store, unique="k")
    b = heir(store, a.id)

    receipts = await store.push([a, b])
    assert receipts == [Receipt("existing", holder.id, "unique"), Receipt("created", b.id)]
    assert (await record(store, b.id)).awaits == (holder.id,)
    await settle(store, session, holder)

    assert await state(store, b.id) is State.QUEUED


# ---- what else happens to it


async def test_a_waiting_job_can_be_cancelled(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)

    (altered,) = await store.alter([child], Change(kind="cancel"))
    await settle(store, session, lease)

    assert (altered.status, altered.state) == ("done", State.CANCELLED)
    assert await state(store, child) is State.CANCELLED


@pytest.mark.parametrize("field", ["expires", "deadline"])
async def test_a_waiting_job_expires(store: Store, field: str) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id, **{field: store.clock.wall() + 10})
    await store.advance(11)

    await swept(store)
    await settle(store, session, lease)

    assert await state(store, child) is State.EXPIRED


async def test_it_keeps_its_unique_key_while_it_waits(store: Store) -> None:
    parent = await one(store)
    child = await waits(store, parent, unique="k")

    (receipt,) = await store.push([new(store, unique="k")])

    assert (receipt.status, receipt.id) == ("existing", child)


async def test_a_waiting_job_is_not_let_run_before_its_time(store: Store) -> None:
    parent = await one(store)
    child = await waits(store, parent)

    (altered,) = await store.alter([child], Change(kind="run"))

    assert (altered.status, altered.state) == ("refused", State.WAITING)


async def test_a_waiting_job_can_be_edited_and_moved_and_waits_on(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)

    (edited,) = await store.alter([child], Change(kind="edit", priority=5, run_at=store.clock.wall() + 60))
    (moved,) = await store.alter([child], Change(kind="move", queue="elsewhere"))
    found = await record(store, child)
    assert [edited.status, moved.status] == ["done", "done"]
    assert (found.state, found.priority, found.queue) == (State.WAITING, 5, "elsewhere")
    await settle(store, session, lease)

    assert await state(store, child) is State.SCHEDULED


async def test_one_that_was_cancelled_runs_when_a_person_retries_it(store: Store) -> None:
    """It waits for nobody any more; a retried parent does not bring it back by itself."""
    parent = await ended(store, State.FAILED)
    child = await waits(store, parent)
    assert await state(store, child) is State.CANCELLED

    await store.alter([parent], Change(kind="retry"))
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease)
    assert await state(store, child) is State.CANCELLED
    await store.alter([child], Change(kind="retry"))

    assert await state(store, child) is State.QUEUED


async def test_a_follow_up_may_wait_for_other_jobs(store: Store) -> None:
    other = await one(store, queue="other")
    session, lease = await running(store)
    first, last = new(store, queue=HEIRS), store.ids.next()
    child = heir(store, first.id, other, lease.id, id=last)

    assert await settle(store, session, lease, follow_ups=(first, child)) is Verdict.OK

    assert await state(store, last) is State.WAITING
    assert set((await record(store, last)).awaits) == {first.id, other}


async def test_a_follow_up_that_waits_for_one_that_is_not_there_is_cancelled(store: Store) -> None:
    """The parent's success stands; nothing is dropped in silence."""
    session, lease = await running(store)
    child = heir(store, store.ids.next())

    assert await settle(store, session, lease, follow_ups=(child,)) is Verdict.OK

    assert await state(store, lease.id) is State.SUCCEEDED
    assert (await why(store, child.id)).reason == "parent"


# ---- many


async def test_more_than_a_step_tells_are_told_by_sweeps(store: Store) -> None:
    session, lease = await running(store)
    for _ in range(3):
        await store.push([heir(store, lease.id) for _ in range(800)])

    await settle(store, session, lease)
    first = (await store.counts()).queues[HEIRS].states
    await store.restart()
    await swept(store)

    assert 0 < first[State.WAITING] <= 1_600
    assert (await store.counts()).queues[HEIRS].states == {State.QUEUED: 2_400}


async def test_a_job_waits_for_many(store: Store) -> None:
    parents = [new(store) for _ in range(999)]
    child = heir(store, *(parent.id for parent in parents))
    await store.push([*parents, child])
    session = await worker(store)

    leases = await take_all(store, session)
    await store.settle(session, [end(lease) for lease in leases[1:]])
    assert await state(store, child.id) is State.WAITING
    await settle(store, session, leases[0])

    assert await state(store, child.id) is State.QUEUED


async def test_what_was_not_told_survives_the_record_of_who_has_ended(store: Store) -> None:
    session, lease = await running(store, keep=0.0)
    for _ in range(2):
        await store.push([heir(store, lease.id) for _ in range(900)])

    await settle(store, session, lease)
    await store.advance(3 * 3600)
    await swept(store)

    assert (await store.counts()).queues[HEIRS].states == {State.QUEUED: 1_800}
    assert QUEUE
