"""How long records stay, and that none goes before its time."""

from __future__ import annotations

import pytest

from noria.backends.contract import Change, Parts, Query, Verdict
from noria.ids import Id
from noria.model.job import Receipt
from noria.model.limits import KEEP_DEAD, KEEP_SUCCEEDED
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import enqueue, new, one, record, state, swept
from tests.contract.workers import end, running, settle, take_all, worker

DAY = 86_400.0


async def finished(store: Store, n: int = 1, final: State = State.SUCCEEDED, **fields: object) -> list[Id]:
    """Jobs with this outcome."""
    ids = await enqueue(store, n, **fields)
    session = await worker(store)
    leases = await take_all(store, session)
    await store.settle(session, [end(lease, final) for lease in leases])
    return ids


async def there(store: Store, ids: list[Id]) -> int:
    return sum(found is not None for found in await store.get(ids))


async def test_a_job_with_no_keep_is_erased_at_success_and_counted(store: Store) -> None:
    ids = await finished(store, 3, keep=0.0)
    await store.restart()

    assert await store.get(ids) == [None] * 3
    assert (await store.counts()).erased == 3


async def test_a_repeated_push_of_an_erased_job_does_not_run_it_again(store: Store) -> None:
    (id,) = await finished(store, keep=0.0)
    await store.restart()

    receipts = await store.push([new(store, id=id)])

    assert receipts == [Receipt("existing", id, "id")]
    assert await take_all(store, await worker(store)) == []


async def test_a_repeated_settle_of_an_erased_job_says_already(store: Store) -> None:
    session, lease = await running(store, keep=0.0)
    await settle(store, session, lease)
    await store.restart()

    assert await settle(store, session, lease) is Verdict.ALREADY


@pytest.mark.parametrize("final", [State.FAILED, State.CANCELLED, State.EXPIRED], ids=lambda each: each.word)
async def test_a_job_with_no_keep_that_did_not_succeed_stays(store: Store, final: State) -> None:
    """Nothing silent: only success may leave no trace."""
    (id,) = await finished(store, final=final, keep=0.0)

    assert await state(store, id) is final


async def test_a_keep_of_its_own_rules(store: Store) -> None:
    short = await finished(store, keep=10.0)
    long = await finished(store, keep=10 * DAY)
    await store.advance(9)
    await swept(store)
    before = await there(store, short)
    await store.advance(2)
    await swept(store)
    after = await there(store, short)
    await store.advance(5 * DAY)
    await swept(store)

    assert (before, after, await there(store, long)) == (1, 0, 1)


@pytest.mark.parametrize(
    "final", [State.SUCCEEDED, State.CANCELLED, State.EXPIRED], ids=lambda each: each.word
)
async def test_ended_jobs_stay_for_a_day(store: Store, final: State) -> None:
    ids = await finished(store, 3, final)
    await store.advance(KEEP_SUCCEEDED - 1)
    await swept(store)
    before = await there(store, ids)
    await store.advance(2)
    await swept(store)

    assert (before, await there(store, ids)) == (3, 0)


async def test_dead_letters_stay_for_two_weeks(store: Store) -> None:
    ids = await finished(store, 3, State.FAILED)
    await store.advance(KEEP_DEAD - 1)
    await swept(store)
    before = await there(store, ids)
    await store.advance(2)
    await swept(store)

    assert (before, await there(store, ids)) == (3, 0)
    assert (await store.counts()).queues.get("mail") is None or (await store.counts()).queues[
        "mail"
    ].dead == 0


async def test_a_discarded_job_goes_like_any_ended_job(store: Store) -> None:
    ids = await finished(store, 1, State.FAILED)
    await store.alter(ids, Change(kind="discard"))
    await store.advance(KEEP_SUCCEEDED + 1)
    await swept(store)

    assert await there(store, ids) == 0


async def test_a_retried_job_does_not_go_while_it_lives(store: Store) -> None:
    ids = await finished(store, 1, State.FAILED)
    await store.alter(ids, Change(kind="retry"))
    await store.advance(KEEP_DEAD + KEEP_SUCCEEDED)
    await swept(store)

    assert await state(store, ids[0]) is State.QUEUED


@pytest.mark.parametrize("fields", [{}, {"delay": 100 * DAY}], ids=["queued", "scheduled"])
async def test_a_live_job_never_goes(store: Store, fields: dict[str, float]) -> None:
    id = await one(store, **fields)
    await store.advance(60 * DAY)
    await swept(store)

    assert not (await state(store, id)).final


async def test_a_running_job_never_goes(store: Store) -> None:
    session, lease = await running(store)
    await store.advance(60 * DAY)
    await swept(store)

    assert (await settle(store, session, lease)).value == "ok"


@pytest.mark.store(keep_succeeded_at_most=100)
async def test_no_more_records_than_the_cap_are_kept_and_the_newest_stay(store: Store) -> None:
    ids = []
    for _ in range(5):
        ids += await finished(store, 50)
        await store.advance(1)
    await swept(store)

    assert await there(store, ids[:150]) == 0
    assert await there(store, ids[150:]) == 100


@pytest.mark.store(keep_succeeded_at_most=100)
async def test_settling_alone_keeps_a_store_at_its_cap(store: Store) -> None:
    for _ in range(10):
        await finished(store, 50)
        await store.advance(1)

    kept = (await store.counts()).queues["mail"].states.get(State.SUCCEEDED, 0)

    assert kept <= 100


@pytest.mark.store(keep_succeeded_at_most=10)
async def test_the_cap_leaves_dead_letters_alone(store: Store) -> None:
    dead = await finished(store, 20, State.FAILED)
    await store.advance(1)
    await finished(store, 50)
    await swept(store)

    assert await there(store, dead) == 20


@pytest.mark.store(keep_succeeded=5.0, keep_dead=50.0)
async def test_the_times_can_be_set(store: Store) -> None:
    ended, dead = await finished(store), await finished(store, 1, State.FAILED)
    await store.advance(6)
    await swept(store)
    after = (await there(store, ended), await there(store, dead))
    await store.advance(50)
    await swept(store)

    assert (after, await there(store, dead)) == ((0, 1), 0)


async def test_pruning_is_bounded_and_says_that_there_is_more(store: Store) -> None:
    """R7."""
    await finished(store, 2_500)
    await store.advance(KEEP_SUCCEEDED + 1)

    seen = [await store.sweep(1_000) for _ in range(3)]

    assert [each.pruned for each in seen] == [1_000, 1_000, 500]
    assert [each.more for each in seen] == [True, True, False]
    assert (await store.find(Query())).records == []


async def test_a_pruned_job_takes_its_large_parts_along(store: Store) -> None:
    big = b'"' + b"x" * 100_000 + b'"'
    ids = await enqueue(store, 3, body=big)
    session = await worker(store)
    for lease in await take_all(store, session):
        assert lease.body == big
        await settle(store, session, lease, result=big)
    found = [await record(store, id, Parts.ALL) for id in ids]
    await store.advance(KEEP_SUCCEEDED + 1)
    await swept(store)

    assert [(each.body, each.result) for each in found] == [(big, big)] * 3
    await store.push([new(store, id=id, body=b"[]") for id in ids])
    assert [(await record(store, id, Parts.ALL)).result for id in ids] == [None] * 3
