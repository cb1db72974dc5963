"""Sessions: a worker's life, ended once, after which nothing of it is accepted."""

from __future__ import annotations

import asyncio

import pytest

from noria.backends.contract import Ended, Evidence, Fence, Orders, Parts, Verdict, Vitals
from noria.ids import SessionId
from noria.model.limits import CRASH_BUDGET
from noria.model.outcome import Outcome
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import enqueue, one, record, state, swept
from tests.contract.workers import crash, end, fence, running, settle, take, take_all, worker


async def beat_of(store: Store, session: SessionId) -> int:
    """The beat of a session that looks overdue."""
    return next(each.beat for each in await store.overdue() if each.session == session)


# -- life


async def test_two_workers_of_one_name_have_two_sessions(store: Store) -> None:
    """W18."""
    first, second = await worker(store, worker="same"), await worker(store, worker="same")

    assert first != second
    assert 0 < first < 2**63


async def test_a_session_lives_on_through_a_restart(store: Store) -> None:
    session = await worker(store)
    await store.restart()

    assert await store.renew(session) == Orders()


async def test_a_session_that_was_never_opened_is_lost(store: Store) -> None:
    assert (await store.renew(SessionId(4))).lost


async def test_a_renewal_moves_the_deadline(store: Store) -> None:
    session = await worker(store, ttl=10.0)
    for _ in range(5):
        await store.advance(8)
        await store.renew(session)

    assert await store.overdue() == []


async def test_a_session_is_overdue_once_its_time_is_over(store: Store) -> None:
    session = await worker(store, ttl=10.0, worker="slow")
    await store.advance(9.9)
    before = await store.overdue()
    await store.advance(0.2)

    (after,) = await store.overdue()

    assert before == []
    assert (after.session, after.worker) == (session, "slow")


async def test_an_overdue_session_that_was_not_ended_may_go_on(store: Store) -> None:
    """A session's end is an event, not a time."""
    session, lease = await running(store)
    await store.advance(3_600)

    assert await settle(store, session, lease) is Verdict.OK
    assert await store.renew(session) == Orders()
    assert await store.overdue() == []


async def test_each_renewal_raises_the_beat(store: Store) -> None:
    session = await worker(store, ttl=1.0)
    beats = []
    for _ in range(3):
        await store.advance(2)
        beats.append(await beat_of(store, session))
        await store.renew(session)

    assert beats == [beats[0], beats[0] + 1, beats[0] + 2]


async def test_counts_list_live_workers_with_their_vitals(store: Store) -> None:
    session = await worker(store, worker="w1", slots=4)
    await store.advance(1)
    vitals = Vitals(running=3, buffered=2, unsettled=1, settled=17, lag=0.25, memory=1 << 30)
    await store.renew(session, vitals)

    (line,) = (await store.counts()).workers

    assert (line.session, line.card.worker, line.card.slots, line.vitals) == (session, "w1", 4, vitals)
    assert line.opened == pytest.approx(store.clock.wall() - 1)
    assert line.seen == pytest.approx(store.clock.wall())


async def test_an_ended_worker_is_not_listed(store: Store) -> None:
    session = await worker(store)
    await store.end(session)

    assert (await store.counts()).workers == []


async def test_a_worker_that_was_not_renewed_in_time_is_not_listed_until_it_is(store: Store) -> None:
    session = await worker(store, ttl=10.0)
    await store.advance(11)
    late = (await store.counts()).workers
    await store.renew(session)

    assert (late, [each.session for each in (await store.counts()).workers]) == ([], [session])


# -- the end


async def test_an_ended_session_is_refused_everything(store: Store) -> None:
    """W7: a renewal never revives."""
    session, lease = await running(store)
    await store.end(session, started=[fence(lease)])
    await store.restart()

    assert (await store.renew(session)).lost
    assert await settle(store, session, lease) is Verdict.STALE
    assert await take(store, session) == []
    assert await store.recall(session, []) == 0
    assert await store.overdue() == []


async def test_an_end_needs_the_beat_that_was_seen(store: Store) -> None:
    session = await worker(store, ttl=1.0)
    await store.advance(5)
    seen = await beat_of(store, session)
    await store.renew(session)

    assert await store.end(session, if_beat=seen) == Ended(ended=False)
    assert await store.renew(session) == Orders()


async def test_an_end_with_the_beat_that_was_seen_is_done(store: Store) -> None:
    session = await worker(store, ttl=1.0)
    await store.advance(5)

    assert (await store.end(session, if_beat=await beat_of(store, session))).first


async def test_an_end_of_a_session_that_was_never_opened_is_none(store: Store) -> None:
    assert await store.end(SessionId(5)) == Ended(ended=False)


@pytest.mark.parametrize("known", [True, False], ids=["with a journal", "without"])
async def test_jobs_that_had_begun_crashed_and_the_others_are_released(store: Store, known: bool) -> None:
    """`started=None` is unknown: all of them count as crashed."""
    await enqueue(store, 3)
    session = await worker(store)
    first, second, third = await take(store, session)

    told = await store.end(session, started=[fence(first), fence(third)] if known else None)

    crashes = [(await record(store, lease.id)).tally.crashes for lease in (first, second, third)]
    assert crashes == ([1, 0, 1] if known else [1, 1, 1])
    assert told == (Ended(True, True, 2, 1) if known else Ended(True, True, 3, 0))


async def test_nobody_begun_means_nobody_crashed(store: Store) -> None:
    session, lease = await running(store)

    told = await store.end(session, started=[])

    found = await record(store, lease.id, Parts.LOG)
    assert told == Ended(True, True, 0, 1)
    assert (found.state, found.tally.crashes, found.tally.spent) == (State.QUEUED, 0, 0)
    assert [start.outcome for start in found.log] == [Outcome.RELEASED]


async def test_a_start_of_another_number_had_not_begun(store: Store) -> None:
    session, lease = await running(store)

    await store.end(session, started=[Fence(lease.id, lease.starts + 1)])

    assert (await record(store, lease.id)).tally.crashes == 0


async def test_a_repeated_end_reports_the_first(store: Store) -> None:
    await enqueue(store, 3)
    session = await worker(store)
    leases = await take(store, session)
    first = await store.end(session, started=[fence(leases[0])])
    await store.restart()

    again = await store.end(session, started=None, if_beat=99)

    assert first == Ended(True, True, 1, 2)
    assert again == Ended(True, False, 1, 2)


async def test_a_repeated_end_crashes_nothing_again(store: Store) -> None:
    session, lease = await running(store)
    await store.end(session, started=None)
    (again,) = await take(store, await worker(store))
    await store.end(session, started=None)

    assert (await record(store, lease.id)).state is State.RUNNING
    assert again.tally.crashes == 1


async def test_ten_sweepers_end_a_session_once(store: Store) -> None:
    session, lease = await running(store)
    other = await store.join()

    told = await asyncio.gather(*(process.end(session, started=None) for process in (store, other) * 5))

    assert sum(each.first for each in told) == 1
    assert (await record(store, lease.id)).tally.crashes == 1


async def test_settled_jobs_of_an_ended_session_keep_their_outcome(store: Store) -> None:
    await enqueue(store, 2)
    session = await worker(store)
    first, second = await take(store, session)
    await settle(store, session, first)

    await store.end(session, started=None)

    assert [await state(store, each.id) for each in (first, second)] == [State.SUCCEEDED, State.QUEUED]


async def test_jobs_of_other_sessions_are_left_alone(store: Store) -> None:
    other, kept = await running(store)
    session, _ = await running(store)

    await store.end(session, started=None)

    assert await settle(store, other, kept) is Verdict.OK


# -- many jobs at once


async def test_thousands_of_held_jobs_come_back_in_bounded_batches(store: Store) -> None:
    """W19."""
    ids = await enqueue(store, 2_500)
    session = await worker(store)
    await take_all(store, session)
    told = await store.end(session, started=[])
    await store.restart()

    seen = []
    while (swept := await store.sweep(1_000)).done:
        seen.append(swept.returned)

    assert told == Ended(True, True, 0, 2_500)
    assert all(number <= 1_000 for number in seen)
    assert [lease.id for lease in await take_all(store, await worker(store))] == ids


async def test_while_jobs_are_on_their_way_back_their_old_worker_is_refused(store: Store) -> None:
    await enqueue(store, 2_500)
    session = await worker(store)
    leases = await take_all(store, session)
    await store.end(session, started=[])

    verdicts = await store.settle(session, [end(lease) for lease in leases])

    assert set(verdicts) == {Verdict.STALE}
    assert (await store.renew(session)).lost


async def test_what_came_back_can_be_leased_while_the_rest_is_on_its_way(store: Store) -> None:
    await enqueue(store, 2_500)
    session = await worker(store)
    await take_all(store, session)
    await store.end(session, started=[])
    other = await worker(store)

    first = await take_all(store, other)
    await swept(store)
    rest = await take_all(store, other)

    leases = first + rest
    assert len({lease.id for lease in leases}) == len(leases) == 2_500
    assert {lease.starts for lease in leases} == {2}


async def test_crashes_of_thousands_are_told_from_releases(store: Store) -> None:
    await enqueue(store, 2_200)
    session = await worker(store)
    leases = await take_all(store, session)

    told = await store.end(session, started=[fence(lease) for lease in leases[:1_200]])
    await swept(store)

    records = await store.get([lease.id for lease in leases])
    assert (told.crashed, told.released) == (1_200, 1_000)
    assert [each.tally.crashes for each in records if each] == [1] * 1_200 + [0] * 1_000


# -- poison


async def test_a_job_that_crashes_to_its_budget_fails_and_is_dead(store: Store) -> None:
    """W11."""
    id = await one(store)

    await crash(store, id, CRASH_BUDGET - 1)
    before = await state(store, id)
    await crash(store, id, 1)

    found = await record(store, id)
    assert (before, found.state, found.dead) == (State.QUEUED, State.FAILED, True)
    assert found.failure is not None
    assert found.failure.reason == "crash"
    assert (found.tally.crashes, found.starts) == (CRASH_BUDGET, CRASH_BUDGET)


async def test_the_failure_tells_what_is_known_about_the_crash(store: Store) -> None:
    """W10."""
    session, lease = await running(store, crash_budget=1)
    evidence = Evidence("the kernel ran out of memory", "host-9", 4711, -9, 9, 123 * 1024 * 1024)

    await store.end(session, started=[fence(lease)], evidence=evidence)
    await store.restart()

    failure = (await record(store, lease.id)).failure
    assert failure is not None
    for part in ("the kernel ran out of memory", "host-9", "4711", "9", "123"):
        assert part in failure.message


async def test_the_log_tells_of_a_crash(store: Store) -> None:
    session, lease = await running(store)
    await store.end(session, started=[fence(lease)], evidence=Evidence("killed"))

    (start,) = (await record(store, lease.id, Parts.LOG)).log

    assert (start.number, start.outcome, start.worker) == (1, Outcome.CRASHED, "w")
    assert start.failure is not None
    assert "killed" in start.failure.message


async def test_evidence_outlives_batches(store: Store) -> None:
    ids = await enqueue(store, 1_500, crash_budget=1)
    session = await worker(store)
    await take_all(store, session)
    await store.end(session, started=None, evidence=Evidence("host caught fire"))
    await store.restart()
    await swept(store)

    failures = {each.failure.message for each in await store.get(ids) if each and each.failure}

    assert len(failures) == 1
    assert "host caught fire" in failures.pop()


@pytest.mark.parametrize("budget", [1, 2, 5])
async def test_a_job_has_as_many_starts_as_its_crash_budget(store: Store, budget: int) -> None:
    """D13."""
    id = await one(store, crash_budget=budget)

    starts = 0
    while await state(store, id) is State.QUEUED:
        await crash(store, id, 1)
        starts += 1

    assert starts == budget
