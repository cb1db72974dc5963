"""Groups: at most so many of one at a time, in turns or in order, at a rate, and open or closed."""

from __future__ import annotations

from typing import Any

import pytest

from noria.backends.contract import (
    Change,
    Close,
    FamilyRef,
    Fence,
    GroupRef,
    Open,
    Pause,
    Query,
    QueueRef,
    Term,
    Verdict,
    Want,
)
from noria.errors import InvalidInput
from noria.ids import Id, SessionId
from noria.model.groups import Closed, Grouped, GroupLine, Rate, Rule
from noria.model.job import Lease
from noria.model.outcome import Outcome
from noria.model.state import State
from tests.contract.conftest import needs
from tests.contract.store import Store
from tests.contract.words import QUEUE, enqueue, new, one, record, state, swept
from tests.contract.workers import ENDS, end, fence, settle, take, take_all, worker

pytestmark = needs("groups")

ONE = Rule(limit=1)
TWO = Rule(limit=2)
ORDERED = Rule(ordered=True)
HOST = GroupRef("host", "example.org")


def of(rule: Rule = ONE, key: str = "example.org", family: str = "host") -> Grouped:
    return Grouped(GroupRef(family, key), rule)


async def line(store: Store, ref: GroupRef = HOST) -> GroupLine:
    """A group that is in use."""
    (found,) = await store.group([ref])
    assert found is not None, "the group is not in use"
    return found


async def states(store: Store, ids: list[Id]) -> list[State]:
    return [await state(store, id) for id in ids]


def ids_of(leases: list[Lease]) -> list[Id]:
    return [lease.id for lease in leases]


# -- how many at a time


async def test_no_more_run_than_the_limit_and_the_others_wait_in_line(store: Store) -> None:
    ids = await enqueue(store, 4, group=of(TWO))
    session = await worker(store)

    assert ids_of(await take(store, session)) == ids[:2]
    assert await take(store, session) == []
    assert await states(store, ids) == [State.RUNNING, State.RUNNING, State.WAITING, State.WAITING]
    assert (await record(store, ids[3])).group == HOST


async def test_a_limit_holds_over_pushes_queues_and_workers(store: Store) -> None:
    first = await one(store, group=of())
    second = await one(store, group=of(), queue="other")
    a, b = await worker(store), await worker(store, queues=("other",))

    (lease,) = await take(store, a)
    assert lease.id == first
    assert await take(store, b, queue="other") == []

    await store.restart()
    await settle(store, a, lease)
    assert ids_of(await take(store, b, queue="other")) == [second]


async def test_groups_do_not_limit_each_other(store: Store) -> None:
    ids = [
        await one(store, group=of(key=key, family=family))
        for family in ("host", "user")
        for key in ("a", "b")
    ]
    session = await worker(store)

    assert ids_of(await take(store, session)) == ids


async def test_jobs_without_a_group_go_past_those_that_wait(store: Store) -> None:
    await enqueue(store, 3, group=of())
    free = await one(store)
    session = await worker(store)

    assert len(await take(store, session)) == 2
    assert await state(store, free) is State.RUNNING


@pytest.mark.parametrize("how", ENDS, ids=lambda how: f"{how[0].word}-{how[1].word}")
async def test_the_place_of_a_start_that_ended_goes_to_the_next_in_line(store: Store, how: Any) -> None:
    """Parked alone it stays with the job, which may start again at any time."""
    after, outcome = how
    first, second = await enqueue(store, 2, group=of())
    session = await worker(store)
    (lease,) = await take(store, session)

    assert await settle(store, session, lease, after, outcome=outcome, delay=60.0) is Verdict.OK
    await store.restart()

    heirs = {State.PARKED: [first], State.QUEUED: [first]}.get(after, [second])
    assert ids_of(await take(store, session)) == heirs


async def test_a_job_that_was_given_back_is_the_first_in_line_again(store: Store) -> None:
    ids = await enqueue(store, 3, group=of())
    session = await worker(store)
    (lease,) = await take(store, session)

    await settle(store, session, lease, State.QUEUED, outcome=Outcome.RELEASED)

    assert await states(store, ids) == [State.QUEUED, State.WAITING, State.WAITING]
    assert (await line(store)).holders == (ids[0],)


async def test_a_job_that_becomes_due_comes_in_line(store: Store) -> None:
    late = await one(store, group=of(), delay=5.0)
    soon = await one(store, group=of())
    session = await worker(store)
    (lease,) = await take(store, session)
    assert (lease.id, await state(store, late)) == (soon, State.SCHEDULED)

    await store.advance(5.0)
    await swept(store)
    assert await state(store, late) is State.WAITING

    await settle(store, session, lease)
    assert ids_of(await take(store, session)) == [late]


async def test_many_places_are_handed_over_in_one_step(store: Store) -> None:
    for key in range(20):
        await enqueue(store, 5, group=of(TWO, str(key)))
    session = await worker(store)
    done = 0
    while leases := await take(store, session, 1_000):
        assert (
            len({(await record(store, lease.id)).group for lease in leases}) == len(leases) / 2 or done >= 80
        )
        verdicts = await store.settle(session, [end(lease) for lease in leases])
        done += verdicts.count(Verdict.OK)

    assert done == 100


async def test_nothing_is_left_of_groups_that_are_through(store: Store) -> None:
    """K8: a million keys must not leave a million rows behind."""
    await store.push([new(store, group=of(key=str(n % 700))) for n in range(1_000)])
    session = await worker(store)
    assert len(await store.groups(limit=1_000)) == 700
    while leases := await take(store, session, 1_000):
        await store.settle(session, [end(lease) for lease in leases])

    assert await store.groups() == []


# -- never freed twice


async def test_a_stale_settle_frees_no_place(store: Store) -> None:
    """K2: the holder was taken for dead, and its job runs elsewhere when it comes back and ends it."""
    ids = await enqueue(store, 5, group=of())
    dead, alive = await worker(store), await worker(store)
    (lost,) = await take(store, dead)
    await store.end(dead, started=[fence(lost)])
    (held,) = await take(store, alive)
    assert held.id == lost.id

    for stale in (lost, Fence(held.id, held.starts), Fence(held.id, held.starts + 1)):
        assert await settle(store, dead, stale) is Verdict.STALE
    await swept(store)

    assert await take(store, alive) == []
    assert await states(store, ids) == [State.RUNNING] + [State.WAITING] * 4


async def test_a_repeated_settle_frees_no_second_place(store: Store) -> None:
    ids = await enqueue(store, 3, group=of())
    session = await worker(store)
    (lease,) = await take(store, session)

    verdicts = await store.settle(session, [end(lease), end(lease)])
    assert (verdicts, await settle(store, session, lease)) == ([Verdict.OK, Verdict.ALREADY], Verdict.ALREADY)

    assert await states(store, ids) == [State.SUCCEEDED, State.QUEUED, State.WAITING]


@pytest.mark.parametrize("begun", ["begun", "not begun", "unknown"])
async def test_the_place_of_a_dead_worker_is_used_again(store: Store, begun: str) -> None:
    """K1: the job that it ran stays the first in line."""
    ids = await enqueue(store, 2, group=of())
    session = await worker(store)
    (lease,) = await take(store, session)

    await store.end(session, started={"begun": [fence(lease)], "not begun": [], "unknown": None}[begun])
    await store.restart()

    assert await states(store, ids) == [State.QUEUED, State.WAITING]
    assert ids_of(await take(store, await worker(store))) == ids[:1]


async def test_the_place_of_a_job_that_crashes_for_good_is_used_again(store: Store) -> None:
    first, second = await enqueue(store, 2, group=of(), crash_budget=1)
    session = await worker(store)
    (lease,) = await take(store, session)

    await store.end(session, started=[fence(lease)])

    assert await states(store, [first, second]) == [State.FAILED, State.QUEUED]


async def test_leases_that_were_never_heard_of_give_back_their_places(store: Store) -> None:
    ids = await enqueue(store, 3, group=of(TWO))
    session = await worker(store)
    first, _ = await take(store, session)

    assert await store.recall(session, [fence(first)]) == 1

    assert await states(store, ids) == [State.RUNNING, State.QUEUED, State.WAITING]


# -- what else takes a job out of its place, or out of the line


@pytest.mark.parametrize("kind", ["cancel", "expire"])
async def test_a_job_that_ends_before_it_ran_gives_up_its_place(store: Store, kind: str) -> None:
    expires = store.clock.wall() + 5.0 if kind == "expire" else None
    first = await one(store, group=of(), expires=expires)
    second = await one(store, group=of())

    if kind == "cancel":
        await store.alter([first], Change(kind="cancel"))
    else:
        await store.advance(5.0)
        await swept(store)

    assert (await state(store, first)).final
    assert await state(store, second) is State.QUEUED


@pytest.mark.parametrize("kind", ["cancel", "expire"])
async def test_a_job_can_end_while_it_waits_in_line(store: Store, kind: str) -> None:
    await one(store, group=of())
    expires = store.clock.wall() + 5.0 if kind == "expire" else None
    second = await one(store, group=of(), expires=expires)

    if kind == "cancel":
        (told,) = await store.alter([second], Change(kind="cancel"))
        assert told.state is State.CANCELLED
    else:
        await store.advance(5.0)
        await swept(store)

    assert (await state(store, second)).final
    assert (await line(store)).waiting == 0


async def test_a_job_that_is_retried_by_a_person_comes_in_line(store: Store) -> None:
    first = await one(store, group=of())
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease, State.FAILED)
    second = await one(store, group=of())

    (told,) = await store.alter([first], Change(kind="retry"))

    assert (told.status, told.state) == ("done", State.WAITING)
    (lease,) = await take(store, session)
    assert lease.id == second
    await settle(store, session, lease)
    assert ids_of(await take(store, session)) == [first]


async def test_a_job_that_is_put_off_by_a_person_gives_up_its_place(store: Store) -> None:
    first, second = await enqueue(store, 2, group=of())
    later = store.clock.wall() + 60.0

    (told,) = await store.alter([first], Change(kind="edit", run_at=later))

    assert told.state is State.SCHEDULED
    assert ids_of(await take(store, await worker(store))) == [second]
    (told,) = await store.alter([first], Change(kind="run"))
    assert told.state is State.WAITING


async def test_a_job_in_line_can_be_put_off_moved_and_made_urgent(store: Store) -> None:
    held, second, third = await enqueue(store, 3, group=of())

    await store.alter([third], Change(kind="edit", priority=5))
    await store.alter([third], Change(kind="move", queue="other"))
    (told,) = await store.alter([second], Change(kind="edit", run_at=store.clock.wall() + 60.0))
    await store.alter([held], Change(kind="cancel"))

    assert told.state is State.SCHEDULED
    assert await state(store, third) is State.QUEUED
    assert ids_of(await take(store, await worker(store), queue="other")) == [third]


async def test_jobs_in_line_are_counted_and_found(store: Store) -> None:
    ids = await enqueue(store, 3, group=of())

    assert (await store.counts()).queues[QUEUE].states == {State.QUEUED: 1, State.WAITING: 2}
    found = await line(store)
    assert (found.taken, found.holders, found.waiting, found.rule) == (1, (ids[0],), 2, ONE)
    (told,) = await store.groups("host")
    assert told == found
    assert await store.groups("user") == []
    assert await store.groups("host", HOST) == []
    assert await store.group([GroupRef("host", "nobody")]) == [None]


async def test_jobs_in_line_are_found_by_their_state(store: Store) -> None:
    _, *waiting = await enqueue(store, 3, group=of())

    for oldest_first, wanted in ((True, waiting), (False, waiting[::-1])):
        page = await store.find(Query(states=(State.WAITING,), oldest_first=oldest_first), None, 10)
        assert page.ids == wanted
    assert (await store.tally(Query(states=(State.WAITING,)))).n == 2
    assert [await store.place(id) for id in waiting] == [0, 1]
    assert [each.status for each in await store.alter(waiting, Change(kind="erase"))] == ["refused"] * 2


@pytest.mark.parametrize("negated", [False, True])
async def test_jobs_are_found_by_their_group(store: Store, negated: bool) -> None:
    free = await one(store)
    here = await enqueue(store, 2, group=of())
    there = await enqueue(store, 1, group=of(key="other.org"))

    exact = Query(terms=(Term("group", "host=example.org", negated=negated),))
    family = Query(terms=(Term("group", "host=", prefix=True, negated=negated),))

    everything = {free, *here, *there}
    found = {*(await store.find(exact, None, 10)).ids}
    assert found == (everything - {*here} if negated else {*here})
    found = {*(await store.find(family, None, 10)).ids}
    assert found == (everything - {*here, *there} if negated else {*here, *there})


async def test_a_lease_says_of_which_group_it_is(store: Store) -> None:
    await one(store, group=of())
    await one(store)

    assert {lease.group for lease in await take(store, await worker(store))} == {HOST, None}


# -- parked jobs


async def test_a_job_that_its_worker_did_not_know_keeps_its_place(store: Store) -> None:
    first, second = await enqueue(store, 2, group=of(), task="rare")
    ignorant, expert = await worker(store), await worker(store, tasks=("rare",))
    (lease,) = await take(store, ignorant)
    await settle(store, ignorant, lease, State.PARKED, outcome=Outcome.RELEASED)

    assert await take(store, ignorant) == []
    (lease,) = await take(store, expert)
    assert lease.id == first
    await settle(store, expert, lease)
    assert ids_of(await take(store, expert)) == [second]


# -- order


@pytest.mark.parametrize("after", [State.RETRYING, State.SCHEDULED, State.QUEUED])
async def test_an_ordered_group_waits_for_its_head(store: Store, after: State) -> None:
    """K3, K7: what is to be tried again holds up those behind it, and a look at the group says so."""
    ids = await enqueue(store, 4, group=of(ORDERED))
    session = await worker(store)
    (lease,) = await take(store, session)

    await settle(store, session, lease, after, delay=5.0)
    held_up = await take(store, session)
    assert ids_of(held_up) == ([] if after is not State.QUEUED else ids[:1])
    assert (await line(store)).holders == (ids[0],)

    if not held_up:
        await store.advance(5.0)
        held_up = await take(store, session)
    assert ids_of(held_up) == ids[:1]
    await settle(store, session, held_up[0])
    assert ids_of(await take(store, session)) == ids[1:2]


async def test_an_ordered_group_keeps_its_order_when_workers_die(store: Store) -> None:
    ids = await enqueue(store, 6, group=of(ORDERED), crash_budget=9)
    ran: list[Id] = []
    for turn in range(12):
        session = await worker(store)
        (lease,) = await take(store, session)
        if turn % 2:
            ran.append(lease.id)
            await settle(store, session, lease)
        else:
            await store.end(session, started=[fence(lease)] if turn % 4 else [])

    assert ran == ids


async def test_a_head_steps_aside_if_the_rule_says_so(store: Store) -> None:
    rule = Rule(ordered=True, aside=2)
    first, second = await enqueue(store, 2, group=of(rule))
    session = await worker(store)
    for _ in range(2):
        (lease,) = await take(store, session)
        assert lease.id == first
        await settle(store, session, lease, State.RETRYING, delay=5.0)
        if lease.tally.spent == 0:
            assert await take(store, session) == []
            await store.advance(5.0)

    assert ids_of(await take(store, session)) == [second]


async def test_a_head_that_fails_for_good_lets_the_next_one_go(store: Store) -> None:
    ids = await enqueue(store, 2, group=of(ORDERED))
    session = await worker(store)
    (lease,) = await take(store, session)

    await settle(store, session, lease, State.FAILED)

    assert ids_of(await take(store, session)) == ids[1:]


async def test_a_head_that_is_cancelled_while_it_waits_lets_the_next_one_go(store: Store) -> None:
    ids = await enqueue(store, 2, group=of(ORDERED))
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease, State.RETRYING, delay=50.0)

    await store.alter(ids[:1], Change(kind="cancel"))

    assert ids_of(await take(store, session)) == ids[1:]


# -- fair shares


async def run_through(store: Store, session: SessionId, n: int, at_once: int = 4) -> list[str]:
    """The groups of the next jobs, in the order in which they ran."""
    ran: list[str] = []
    while len(ran) < n and (leases := await take(store, session, at_once)):
        for lease in leases:
            group = (await record(store, lease.id)).group
            ran.append("" if group is None else group.key)
        await store.advance(0.01)
        await store.settle(session, [end(lease) for lease in leases])
    return ran


async def test_a_small_group_is_not_delayed_by_a_large_one(store: Store) -> None:
    """The large one came first, and all of it; the small one gets every second turn as soon as it is there."""
    await enqueue(store, 200, group=of(Rule(), "large", "tenant"))
    session = await worker(store)
    await run_through(store, session, 20)
    await enqueue(store, 10, group=of(Rule(), "small", "tenant"))

    ran = await run_through(store, session, 60)

    assert ran.count("small") == 10
    assert len(ran[: ran.index("small")]) <= 12
    assert max(place for place, key in enumerate(ran) if key == "small") <= 40


async def test_weights_give_some_groups_more_turns(store: Store) -> None:
    rule = Rule(weights={"heavy": 3})
    for key in ("heavy", "light"):
        await enqueue(store, 200, group=of(rule, key, "tenant"))
    session = await worker(store)

    ran = await run_through(store, session, 160)

    assert 2.0 <= ran.count("heavy") / ran.count("light") <= 4.0


async def test_without_fairness_the_oldest_is_the_next_one(store: Store) -> None:
    rule = Rule(fair=False)
    old = await enqueue(store, 30, group=of(rule, "old", "tenant"))
    await store.advance(1.0)
    young = await enqueue(store, 5, group=of(rule, "young", "tenant"))

    assert ids_of(await take(store, await worker(store))) == [*old, *young]


async def test_one_lease_takes_all_it_can_of_a_fair_group(store: Store) -> None:
    await enqueue(store, 100, group=of(Rule(), "only", "tenant"))

    assert len(await take(store, await worker(store), 90)) == 90


# -- rates


async def test_a_rate_lets_jobs_start_one_after_the_other(store: Store) -> None:
    await enqueue(store, 5, group=of(Rule(rate=Rate(2, 1.0))))
    session = await worker(store)
    starts = []
    for tick in range(20):
        starts += [tick * 0.1] * len(await take(store, session))
        await store.advance(0.1)

    assert starts == pytest.approx([0.0, 0.5, 1.0, 1.5])


async def test_a_burst_starts_at_once_and_comes_back_slowly(store: Store) -> None:
    await enqueue(store, 20, group=of(Rule(rate=Rate(1, 1.0, burst=3))))
    session = await worker(store)

    taken = []
    for pause in (0.0, 0.5, 0.5, 1.0, 10.0):
        await store.advance(pause)
        taken.append(len(await take(store, session)))

    assert taken == [3, 0, 1, 1, 3]


async def test_a_rate_holds_whatever_workers_do(store: Store) -> None:
    """K9: they lease late, give back, die, and ask all at once; 10 in any second, and no burst beyond one."""
    await enqueue(store, 200, group=of(Rule(rate=Rate(10, 1.0))), crash_budget=1_000)
    sessions = [await worker(store) for _ in range(4)]
    starts: list[float] = []
    for tick in range(150):
        for place, session in enumerate(sessions):
            leases = await take(store, session)
            starts += [store.clock.wall()] * len(leases)
            for lease in leases:
                if tick % 7 == 3:
                    await settle(store, session, lease, State.QUEUED, outcome=Outcome.RELEASED)
                elif tick % 11 == 5:
                    await store.end(session, started=[fence(each) for each in leases])
                    sessions[place] = await worker(store)
                else:
                    await settle(store, session, lease)
        await store.advance(0.73 if tick % 13 == 0 else 0.03)

    assert len(starts) > 40
    assert max(sum(at <= other < at + 1.0 for other in starts) for at in starts) <= 10


async def test_a_lease_says_when_a_rate_allows_the_next_start(store: Store) -> None:
    await enqueue(store, 2, group=of(Rule(rate=Rate(1, 4.0))))
    session = await worker(store)
    await take(store, session)

    batch = await store.lease(session, [Want(QUEUE, 1)], 1)

    assert batch.next_due == pytest.approx(4.0, abs=0.01)
    assert (await line(store)).next_at == pytest.approx(store.clock.wall() + 4.0, abs=0.01)


async def test_a_lease_that_takes_what_a_rate_allows_says_when_it_allows_more(store: Store) -> None:
    """Or whoever asked would look again only when it has waited as long as it waits for anything."""
    await enqueue(store, 2, group=of(Rule(rate=Rate(1, 4.0))))
    session = await worker(store)

    batch = await store.lease(session, [Want(QUEUE, 1)], 1)

    assert (len(batch.leases), batch.next_due) == (1, pytest.approx(4.0, abs=0.01))


async def test_a_rate_that_is_made_faster_holds_from_then_on(store: Store) -> None:
    """What the slow one has left behind is no debt of the fast one."""
    await enqueue(store, 4, group=of(Rule(rate=Rate(1, 3_600.0))))
    session = await worker(store)
    assert len(await take(store, session)) == 1

    await store.steer(FamilyRef("host"), Rule(rate=Rate(10, 1.0, burst=2)))
    await swept(store)
    stands = await line(store)
    await store.advance(0.2)

    assert stands.next_at == pytest.approx(store.clock.wall() - 0.2 + 0.1, abs=0.01)
    assert len(await take(store, session)) == 2


async def test_a_rated_group_is_forgotten_when_it_owes_nothing(store: Store) -> None:
    await one(store, group=of(Rule(rate=Rate(1, 4.0))))
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease)
    assert len(await store.groups()) == 1

    await store.advance(4.0)
    await swept(store)

    assert await store.groups() == []


async def test_a_limit_and_a_rate_hold_together(store: Store) -> None:
    await enqueue(store, 9, group=of(Rule(limit=2, rate=Rate(10, 1.0, burst=5))))
    session = await worker(store)

    first = await take(store, session)
    assert len(first) == 2
    await store.settle(session, [end(lease) for lease in first])
    assert len(await take(store, session)) == 2


# -- closed


async def test_a_job_that_ends_can_close_its_group(store: Store) -> None:
    """A 429: the job goes back, uncounted, and those that were eligible wait as well."""
    ids = await enqueue(store, 5, group=of(TWO))
    session = await worker(store)
    (lease,) = await take(store, session, 1)
    until = store.clock.wall() + 60.0

    verdict = await settle(store, session, lease, State.SCHEDULED, outcome=Outcome.SNOOZED, close=until)

    assert verdict is Verdict.OK
    assert await take(store, session) == []
    assert (await line(store)).closed is not None
    assert set(await states(store, ids[1:])) == {State.WAITING}
    await store.restart()
    await store.advance(60.0)
    assert len(await take(store, session)) == 2
    assert (await line(store)).closed is None
    assert (await record(store, ids[0])).tally.spent == 0


@pytest.mark.parametrize("after", [State.SUCCEEDED, State.RETRYING, State.FAILED])
async def test_every_end_can_close_the_group(store: Store, after: State) -> None:
    await enqueue(store, 3, group=of(ORDERED))
    session = await worker(store)
    (lease,) = await take(store, session)

    await settle(store, session, lease, after, close=store.clock.wall() + 60.0)

    await store.advance(59.0)
    assert await take(store, session) == []
    await store.advance(1.0)
    assert len(await take(store, session)) == 1


async def test_a_stale_settle_closes_nothing(store: Store) -> None:
    await enqueue(store, 2, group=of())
    session = await worker(store)
    (lease,) = await take(store, session)
    await store.end(session, started=[])

    await settle(store, session, lease, close=store.clock.wall() + 60.0)

    assert (await line(store)).closed is None


async def test_a_person_closes_a_group_and_opens_it(store: Store) -> None:
    ids = await enqueue(store, 3, group=of(TWO))
    session = await worker(store)
    (running,) = await take(store, session, 1)

    told = await store.steer(HOST, Close(reason="they asked us to stop", by="alice"))
    assert told.closed == Closed(None, "they asked us to stop", "alice")
    await store.restart()

    assert await settle(store, session, running) is Verdict.OK
    assert await take(store, session) == []
    assert (await line(store)).closed == told.closed
    assert (await store.steer(HOST, Open())).closed is None
    assert ids_of(await take(store, session)) == ids[1:]


async def test_a_group_of_which_very_many_could_run_is_closed_at_once(store: Store) -> None:
    """More than a step of some stores moves."""
    jobs = [new(store, group=Grouped(HOST, Rule(fair=False))) for _ in range(1_500)]
    for at in range(0, len(jobs), 500):
        await store.push(jobs[at : at + 500])
    other = await one(store)
    session = await worker(store)
    await store.steer(HOST, Close())

    leases = await take_all(store, session)
    await swept(store)
    await store.steer(HOST, Open())
    await swept(store)
    later = await take_all(store, session)

    assert [lease.id for lease in leases] == [other]
    assert {lease.id for lease in later} == {job.id for job in jobs}
    assert len(later) == len(jobs)


async def test_a_group_without_jobs_can_be_closed(store: Store) -> None:
    await store.steer(HOST, Close(until=store.clock.wall() + 5.0))
    id = await one(store, group=of())

    assert await state(store, id) is State.WAITING
    await store.advance(5.0)
    assert ids_of(await take(store, await worker(store))) == [id]


@pytest.mark.parametrize(
    ("target", "change"), [(QueueRef(QUEUE), Close()), (HOST, Pause()), (FamilyRef("host"), Open())]
)
async def test_what_makes_no_sense_is_refused(store: Store, target: Any, change: Any) -> None:
    with pytest.raises(InvalidInput):
        await store.steer(target, change)


# -- rules that change


async def test_a_limit_that_is_raised_lets_more_run(store: Store) -> None:
    ids = await enqueue(store, 5, group=of())
    session = await worker(store)
    await take(store, session)

    await store.steer(FamilyRef("host"), Rule(limit=3))
    await swept(store)

    assert ids_of(await take(store, session)) == ids[1:3]


async def test_a_limit_that_is_lowered_holds_as_places_come_free(store: Store) -> None:
    await enqueue(store, 6, group=of(Rule(limit=3)))
    session = await worker(store)
    first, second, third = await take(store, session)

    await one(store, group=of(ONE))
    for lease, more in ((first, 0), (second, 0), (third, 1)):
        await settle(store, session, lease)
        assert len(await take(store, session)) == more


async def test_a_paused_queue_keeps_its_line(store: Store) -> None:
    ids = await enqueue(store, 2, group=of())
    session = await worker(store)
    await store.steer(QueueRef(QUEUE), Pause())

    assert await take(store, session) == []
    assert await states(store, ids) == [State.QUEUED, State.WAITING]


async def test_only_what_starts_at_once_is_taken_of_a_group(store: Store) -> None:
    """What a worker holds ready would take the place of one that another could start."""
    await enqueue(store, 3, group=of(Rule(limit=3)))
    free = await enqueue(store, 2)
    session = await worker(store)

    leases = (await store.lease(session, [Want(QUEUE, 1, ahead=2)], 10)).leases

    assert len(leases) == 3
    assert set(free) < set(ids_of(leases))


async def test_a_lease_without_a_free_slot_does_not_wait_for_jobs_of_groups(store: Store) -> None:
    """The worker asks again as soon as it has one; a lease that waited on would keep it from that."""
    await enqueue(store, 3, group=of(TWO))
    session = await worker(store)

    batch = await store.lease(session, [Want(QUEUE, 0, ahead=2)], 2, 15.0)
    assert (batch.leases, batch.bound) == ([], True)

    batch = await store.lease(session, [Want(QUEUE, 1)], 1, 15.0)
    assert (len(batch.leases), batch.bound) == (1, True)
    batch = await store.lease(session, [Want(QUEUE, 5)], 5, 15.0)
    assert (len(batch.leases), batch.bound) == (1, False)


async def test_a_suspect_of_a_group_still_runs_alone(store: Store) -> None:
    ids = await enqueue(store, 2, group=of(TWO), crash_budget=5)
    for _ in range(2):
        session = await worker(store)
        leases = await take(store, session)
        await store.end(session, started=[fence(lease) for lease in leases])
    session = await worker(store)

    assert ids_of(await take(store, session)) == ids[:1]
    assert ids_of(await take(store, session)) == ids[1:]
