"""Settling: one step for each start, fenced, and safe to repeat."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from noria.backends.contract import Change, Fence, Parts, Verdict
from noria.errors import Unknown
from noria.ids import SessionId
from noria.model.job import Lease, Record
from noria.model.limits import MAX_LOG
from noria.model.outcome import Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import FINAL, State
from tests.contract.store import Store
from tests.contract.words import enqueue, one, record, state
from tests.contract.workers import ENDS, WHY, end, fence, running, settle, take, take_all, worker


async def one_of_each(store: Store) -> tuple[SessionId, list[Lease], list[Settlement]]:
    """A session that holds a job for every way to end, and those ends."""
    await enqueue(store, len(ENDS))
    session = await worker(store)
    leases = await take_all(store, session)
    ends = [
        end(lease, state, outcome=outcome, delay=60)
        for lease, (state, outcome) in zip(leases, ENDS, strict=True)
    ]
    return session, leases, ends


async def records(store: Store, leases: list[Lease]) -> list[Record | None]:
    return await store.get([lease.id for lease in leases], Parts.ALL)


async def test_a_start_ends_as_its_worker_says(store: Store) -> None:
    session, leases, ends = await one_of_each(store)

    verdicts = [await store.settle(session, [each]) for each in ends]
    await store.restart()

    assert verdicts == [[Verdict.OK]] * len(ends)
    assert [found and found.state for found in await records(store, leases)] == [each.state for each in ends]


async def test_a_repeated_settle_says_already_and_changes_nothing(store: Store) -> None:
    session, leases, ends = await one_of_each(store)
    await store.settle(session, ends)
    before = await records(store, leases)
    await store.restart()

    verdicts = [await store.settle(session, [each]) for each in ends]

    assert verdicts == [[Verdict.ALREADY]] * len(ends)
    assert await records(store, leases) == before


async def test_the_first_settle_of_a_start_wins(store: Store) -> None:
    session, leases, ends = await one_of_each(store)
    await store.settle(session, ends)
    before = await records(store, leases)
    others = [end(lease, State.FAILED if n == 0 else State.SUCCEEDED) for n, lease in enumerate(leases)]

    assert await store.settle(session, others) == [Verdict.ALREADY] * len(ends)
    assert await records(store, leases) == before


async def test_a_settle_after_the_session_ended_is_stale(store: Store) -> None:
    session, leases, ends = await one_of_each(store)
    await store.end(session)
    before = await records(store, leases)

    verdicts = [await store.settle(session, [each]) for each in ends]

    assert verdicts == [[Verdict.STALE]] * len(ends)
    assert await records(store, leases) == before


async def test_a_settle_by_another_session_is_stale(store: Store) -> None:
    _, lease = await running(store)

    assert await settle(store, await worker(store), lease) is Verdict.STALE
    assert await state(store, lease.id) is State.RUNNING


async def test_a_settle_by_a_session_that_was_never_opened_is_stale(store: Store) -> None:
    _, lease = await running(store)

    assert await settle(store, SessionId(99), lease) is Verdict.STALE


@pytest.mark.parametrize("starts", [0, 2, -1, 1_000])
async def test_a_settle_of_another_start_is_stale(store: Store, starts: int) -> None:
    session, lease = await running(store)

    assert await settle(store, session, Fence(lease.id, starts)) is Verdict.STALE
    assert await state(store, lease.id) is State.RUNNING


async def test_a_settle_of_a_job_that_does_not_exist_is_stale(store: Store) -> None:
    session = await worker(store)

    assert await settle(store, session, Fence(store.ids.next(), 1)) is Verdict.STALE


async def test_a_settle_of_a_job_that_does_not_run_is_stale(store: Store) -> None:
    id = await one(store)
    session = await worker(store)

    for starts in (0, 1):
        assert await settle(store, session, Fence(id, starts)) is Verdict.STALE
    assert await state(store, id) is State.QUEUED


async def test_an_earlier_start_of_the_same_session_is_stale(store: Store) -> None:
    """Attempt numbers are no fence: the same worker gets the job again."""
    session, first = await running(store)
    await settle(store, session, first, State.QUEUED)
    (second,) = await take(store, session)

    assert await settle(store, session, first) is Verdict.STALE
    assert await settle(store, session, second) is Verdict.OK


async def test_an_operators_retry_makes_no_old_settle_valid(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.FAILED)
    await store.alter([lease.id], Change(kind="retry"))

    assert await settle(store, session, lease) is not Verdict.OK
    assert await state(store, lease.id) is State.QUEUED


async def test_a_stale_worker_changes_nothing_in_a_thousand_tries(store: Store) -> None:
    """G2: whatever it sends, and however the job goes on meanwhile."""
    session, lost = await running(store, attempts=50)
    await store.end(session)
    rng = random.Random(7)
    holder, lease = await next_holder(store)
    for _ in range(10):
        forged = [forgery(rng, lost) for _ in range(100)]
        before = await record(store, lost.id, Parts.ALL)

        verdicts = await store.settle(session, forged)

        assert set(verdicts) == {Verdict.STALE}
        assert await record(store, lost.id, Parts.ALL) == before
        assert await settle(store, holder, lease, State.RETRYING) is Verdict.OK
        holder, lease = await next_holder(store)


async def next_holder(store: Store) -> tuple[SessionId, Lease]:
    session = await worker(store)
    (lease,) = await take(store, session)
    return session, lease


def forgery(rng: random.Random, lost: Lease) -> Settlement:
    state, outcome = rng.choice(ENDS)
    starts = lost.starts + rng.choice([0, 0, 0, 1, 2, 3])
    return Settlement(lost.id, starts, outcome, state, rng.random(), b'"forged"', failure=WHY)


async def test_a_stale_item_leaves_its_neighbours_alone(store: Store) -> None:
    await enqueue(store, 3)
    session = await worker(store)
    first, second, third = await take(store, session)
    stale = Fence(second.id, 7)

    verdicts = await store.settle(session, [end(first), end(stale), end(third)])

    assert verdicts == [Verdict.OK, Verdict.STALE, Verdict.OK]
    assert [await state(store, each.id) for each in (first, second, third)] == [
        State.SUCCEEDED,
        State.RUNNING,
        State.SUCCEEDED,
    ]


BAD: list[dict[str, Any]] = [
    {"result": b'"' + b"x" * 2_000_000 + b'"'},
    {"result": b"\xff\xfe"},
    {"result": b"\x00"},
    {"result": b"not json"},
    {"result": b""},
    {"codec": "a\x00b"},
    {"codec": "\ud800"},
    {"state": State.RUNNING, "outcome": Outcome.FAILED},
    {"state": State.RETRYING, "delay": float("inf"), "outcome": Outcome.FAILED},
    {"state": State.RETRYING, "delay": float("nan"), "outcome": Outcome.FAILED},
    {"state": State.RETRYING, "delay": 1e300, "outcome": Outcome.FAILED},
    {"state": State.FAILED, "outcome": Outcome.FAILED, "failure": Failure("exception", "\ud800\x00")},
    {"began": float("nan")},
    {"began": -1e300},
]
"""Ends that cannot be stored as they are, or might not be."""


async def test_an_end_that_cannot_be_stored_leaves_its_neighbours_alone(store: Store) -> None:
    """D6. What becomes of the bad one is recorded, so that it does not run for ever."""
    session = await worker(store)
    for bad in BAD:
        await enqueue(store, 3)
        first, second, third = await take(store, session)

        verdicts = await store.settle(session, [end(first), end(second, **bad), end(third)])

        assert (verdicts[0], verdicts[2]) == (Verdict.OK, Verdict.OK), bad
        assert await state(store, first.id) is await state(store, third.id) is State.SUCCEEDED, bad
        assert await state(store, second.id) is not State.RUNNING, bad
        await store.recall(session, [])


async def test_one_start_twice_in_a_batch_is_ended_once(store: Store) -> None:
    session, lease = await running(store)

    verdicts = await store.settle(session, [end(lease), end(lease, State.FAILED)])

    assert sorted(verdict.value for verdict in verdicts) == ["already", "ok"]


async def test_an_empty_settle_is_answered_by_nothing(store: Store) -> None:
    assert await store.settle(await worker(store), []) == []


async def test_verdicts_come_in_the_order_of_the_ends(store: Store) -> None:
    await enqueue(store, 60)
    session = await worker(store)
    leases = await take_all(store, session)
    await store.settle(session, [end(lease) for lease in leases[::3]])
    await store.recall(session, [fence(lease) for lease in leases[1::3] + leases[::3]])
    ends = [end(lease, State.FAILED if n % 2 else State.SUCCEEDED) for n, lease in enumerate(leases)]

    verdicts = await store.settle(session, ends)

    assert verdicts == [Verdict.ALREADY, Verdict.OK, Verdict.STALE] * 20


async def test_a_thousand_ends_of_every_kind_are_one_call(store: Store) -> None:
    await enqueue(store, 1_000, attempts=5)
    session = await worker(store)
    leases = await take_all(store, session)
    ends = [end(lease, ENDS[n % len(ENDS)][0], delay=60) for n, lease in enumerate(leases)]

    verdicts = await store.settle(session, ends)

    assert set(verdicts) == {Verdict.OK}
    records = await store.get([lease.id for lease in leases])
    assert [each and each.state for each in records] == [each.state for each in ends]


async def test_a_result_is_there_as_soon_as_the_job_is_final(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, result=b'{"a": 1}')
    await store.restart()

    found = await record(store, lease.id, Parts.RESULT)

    assert (found.state, found.result, found.result_codec) == (State.SUCCEEDED, b'{"a": 1}', "json")
    assert found.finished == pytest.approx(store.clock.wall())


async def test_a_success_may_have_no_value(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, result=None)

    assert (await record(store, lease.id, Parts.RESULT)).result is None


async def test_a_failure_is_there_to_be_read(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.FAILED)

    found = await record(store, lease.id)

    assert (found.failure, found.dead) == (WHY, True)


async def test_a_success_after_failures_tells_of_none(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.RETRYING)
    (again,) = await take(store, session)
    await settle(store, session, again)

    found = await record(store, lease.id, Parts.LOG)

    assert found.failure is None
    assert [(start.number, start.outcome) for start in found.log] == [
        (1, Outcome.FAILED),
        (2, Outcome.SUCCEEDED),
    ]


async def test_the_log_tells_of_each_start(store: Store) -> None:
    session, lease = await running(store)
    began = store.clock.wall() + 1
    await store.advance(3)
    await settle(store, session, lease, State.FAILED, began=began)

    (start,) = (await record(store, lease.id, Parts.LOG)).log

    assert (start.number, start.outcome, start.worker, start.failure) == (1, Outcome.FAILED, "w", WHY)
    assert (start.began, start.ended) == (pytest.approx(began), pytest.approx(store.clock.wall()))


async def test_the_log_is_bounded_and_keeps_the_newest(store: Store) -> None:
    await one(store)
    session = await worker(store)
    for _ in range(MAX_LOG + 5):
        (lease,) = await take(store, session)
        await settle(store, session, lease, State.QUEUED)

    log = (await record(store, lease.id, Parts.LOG)).log

    assert [start.number for start in log] == list(range(6, MAX_LOG + 6))


async def test_concurrent_settles_of_one_start_are_accepted_once(store: Store) -> None:
    session, lease = await running(store)
    other = await store.join()

    told = await asyncio.gather(*(process.settle(session, [end(lease)]) for process in (store, other) * 5))

    assert sorted(verdict.value for (verdict,) in told) == ["already"] * 9 + ["ok"]


@pytest.mark.parametrize("final", sorted(FINAL), ids=lambda state: state.word)
async def test_an_outcome_is_final(store: Store, final: State) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, final)
    await store.advance(60)
    await store.sweep()

    assert await take(store, session) == []
    assert await state(store, lease.id) is final


@pytest.mark.store(restarts=False)
async def test_a_settle_that_is_killed_can_be_repeated(store: Store) -> None:
    ids = await enqueue(store, 600)
    session = await worker(store)
    leases = await take_all(store, session)
    batches = [[end(lease) for lease in leases[start : start + 20]] for start in range(0, 600, 20)]

    told = await store.killed_during([store.settle(session, each) for each in batches], answers=10)
    for ends, answer in zip(batches, told, strict=True):
        again = await store.settle(session, ends)
        assert set(again) <= (
            {Verdict.OK, Verdict.ALREADY} if isinstance(answer, Unknown) else {Verdict.ALREADY}
        )
        assert len(set(again)) == 1

    records = await store.get(ids)
    assert {each and each.state for each in records} == {State.SUCCEEDED}
