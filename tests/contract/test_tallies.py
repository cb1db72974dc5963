"""What each kind of end counts against, and the clean slate after an operator's retry."""

from __future__ import annotations

import pytest

from noria.backends.contract import Change, Parts
from noria.model.outcome import Outcome, Tally
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import one, record, state
from tests.contract.workers import WHY, crash, running, settle, take, worker

NOTHING = Tally(attempts=5, crash_budget=3)


@pytest.mark.parametrize(
    ("final", "outcome", "counted"),
    [
        (State.RETRYING, Outcome.FAILED, {"spent": 1}),
        (State.RETRYING, Outcome.TIMED_OUT, {"spent": 1}),
        (State.FAILED, Outcome.FAILED, {"spent": 1}),
        (State.FAILED, Outcome.TIMED_OUT, {"spent": 1}),
        (State.SCHEDULED, Outcome.SNOOZED, {"snoozes": 1}),
        (State.QUEUED, Outcome.RELEASED, {"releases": 1}),
        (State.SUCCEEDED, Outcome.SUCCEEDED, {}),
        (State.CANCELLED, Outcome.CANCELLED, {}),
        (State.PARKED, Outcome.RELEASED, {}),
    ],
    ids=lambda each: each.word if isinstance(each, State | Outcome) else "",
)
async def test_an_end_counts_where_it_should(
    store: Store, final: State, outcome: Outcome, counted: dict[str, int]
) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, final, outcome=outcome)

    tally = (await record(store, lease.id)).tally

    assert tally == Tally(attempts=5, crash_budget=3, **counted)


async def test_the_next_lease_brings_the_tally(store: Store) -> None:
    session, lease = await running(store)
    for final in (State.RETRYING, State.QUEUED, State.SCHEDULED, State.RETRYING):
        await settle(store, session, lease, final)
        (lease,) = await take(store, session)

    assert lease.tally == Tally(spent=2, attempts=5, crash_budget=3, releases=1, snoozes=1)
    assert lease.starts == 5


async def test_a_crash_counts_as_a_crash_and_as_no_attempt(store: Store) -> None:
    id = await one(store)
    await crash(store, id, 2)

    assert (await record(store, id)).tally == Tally(attempts=5, crash_budget=3, crashes=2)


async def test_an_operators_retry_begins_with_a_clean_slate(store: Store) -> None:
    id = await one(store, expires=store.clock.wall() + 50, deadline=store.clock.wall() + 60)
    await crash(store, id, 2)
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease, State.FAILED)
    await store.advance(100)

    await store.alter([id], Change(kind="retry", note="by hand"))
    await store.restart()

    found = await record(store, id)
    assert (found.state, found.tally, found.dead) == (State.QUEUED, NOTHING, False)
    assert (found.expires, found.deadline, found.finished) == (None, None, None)
    (again,) = await take(store, session)
    assert (again.id, again.starts, again.tally) == (id, 4, NOTHING)


async def test_an_operators_retry_drops_the_old_result(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.FAILED)
    await store.alter([lease.id], Change(kind="retry"))

    found = await record(store, lease.id, Parts.RESULT)

    assert (found.result, found.state) == (None, State.QUEUED)


async def test_a_snoozed_job_may_snooze_for_a_long_time(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.SCHEDULED, delay=40 * 86_400.0)
    await store.advance(41 * 86_400.0)

    assert [each.id for each in await take(store, await worker(store))] == [lease.id]


async def test_a_release_keeps_the_last_failure_for_readers(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.RETRYING)
    (lease,) = await take(store, session)
    await settle(store, session, lease, State.QUEUED)

    assert (await record(store, lease.id)).failure == WHY


async def test_a_released_job_can_be_leased_at_once(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.QUEUED)

    assert [each.id for each in await take(store, session)] == [lease.id]
    assert await state(store, lease.id) is State.RUNNING
