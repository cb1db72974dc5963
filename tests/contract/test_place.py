"""Where a job stands in its line."""

from __future__ import annotations

from noria.backends.contract import Change
from noria.ids import Id
from noria.model.job import Lane
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import enqueue, one, state, swept
from tests.contract.workers import crash, take, worker


async def places(store: Store, ids: list[Id]) -> list[int | None]:
    """The place of each."""
    return [await store.place(id) for id in ids]


async def test_a_queued_job_knows_how_many_are_leased_before_it(store: Store) -> None:
    ids = await enqueue(store, 5)
    urgent = await one(store, priority=3)
    await store.restart()

    assert await places(store, [urgent, *ids]) == [0, 1, 2, 3, 4, 5]
    taken = await take(store, await worker(store), 2)
    assert [lease.id for lease in taken] == [urgent, ids[0]]
    assert await places(store, ids) == [None, 0, 1, 2, 3]


async def test_the_place_is_counted_to_a_number(store: Store) -> None:
    ids = await enqueue(store, 8)

    assert [await store.place(ids[-1], most) for most in (3, 7, 100)] == [3, 7, 7]


async def test_only_the_same_kind_of_slot_in_the_same_queue_is_before_it(store: Store) -> None:
    await enqueue(store, 3, queue="other")
    await enqueue(store, 3, lane=Lane.THREAD)
    id = await one(store)
    thread = await one(store, lane=Lane.THREAD)

    assert await places(store, [id, thread]) == [0, 3]


async def test_suspects_stand_in_a_line_of_their_own(store: Store) -> None:
    suspects = [await suspect(store) for _ in range(2)]
    free = await one(store, queue="apart")

    assert await places(store, [*suspects, free]) == [0, 1, 0]


async def suspect(store: Store) -> Id:
    """A job that has crashed its process twice, in a queue of its own kind."""
    id = await one(store, crash_budget=9)
    await crash(store, id, 2)
    await swept(store)
    await store.alter([id], Change(kind="move", queue="apart"))
    return id


async def test_a_job_that_is_not_queued_has_no_place(store: Store) -> None:
    id = await one(store, delay=60)

    assert await state(store, id) is State.SCHEDULED
    assert await places(store, [id, store.ids.next()]) == [None, None]
