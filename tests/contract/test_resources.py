"""Resources: tokens that jobs hold while they run, taken all or none; and how often a task may start."""

from __future__ import annotations

import pytest

from noria.backends.contract import Change, Pause, QueueRef, ResourceRef, Resume, Verdict, Want
from noria.ids import Id
from noria.model.groups import Grouped, GroupRef, Need, Rate, Rule
from noria.model.job import Lease
from noria.model.outcome import Outcome
from noria.model.state import State
from tests.contract.conftest import needs
from tests.contract.store import Store
from tests.contract.words import QUEUE, enqueue, one, record, state
from tests.contract.workers import end, fence, settle, take, worker

pytestmark = needs("groups")

TUNNEL = Need("tunnel", capacity=2)
SCREEN = Need("screen", capacity=1)
SLOWLY = Need("task:send", rate=Rate(10, 1.0))


def ids_of(leases: list[Lease]) -> list[Id]:
    return [lease.id for lease in leases]


async def used(store: Store) -> dict[str, int]:
    return {line.need.name: line.used for line in await store.resources()}


async def test_no_more_run_than_there_are_tokens(store: Store) -> None:
    ids = await enqueue(store, 3, needs=(TUNNEL,))
    session = await worker(store)

    leases = await take(store, session)
    await store.restart()

    assert ids_of(leases) == ids[:2]
    assert await take(store, session) == []
    assert await state(store, ids[2]) is State.QUEUED
    assert (await record(store, ids[2])).needs == ("tunnel",)
    (line,) = await store.resources()
    assert (line.need, line.used, sorted(line.holders)) == (TUNNEL, 2, sorted(ids[:2]))


async def test_a_token_comes_back_with_every_end(store: Store) -> None:
    await enqueue(store, 9, needs=(SCREEN,), crash_budget=9)
    session = await worker(store)
    for after in (State.SUCCEEDED, State.FAILED, State.RETRYING, State.QUEUED, State.SCHEDULED, State.PARKED):
        (lease,) = await take(store, session)
        assert await settle(store, session, lease, after, delay=60.0) is Verdict.OK
    (lease,) = await take(store, session)
    await store.end(session, started=[fence(lease)])

    assert len(await take(store, await worker(store))) == 1


async def test_a_stale_settle_frees_no_token(store: Store) -> None:
    await enqueue(store, 3, needs=(SCREEN,))
    dead, alive = await worker(store), await worker(store)
    (lost,) = await take(store, dead)
    await store.end(dead, started=[fence(lost)])
    (held,) = await take(store, alive)

    assert await settle(store, dead, lost) is Verdict.STALE

    assert held.id == lost.id
    assert await take(store, alive) == []
    assert await used(store) == {"screen": 1}


async def test_tokens_are_taken_all_or_none(store: Store) -> None:
    """The second cannot have the screen, and takes no tunnel either; the third goes past it."""
    ids = [await one(store, needs=each) for each in ((SCREEN,), (TUNNEL, SCREEN), (TUNNEL,), (TUNNEL,))]
    session = await worker(store)

    leases = await take(store, session)

    assert ids_of(leases) == [ids[0], ids[2], ids[3]]
    await settle(store, session, leases[0])
    assert await take(store, session) == []
    await settle(store, session, leases[1])
    assert ids_of(await take(store, session)) == [ids[1]]


async def test_jobs_that_need_nothing_go_past(store: Store) -> None:
    await enqueue(store, 3, needs=(SCREEN,))
    free = await enqueue(store, 2)

    assert set(ids_of(await take(store, await worker(store)))) > set(free)


async def test_the_oldest_is_first_whatever_it_needs(store: Store) -> None:
    ids = []
    for each in ((TUNNEL,), (), (SCREEN,), ()):
        ids.append(await one(store, needs=each))
        await store.advance(0.01)

    assert ids_of(await take(store, await worker(store))) == ids


async def test_a_paused_queue_holds_no_token(store: Store) -> None:
    await one(store, needs=(SCREEN,))
    other = await one(store, needs=(SCREEN,), queue="other")
    session = await worker(store)
    await store.steer(QueueRef(QUEUE), Pause())

    both = [Want(QUEUE, 2), Want("other", 2)]
    (lease,) = (await store.lease(session, both, 4)).leases
    assert lease.id == other
    await settle(store, session, lease)
    await store.steer(QueueRef(QUEUE), Resume())
    assert len((await store.lease(session, both, 4)).leases) == 1


async def test_tokens_are_those_of_all_queues_and_workers(store: Store) -> None:
    await enqueue(store, 2, needs=(TUNNEL,))
    await enqueue(store, 2, needs=(TUNNEL,), queue="other")
    a, b = await worker(store), await worker(store)

    assert len(await take(store, a, 1)) == 1
    assert len(await take(store, b, queue="other")) == 1
    assert await take(store, a) == []


async def test_a_capacity_can_be_changed(store: Store) -> None:
    await enqueue(store, 5, needs=(SCREEN,))
    session = await worker(store)
    assert len(await take(store, session)) == 1

    await store.steer(ResourceRef("screen"), Need("screen", capacity=3))

    assert len(await take(store, session)) == 2


async def test_a_job_that_was_parked_still_needs_its_token(store: Store) -> None:
    first = await one(store, needs=(SCREEN,), task="rare")
    ignorant, expert = await worker(store), await worker(store, tasks=("rare",))
    (lease,) = await take(store, ignorant)
    await settle(store, ignorant, lease, State.PARKED, outcome=Outcome.RELEASED)
    await one(store, needs=(SCREEN,))
    (other,) = await take(store, ignorant)

    assert await take(store, expert) == []
    await settle(store, ignorant, other)
    assert ids_of(await take(store, expert)) == [first]


async def test_suspects_need_their_tokens_too(store: Store) -> None:
    ids = await enqueue(store, 2, needs=(TUNNEL,), crash_budget=5)
    for _ in range(2):
        session = await worker(store)
        await store.end(session, started=[fence(lease) for lease in await take(store, session)])
    session = await worker(store)

    assert ids_of(await take(store, session)) == ids[:1]
    assert ids_of(await take(store, session)) == ids[1:]
    assert await used(store) == {"tunnel": 2}


# -- rates


async def test_a_task_starts_no_more_often_than_its_rate_allows(store: Store) -> None:
    """K9: whoever asks, and however they end."""
    await enqueue(store, 100, needs=(SLOWLY,), crash_budget=1_000)
    sessions = [await worker(store) for _ in range(4)]
    starts: list[float] = []
    for tick in range(120):
        for place, session in enumerate(sessions):
            leases = await take(store, session)
            starts += [store.clock.wall()] * len(leases)
            if leases and tick % 11 == 5:
                await store.end(session, started=[fence(each) for each in leases])
                sessions[place] = await worker(store)
            elif leases and tick % 7 == 3:
                await settle(store, session, leases[0], State.QUEUED, outcome=Outcome.RELEASED)
            else:
                await store.settle(session, [end(lease) for lease in leases])
        await store.advance(0.73 if tick % 13 == 0 else 0.03)

    assert len(starts) > 30
    assert max(sum(at <= other < at + 1.0 for other in starts) for at in starts) <= 10


async def test_a_lease_says_when_the_next_may_start(store: Store) -> None:
    await enqueue(store, 2, needs=(Need("task:send", rate=Rate(1, 4.0)),))
    session = await worker(store)
    await take(store, session)

    batch = await store.lease(session, [Want(QUEUE, 1)], 1)

    assert (batch.leases, batch.next_due) == ([], pytest.approx(4.0, abs=0.01))
    await store.advance(4.0)
    assert len(await take(store, session)) == 1


async def test_a_rate_that_is_made_faster_holds_from_then_on(store: Store) -> None:
    await enqueue(store, 2, needs=(Need("task:send", rate=Rate(1, 3_600.0)),))
    session = await worker(store)
    assert len(await take(store, session)) == 1

    await store.steer(ResourceRef("task:send"), Need("task:send", rate=Rate(10, 1.0)))
    await store.advance(0.1)

    assert len(await take(store, session)) == 1


async def test_a_lease_that_takes_what_a_rate_allows_says_when_it_allows_more(store: Store) -> None:
    await enqueue(store, 2, needs=(Need("task:send", rate=Rate(1, 4.0)),))
    session = await worker(store)

    batch = await store.lease(session, [Want(QUEUE, 2)], 2)

    assert (len(batch.leases), batch.next_due) == (1, pytest.approx(4.0, abs=0.01))


async def test_a_job_may_have_a_group_and_needs(store: Store) -> None:
    group = Grouped(GroupRef("host", "a"), Rule(limit=2))
    ids = await enqueue(store, 3, group=group, needs=(SCREEN,))
    session = await worker(store)

    (lease,) = await take(store, session)
    assert await take(store, session) == []
    await settle(store, session, lease)

    assert ids_of(await take(store, session)) == ids[1:2]


async def test_a_cancelled_job_frees_its_token(store: Store) -> None:
    await enqueue(store, 2, needs=(SCREEN,))
    session = await worker(store)
    (lease,) = await take(store, session)
    await store.alter([lease.id], Change(kind="cancel"))

    await settle(store, session, lease, State.CANCELLED)

    assert len(await take(store, session)) == 1
