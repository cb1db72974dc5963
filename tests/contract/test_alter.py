"""What a person does to jobs: cancel, retry, discard; by the table of states, and safe to repeat."""

from __future__ import annotations

import asyncio

import pytest

from noria.backends.contract import Altered, Cancellation, Change, Fence, Parts, Verdict
from noria.ids import Id
from noria.model.limits import MAX_MESSAGE
from noria.model.mark import Mark
from noria.model.outcome import Outcome
from noria.model.state import FINAL, State
from tests.contract.store import Store
from tests.contract.words import ALONE, enqueue, new, one, record, state, swept
from tests.contract.workers import crash, fence, running, settle, take, worker

CANCEL = Change(kind="cancel", note="not needed")
RETRY = Change(kind="retry", note="try again")
DISCARD = Change(kind="discard", note="seen")
WAITING = [State.QUEUED, State.SCHEDULED, State.RETRYING, State.PARKED]
by_word = pytest.mark.parametrize("final", sorted(FINAL), ids=lambda state: state.word)


async def standing(store: Store, wanted: State, **fields: object) -> Id:
    """A job in this state."""
    if wanted is State.SCHEDULED:
        return await one(store, delay=60, **fields)
    if wanted is State.QUEUED:
        return await one(store, **fields)
    session, lease = await running(store, **fields)
    if wanted is State.ASKING:
        await store.mark(session, [Mark(lease.id, lease.starts, asks="q")])
    elif wanted is not State.RUNNING:
        await settle(store, session, lease, wanted, delay=60)
    return lease.id


async def alter(store: Store, id: Id, change: Change) -> Altered:
    return (await store.alter([id], change))[0]


async def cancelled_because(store: Store, id: Id) -> str:
    """The reason on the record of a job that was cancelled."""
    found = await record(store, id)
    assert found.state is State.CANCELLED
    assert found.failure is not None
    return found.failure.message


# -- cancel


@pytest.mark.parametrize("waiting", WAITING, ids=lambda state: state.word)
async def test_a_job_that_waits_is_cancelled_at_once(store: Store, waiting: State) -> None:
    """D14."""
    id = await standing(store, waiting)

    told = await alter(store, id, CANCEL)
    await store.restart()

    found = await record(store, id)
    assert told == Altered("done", State.CANCELLED)
    assert (found.state, found.finished) == (State.CANCELLED, pytest.approx(store.clock.wall()))
    assert found.failure is not None
    assert (found.failure.reason, found.failure.message) == ("cancelled", "not needed")


@pytest.mark.parametrize("waiting", WAITING, ids=lambda state: state.word)
async def test_a_cancelled_job_never_runs(store: Store, waiting: State) -> None:
    id = await standing(store, waiting, task="rare")
    await alter(store, id, CANCEL)
    await store.advance(120)
    await swept(store)

    assert await take(store, await worker(store, tasks=("rare",))) == []
    assert await state(store, id) is State.CANCELLED


async def test_a_repeated_cancel_gives_the_same_answer(store: Store) -> None:
    id = await one(store)
    first = await alter(store, id, CANCEL)
    await store.restart()

    assert await alter(store, id, CANCEL) == first


async def test_a_running_job_is_cancelled_through_its_worker(store: Store) -> None:
    session, lease = await running(store)

    told = await alter(store, lease.id, CANCEL)
    await store.restart()

    assert told == Altered("asked", State.RUNNING)
    assert (await store.renew(session)).cancels == (Cancellation(fence(lease), "not needed"),)
    found = await record(store, lease.id)
    assert found.cancelling and found.began is not None and found.cancelling_since is not None
    assert found.began <= found.cancelling_since


async def test_since_when_a_job_is_cancelling_is_when_that_was_first_asked_for(store: Store) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)
    first = (await record(store, lease.id)).cancelling_since
    await store.advance(0.5)
    await alter(store, lease.id, CANCEL)

    assert (await record(store, lease.id)).cancelling_since == first
    await settle(store, session, lease, State.CANCELLED)
    assert (await record(store, lease.id)).cancelling_since is None


async def test_an_order_to_cancel_is_repeated_until_it_was_acted_on(store: Store) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)
    seen = [(await store.renew(session)).cancels for _ in range(3)]

    await settle(store, session, lease, State.CANCELLED)

    assert seen == [(Cancellation(fence(lease), "not needed"),)] * 3
    assert (await store.renew(session)).cancels == ()


async def test_an_order_to_cancel_reaches_only_the_session_that_holds_the_job(store: Store) -> None:
    _, lease = await running(store)
    other = await worker(store)
    await alter(store, lease.id, CANCEL)

    assert (await store.renew(other)).cancels == ()


async def test_a_second_cancel_of_a_running_job_asks_no_second_time(store: Store) -> None:
    session, lease = await running(store)
    for _ in range(2):
        assert await alter(store, lease.id, CANCEL) == Altered("asked", State.RUNNING)

    assert (await store.renew(session)).cancels == (Cancellation(fence(lease), "not needed"),)


async def test_the_first_reason_for_a_cancel_counts(store: Store) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)
    await alter(store, lease.id, Change(kind="cancel", note="another reason"))

    assert [order.note for order in (await store.renew(session)).cancels] == ["not needed"]


async def test_a_long_reason_reaches_the_worker_as_far_as_it_is_kept(store: Store) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, Change(kind="cancel", note="n" * 100_000))

    assert [order.note for order in (await store.renew(session)).cancels] == ["n" * MAX_MESSAGE]


async def test_a_success_that_came_first_wins_over_a_cancel(store: Store) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)

    assert await settle(store, session, lease) is Verdict.OK
    assert await state(store, lease.id) is State.SUCCEEDED


@pytest.mark.parametrize(
    "again", [State.RETRYING, State.SCHEDULED, State.QUEUED, State.PARKED], ids=lambda state: state.word
)
async def test_a_job_to_be_cancelled_does_not_run_again(store: Store, again: State) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)

    assert await settle(store, session, lease, again) is Verdict.OK
    assert await cancelled_because(store, lease.id) == "not needed"


@pytest.mark.parametrize("begun", [True, False])
async def test_a_job_to_be_cancelled_is_cancelled_when_its_process_dies(store: Store, begun: bool) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)

    await store.end(session, started=[fence(lease)] if begun else [])

    assert await cancelled_because(store, lease.id) == "not needed"


async def test_a_job_to_be_cancelled_is_cancelled_when_it_is_recalled(store: Store) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)

    await store.recall(session, [])

    assert await cancelled_because(store, lease.id) == "not needed"


@by_word
async def test_an_ended_job_cannot_be_cancelled(store: Store, final: State) -> None:
    id = await standing(store, final)
    told = await alter(store, id, CANCEL)

    wanted = Altered("done" if final is State.CANCELLED else "refused", final)
    assert (told, await state(store, id)) == (wanted, final)


async def test_a_cancel_and_a_lease_at_once_have_one_winner(store: Store) -> None:
    """D14."""
    ids = await enqueue(store, 200)
    session = await worker(store)
    other = await store.join()

    leases, told = await asyncio.gather(take(store, session, 100), other.alter(ids, CANCEL))

    leased = {lease.id for lease in leases}
    for id, each in zip(ids, told, strict=True):
        found = await record(store, id)
        if id in leased:
            assert found.state is State.RUNNING
            assert found.cancelling == (each.status == "asked")
        else:
            assert (found.state, each.status) == (State.CANCELLED, "done")


# -- retry


@pytest.mark.parametrize("final", sorted(FINAL - {State.SUCCEEDED}), ids=lambda state: state.word)
async def test_an_ended_job_is_queued_again(store: Store, final: State) -> None:
    id = await standing(store, final)

    told = await alter(store, id, RETRY)
    await store.restart()

    assert told == Altered("done", State.QUEUED)
    assert [lease.id for lease in await take(store, await worker(store))] == [id]


async def test_a_success_is_not_retried(store: Store) -> None:
    id = await standing(store, State.SUCCEEDED)

    assert await alter(store, id, RETRY) == Altered("refused", State.SUCCEEDED)


@pytest.mark.parametrize("live", [*WAITING, State.RUNNING], ids=lambda state: state.word)
async def test_a_live_job_is_not_retried(store: Store, live: State) -> None:
    id = await standing(store, live)

    assert await alter(store, id, RETRY) == Altered("refused", live)
    assert await state(store, id) is live


async def test_a_repeated_retry_gives_the_same_answer(store: Store) -> None:
    id = await standing(store, State.FAILED)
    first = await alter(store, id, RETRY)
    await store.restart()

    assert await alter(store, id, RETRY) == first
    assert len(await take(store, await worker(store))) == 1


async def test_a_job_that_has_run_since_its_retry_is_live_like_any_other(store: Store) -> None:
    """Nothing silent: "done" would promise fresh attempts that it does not get."""
    id = await standing(store, State.FAILED)
    await alter(store, id, RETRY)
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease, State.RETRYING)
    await swept(store)

    assert await alter(store, id, RETRY) == Altered("refused", State.QUEUED)
    assert (await record(store, id)).tally.spent == 1


async def test_a_retried_job_takes_its_key_again(store: Store) -> None:
    id = await standing(store, State.FAILED, unique="k")
    await alter(store, id, RETRY)

    receipts = await store.push([new(store, unique="k")])

    assert (receipts[0].status, receipts[0].id) == ("existing", id)


async def test_a_retry_yields_to_a_live_job_with_its_key(store: Store) -> None:
    id = await standing(store, State.FAILED, unique="k")
    await one(store, unique="k")

    assert await alter(store, id, RETRY) == Altered("conflict", State.FAILED)
    assert await state(store, id) is State.FAILED


async def test_two_retries_of_one_key_in_a_batch_have_one_winner(store: Store) -> None:
    ids = [await standing(store, State.FAILED, unique="k") for _ in range(2)]

    told = await store.alter(ids, RETRY)

    assert sorted(each.status for each in told) == ["conflict", "done"]


async def test_a_retried_dead_letter_is_dead_no_more(store: Store) -> None:
    id = await one(store, crash_budget=1)
    await crash(store, id, 1)
    await alter(store, id, RETRY)

    counts = (await store.counts()).queues["mail"]
    assert ((await record(store, id)).dead, counts.dead) == (False, 0)


async def test_a_cancelled_running_job_that_is_retried_has_no_old_order(store: Store) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)
    await settle(store, session, lease, State.CANCELLED)
    await alter(store, lease.id, RETRY)
    (again,) = await take(store, session)

    assert again.starts == 2
    assert (await store.renew(session)).cancels == ()
    assert not (await record(store, lease.id)).cancelling


# -- discard


async def test_a_discarded_job_keeps_its_record_and_is_no_dead_letter(store: Store) -> None:
    id = await standing(store, State.FAILED)

    told = await alter(store, id, DISCARD)
    await store.restart()

    found = await record(store, id, Parts.LOG)
    assert told == Altered("done", State.FAILED)
    assert (found.state, found.dead) == (State.FAILED, False)
    assert [start.outcome for start in found.log] == [Outcome.FAILED]
    assert (await store.counts()).queues["mail"].dead == 0


async def test_a_repeated_discard_gives_the_same_answer(store: Store) -> None:
    id = await standing(store, State.FAILED)
    first = await alter(store, id, DISCARD)

    assert await alter(store, id, DISCARD) == first


async def test_a_discarded_job_can_still_be_retried(store: Store) -> None:
    id = await standing(store, State.FAILED)
    await alter(store, id, DISCARD)

    assert await alter(store, id, RETRY) == Altered("done", State.QUEUED)


async def test_only_a_failed_job_can_be_discarded(store: Store) -> None:
    for other in sorted(ALONE - {State.FAILED}):
        id = await standing(store, other, task="rare", queue=other.word)

        assert await alter(store, id, DISCARD) == Altered("refused", other)


# -- all of them


@pytest.mark.parametrize("change", [CANCEL, RETRY, DISCARD], ids=lambda change: change.kind)
async def test_a_job_that_does_not_exist_is_missing(store: Store, change: Change) -> None:
    assert await alter(store, store.ids.next(), change) == Altered("missing")


async def test_answers_come_in_the_order_of_the_ids(store: Store) -> None:
    first, second = await enqueue(store, 2)
    missing = store.ids.next()

    told = await store.alter([second, missing, first, second], CANCEL)

    assert [each.status for each in told] == ["done", "missing", "done", "done"]


async def test_a_thousand_jobs_are_changed_in_one_call(store: Store) -> None:
    ids = await enqueue(store, 1_000)

    told = await store.alter(ids, CANCEL)

    assert {each.status for each in told} == {"done"}
    assert (await store.counts()).queues["mail"].states == {State.CANCELLED: 1_000}


async def test_no_ids_are_answered_by_nothing(store: Store) -> None:
    assert await store.alter([], CANCEL) == []


@pytest.mark.parametrize(
    "note", ["", 'it\'s "quoted" \\ \n\t', "'; drop table jobs; --", "é😀\x7f", "x" * 500]
)
async def test_a_note_is_text_and_nothing_more(store: Store, note: str) -> None:
    id = await one(store)

    told = await alter(store, id, Change(kind="cancel", note=note))

    assert told.status == "done"
    failure = (await record(store, id)).failure
    assert failure is not None
    assert failure.message == note or note == ""


async def test_a_cancel_keeps_the_fence(store: Store) -> None:
    session, lease = await running(store)
    await alter(store, lease.id, CANCEL)

    assert await settle(store, session, Fence(lease.id, 2), State.CANCELLED) is Verdict.STALE
    assert await state(store, lease.id) is State.RUNNING
