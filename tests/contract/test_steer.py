"""Pauses: nothing is leased from a paused queue, everything else goes on, and somebody is told why."""

from __future__ import annotations

import asyncio

import pytest

from noria.backends.contract import Fence, Pause, Paused, QueueRef, Resume, Steered, Want
from noria.errors import InvalidInput
from noria.model.job import Lane
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, enqueue, one, record, state, swept
from tests.contract.workers import crash, end, running, settle, take, worker

MAIL = QueueRef(QUEUE)
PAUSE = Pause(reason="the gateway is down", by="alice")


async def pause_of(store: Store, queue: str = QUEUE) -> Paused | None:
    found = (await store.counts()).queues.get(queue)
    return found and found.paused


async def test_nothing_is_leased_from_a_paused_queue(store: Store) -> None:
    await enqueue(store, 3)
    session = await worker(store)

    told = await store.steer(MAIL, PAUSE)
    await store.restart()

    assert told.paused == Paused("the gateway is down", "alice", pytest.approx(store.clock.wall()))
    assert await take(store, session) == []
    assert (await store.counts()).queues[QUEUE].states == {State.QUEUED: 3}


async def test_other_queues_go_on(store: Store) -> None:
    await enqueue(store, 2)
    ids = await enqueue(store, 2, queue="other")
    session = await worker(store)
    await store.steer(MAIL, PAUSE)

    batch = await store.lease(session, [Want(QUEUE, 5), Want("other", 1)], 10, 0.0)

    assert [lease.id for lease in batch.leases] == ids


async def test_no_lane_and_no_parked_job_or_suspect_is_leased(store: Store) -> None:
    session, lease = await running(store, task="rare")
    await settle(store, session, lease, State.PARKED)
    await crash(store, await one(store), 2)
    await enqueue(store, 2, lane=Lane.THREAD)
    await store.steer(MAIL, PAUSE)
    session = await worker(store, tasks=("send", "rare"))

    wants = [Want(QUEUE, 5, lane=lane) for lane in Lane]

    assert (await store.lease(session, wants, 10, 0.0)).leases == []
    await store.steer(MAIL, Resume())
    assert len((await store.lease(session, wants, 10, 0.0)).leases) == 4


async def test_what_runs_goes_on(store: Store) -> None:
    session, lease = await running(store)
    await store.steer(MAIL, PAUSE)

    assert [each.value for each in await store.settle(session, [end(lease)])] == ["ok"]


async def test_time_goes_on_in_a_paused_queue(store: Store) -> None:
    due = await one(store, delay=5)
    late = await one(store, expires=store.clock.wall() + 5)
    await store.steer(MAIL, PAUSE)
    await store.advance(6)
    await swept(store)

    assert [await state(store, due), await state(store, late)] == [State.QUEUED, State.EXPIRED]


async def test_a_job_that_comes_back_to_a_paused_queue_waits(store: Store) -> None:
    session, lease = await running(store)
    await store.steer(MAIL, PAUSE)
    await store.end(session, started=[Fence(lease.id, lease.starts)])

    assert await take(store, await worker(store)) == []
    assert (await record(store, lease.id)).state is State.QUEUED


async def test_a_resumed_queue_is_leased_from(store: Store) -> None:
    ids = await enqueue(store, 2)
    session = await worker(store)
    await store.steer(MAIL, PAUSE)
    await take(store, session)

    told = await store.steer(MAIL, Resume())
    await store.restart()

    assert told == Steered()
    assert await pause_of(store) is None
    assert [lease.id for lease in await take(store, session)] == ids


@pytest.mark.store(restarts=False, poll=10.0)
async def test_resuming_wakes_a_worker_that_waits(store: Store) -> None:
    (id,) = await enqueue(store)
    session = await worker(store)
    other = await store.join()
    await store.steer(MAIL, PAUSE)
    waiting = asyncio.create_task(store.lease(session, [Want(QUEUE, 1)], 1, 8.0))
    while not waiting.done() and (await store.counts()).queues[QUEUE].paused:
        await asyncio.sleep(0.05)
        await other.steer(MAIL, Resume())

    batch = await asyncio.wait_for(waiting, 5)

    assert [lease.id for lease in batch.leases] == [id]


async def test_a_pause_is_over_by_itself(store: Store) -> None:
    (id,) = await enqueue(store)
    session = await worker(store)
    until = store.clock.wall() + 60
    told = await store.steer(MAIL, Pause(until=until))
    before = await take(store, session)
    await store.advance(61)

    assert told.paused is not None
    assert (told.paused.until, before) == (pytest.approx(until, abs=0.01), [])
    assert await pause_of(store) is None
    assert [lease.id for lease in await take(store, session)] == [id]


async def test_a_pause_until_the_past_is_none(store: Store) -> None:
    await one(store)
    await store.steer(MAIL, PAUSE)

    assert await store.steer(MAIL, Pause(until=store.clock.wall() - 1)) == Steered()
    assert len(await take(store, await worker(store))) == 1


async def test_a_repeated_pause_changes_its_words_and_not_its_beginning(store: Store) -> None:
    first = await store.steer(MAIL, PAUSE)
    await store.advance(10)
    again = await store.steer(MAIL, PAUSE)
    other = await store.steer(MAIL, Pause(by="bob"))

    assert first == again
    assert first.paused is not None
    assert other == Steered(Paused("", "bob", first.paused.since))


async def test_resuming_a_queue_that_is_not_paused_changes_nothing(store: Store) -> None:
    assert await store.steer(MAIL, Resume()) == Steered()
    assert (await store.counts()).queues == {}


async def test_a_queue_can_be_paused_before_it_has_jobs(store: Store) -> None:
    await store.steer(QueueRef("new"), PAUSE)
    await one(store, queue="new")

    assert (await pause_of(store, "new")) is not None
    assert await take(store, await worker(store), queue="new") == []


async def test_many_queues_are_paused_at_once(store: Store) -> None:
    names = [f"q{n}" for n in range(50)]
    for name in names:
        await store.steer(QueueRef(name), Pause(by=name))

    paused = {name: queue.paused for name, queue in (await store.counts()).queues.items()}

    assert {name: pause and pause.by for name, pause in paused.items()} == {name: name for name in names}


@pytest.mark.parametrize(
    "make",
    [
        lambda: QueueRef("a b"),
        lambda: QueueRef(""),
        lambda: Pause(reason="x" * 501),
        lambda: Pause(by="a\nb"),
        lambda: Pause(until=float("nan")),
        lambda: Pause(until=float("inf")),
    ],
)
def test_words_that_cannot_be_kept_are_refused(make: object) -> None:
    with pytest.raises(InvalidInput):
        make()


@pytest.mark.parametrize("text", ["'; drop table pauses; --", 'é😀 "quoted" \\', "x" * 500])
async def test_a_reason_is_text_and_nothing_more(store: Store, text: str) -> None:
    await store.steer(MAIL, Pause(reason=text))

    paused = await pause_of(store)
    assert paused is not None
    assert paused.reason == text
