"""Starting, closing, and the keeper's own way in."""

from __future__ import annotations

import asyncio
import threading

import pytest

from noria.backends.contract import Orders, Parts, Verdict, Vitals, Want
from noria.errors import BackendError, NoriaError, NotRunning
from noria.model.outcome import Outcome
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, one, record, state
from tests.contract.workers import end, fence, take, worker


async def test_starting_twice_does_nothing(local: Store) -> None:
    id = await one(local)
    await local.backend.start()

    assert await state(local, id) is State.QUEUED


async def test_closing_twice_does_nothing(local: Store) -> None:
    await local.backend.aclose()
    await local.backend.aclose()


async def test_a_closed_store_refuses_calls(local: Store) -> None:
    await local.backend.aclose()

    with pytest.raises((BackendError, NotRunning)):
        await one(local)


async def test_a_store_that_was_never_started_refuses_calls(local: Store) -> None:
    other = local.unstarted()

    with pytest.raises(NoriaError):
        await other.counts()


async def test_what_a_closed_store_was_given_is_there_for_the_next(local: Store) -> None:
    id = await one(local)
    await local.backend.aclose()
    await local.begin()

    assert await state(local, id) is State.QUEUED


@pytest.mark.store(poll=3_600.0)
async def test_closing_ends_calls_that_wait(local: Store) -> None:
    session = await worker(local)
    waiting = asyncio.ensure_future(local.lease(session, [Want(QUEUE, 1)], 1, 3_600.0))
    await asyncio.sleep(0.05)

    async with asyncio.timeout(10):
        await local.backend.aclose()
        with pytest.raises(NoriaError):
            await waiting


async def test_many_processes_may_open_a_new_store_at_once(store: Store) -> None:
    """L6, L8."""
    others = await asyncio.gather(*(store.join() for _ in range(4)))

    counts = await asyncio.gather(*(other.counts() for other in others))

    assert all(each.queues == {} for each in counts)


async def test_a_keeper_renews_from_a_thread(local: Store) -> None:
    session = await worker(local)
    keeper = local.backend.control()
    orders: list[Orders] = []

    thread = threading.Thread(target=lambda: orders.append(keeper.renew(session, Vitals(running=3))))
    thread.start()
    thread.join(10)
    keeper.close()

    assert orders == [Orders()]
    assert (await local.counts()).workers[0].vitals == Vitals(running=3)


async def test_a_keeper_hears_that_its_session_is_over(local: Store) -> None:
    session = await worker(local)
    await local.end(session)
    keeper = local.backend.control()

    assert keeper.renew(session, Vitals()).lost
    keeper.close()


async def test_a_keeper_gives_back_what_is_not_known_and_says_what_that_was(local: Store) -> None:
    first, second = await one(local), await one(local)
    session = await worker(local)
    kept, lost = await take(local, session, 2)
    keeper = local.backend.control()

    given_back = keeper.recall(session, [fence(kept)], "the loop stood still")
    keeper.close()

    assert given_back == [fence(lost)]
    assert {await state(local, first), await state(local, second)} == {State.RUNNING, State.QUEUED}
    told = await record(local, lost.id, Parts.LOG)
    assert [(entry.outcome, entry.failure and entry.failure.message) for entry in told.log] == [
        (Outcome.RELEASED, "the loop stood still")
    ]


async def test_what_a_keeper_gives_back_wakes_a_lease_that_waits(local: Store) -> None:
    await one(local)
    session, other = await worker(local), await worker(local)
    await take(local, session, 1)
    waiting = asyncio.ensure_future(local.lease(other, [Want(QUEUE, 1)], 1, 60.0))
    await asyncio.sleep(0.05)
    keeper = local.backend.control()

    keeper.recall(session, [], "the loop stood still")
    keeper.close()

    batch = await asyncio.wait_for(waiting, 20)
    assert [each.starts for each in batch.leases] == [2]


async def test_what_a_keeper_has_settled_was_done_already_for_whoever_asks_again(local: Store) -> None:
    id = await one(local)
    session = await worker(local)
    (held,) = await take(local, session, 1)
    keeper = local.backend.control()

    assert keeper.settle(session, [end(held)]) == [Verdict.OK]
    keeper.close()

    assert await local.settle(session, [end(held)]) == [Verdict.ALREADY]
    assert await state(local, id) is State.SUCCEEDED


async def test_a_keeper_of_an_ended_session_changes_nothing(local: Store) -> None:
    await one(local)
    session = await worker(local)
    (held,) = await take(local, session, 1)
    await local.end(session)
    keeper = local.backend.control()

    assert keeper.settle(session, [end(held)]) == [Verdict.STALE]
    assert keeper.recall(session, [], "the loop stood still") == []
    keeper.close()


async def test_a_keeper_may_be_closed_twice(local: Store) -> None:
    keeper = local.backend.control()
    keeper.close()
    keeper.close()


async def test_capabilities_tell_people_what_is_durable(store: Store) -> None:
    told = await store.capabilities()

    assert len(told.durability) > 20
    assert told.max_body > 0
