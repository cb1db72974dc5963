"""Records: read by id, found by what they are, and listed page by page while rows come and go."""

from __future__ import annotations

from typing import Any

import pytest

from noria.backends.contract import Change, Parts, Query
from noria.ids import Id
from noria.model.job import Extras, Record
from noria.model.state import FINAL, State
from tests.contract.store import Store
from tests.contract.words import ALONE, enqueue, new, one, record, swept
from tests.contract.workers import running, settle, take, take_all, worker


async def found(store: Store, limit: int = 50, **query: Any) -> list[Id]:
    """The ids of everything that a query finds, page by page."""
    ids: list[Id] = []
    after = None
    while True:
        page = await store.find(Query(**query), after, limit)
        assert len(page.records) <= limit
        ids += [each.id for each in page.records]
        if page.next is None:
            return ids
        after = page.next


# -- get


async def test_records_come_in_the_order_of_the_ids(store: Store) -> None:
    first, second = await enqueue(store, 2)
    missing = store.ids.next()

    records = await store.get([second, missing, first, second])

    assert [each and each.id for each in records] == [second, None, first, second]


async def test_no_ids_are_answered_by_nothing(store: Store) -> None:
    assert await store.get([]) == []


@pytest.mark.parametrize("parts", [Parts.NONE, Parts.BODY, Parts.RESULT, Parts.LOG, Parts.ALL])
async def test_only_the_parts_asked_for_are_read(store: Store, parts: Parts) -> None:
    session, lease = await running(store)
    await settle(store, session, lease)

    each = await record(store, lease.id, parts)

    assert (each.body is not None) == (Parts.BODY in parts)
    assert (each.result is not None) == (Parts.RESULT in parts)
    assert bool(each.log) == (Parts.LOG in parts)


async def test_a_version_rises_with_every_change(store: Store) -> None:
    session, lease = await running(store)
    versions = [(await record(store, lease.id)).version]
    for change in (State.RETRYING, None, State.FAILED):
        if change is None:
            (lease,) = await take(store, session)
        else:
            await settle(store, session, lease, change)
        versions.append((await record(store, lease.id)).version)
    for kind in (Change(kind="discard"), Change(kind="retry"), Change(kind="cancel")):
        await store.alter([lease.id], kind)
        versions.append((await record(store, lease.id)).version)

    assert versions == sorted(set(versions))


async def test_a_version_rests_while_nothing_changes(store: Store) -> None:
    id = await one(store)
    before = await record(store, id)
    await store.advance(100)
    await swept(store)
    await store.restart()

    assert await record(store, id) == before


async def test_a_thousand_records_are_read_in_one_call(store: Store) -> None:
    ids = await enqueue(store, 1_000)

    assert [each and each.id for each in await store.get(ids)] == ids


# -- find


async def test_everything_is_found_newest_first(store: Store) -> None:
    ids = await enqueue(store, 5)
    await store.restart()

    assert await found(store) == ids[::-1]


@pytest.mark.parametrize("limit", [1, 3, 10, 11])
async def test_pages_are_whole_without_repeats(store: Store, limit: int) -> None:
    ids = await enqueue(store, 10)

    assert await found(store, limit) == ids[::-1]


async def test_the_last_page_says_so(store: Store) -> None:
    await enqueue(store, 4)

    pages = [await store.find(Query(), None, 2)]
    pages.append(await store.find(Query(), pages[0].next, 2))

    assert pages[0].next is not None
    assert [each.next for each in pages[1:]] == [None] or not (
        await store.find(Query(), pages[1].next, 2)
    ).records


async def test_an_empty_store_has_one_empty_page(store: Store) -> None:
    page = await store.find(Query())

    assert (page.records, page.next) == ([], None)


async def test_pages_are_read_while_rows_vanish(store: Store) -> None:
    """F14."""
    ids = await enqueue(store, 60, keep=0.0)
    seen: list[Id] = []
    session = await worker(store)
    page = await store.find(Query(), None, 10)
    while True:
        seen += [each.id for each in page.records]
        if page.next is None:
            break
        for lease in await take(store, session, 7):
            await settle(store, session, lease)
        page = await store.find(Query(), page.next, 10)

    assert len(seen) == len(set(seen))
    assert seen == sorted(seen, reverse=True)
    left = {each.id for each in await store.get(ids) if each}
    assert left <= set(seen)


async def test_pages_are_read_while_rows_come(store: Store) -> None:
    ids = await enqueue(store, 20)
    page = await store.find(Query(), None, 10)
    seen = [each.id for each in page.records]
    await enqueue(store, 20)
    while page.next is not None:
        page = await store.find(Query(), page.next, 10)
        seen += [each.id for each in page.records]

    assert seen == ids[::-1]


async def test_a_state_finds_its_jobs_and_no_others(store: Store) -> None:
    where = await one_in_each_state(store)

    seen = {state: await found(store, states=(state,)) for state in where}

    assert seen == {state: [id] for state, id in where.items()}


async def test_several_states_find_all_of_them(store: Store) -> None:
    where = await one_in_each_state(store)

    ids = await found(store, states=tuple(FINAL))

    assert sorted(ids) == sorted(where[state] for state in FINAL)


async def one_in_each_state(store: Store) -> dict[State, Id]:
    where: dict[State, Id] = {}
    # Asking is no end of a start: see test_marks.py.
    others = [
        state
        for state in sorted(ALONE)
        if state not in (State.QUEUED, State.SCHEDULED, State.RUNNING, State.ASKING)
    ]
    for state in others:
        session, lease = await running(store, task="rare")
        await settle(store, session, lease, state, delay=60)
        where[state] = lease.id
    where[State.RUNNING] = (await running(store))[1].id
    where[State.QUEUED] = await one(store)
    where[State.SCHEDULED] = await one(store, delay=60)
    return where


async def test_tasks_and_queues_find_their_jobs(store: Store) -> None:
    jobs = [new(store, task=task, queue=queue) for task in "ab" for queue in "xy"]
    await store.push(jobs)

    assert await found(store, tasks=("a",)) == [jobs[1].id, jobs[0].id]
    assert await found(store, queues=("y",)) == [jobs[3].id, jobs[1].id]
    assert await found(store, tasks=("a", "b"), queues=("x",)) == [jobs[2].id, jobs[0].id]
    assert await found(store, tasks=("c",)) == []


async def test_a_tag_finds_jobs_that_carry_exactly_it(store: Store) -> None:
    tagged = await one(store, extras=Extras(tags=("red", "green")))
    await one(store, extras=Extras(tags=("redder",)))
    await one(store)

    assert await found(store, tag="red") == [tagged]
    assert await found(store, tag="re") == []


@pytest.mark.parametrize("tag", ["a'b", 'a"b', "a%b", "a_b", "\\", "$[0]", "*", "é😀", '","x'])
async def test_a_tag_is_text_and_nothing_more(store: Store, tag: str) -> None:
    tagged = await one(store, extras=Extras(tags=(tag,)))
    await one(store, extras=Extras(tags=("a-b", "axb", "plain")))

    assert await found(store, tag=tag) == [tagged]


async def test_a_correlation_id_finds_its_jobs(store: Store) -> None:
    ids = await enqueue(store, 2, extras=Extras(correlation_id="order '7'"))
    await one(store, extras=Extras(correlation_id="order 8"))

    assert await found(store, correlation_id="order '7'") == ids[::-1]


async def test_dead_finds_dead_letters_only(store: Store) -> None:
    ids = []
    for _ in range(3):
        session, lease = await running(store)
        await settle(store, session, lease, State.FAILED)
        ids.append(lease.id)
    await store.alter(ids[:1], Change(kind="discard"))

    assert await found(store, dead=True) == ids[:0:-1]
    assert await found(store, states=(State.FAILED,)) == ids[::-1]


async def test_dead_letters_come_page_by_page_and_by_queue(store: Store) -> None:
    await enqueue(store, 5, queue="a")
    await enqueue(store, 5, queue="b")
    session = await worker(store)
    for queue in "ab":
        for lease in await take_all(store, session, queue):
            await settle(store, session, lease, State.FAILED)

    ids = await found(store, 2, dead=True, queues=("a",))

    assert len(ids) == len(set(ids)) == 5
    assert ids == sorted(ids, reverse=True)


async def test_times_bound_what_is_found(store: Store) -> None:
    ids = []
    for _ in range(4):
        ids.append(await one(store))
        await store.advance(10)
    start = store.clock.wall() - 40

    assert await found(store, created_after=start + 15) == ids[:1:-1]
    assert await found(store, created_before=start + 15) == ids[1::-1]
    assert await found(store, created_after=start + 5, created_before=start + 25) == ids[2:0:-1]


async def test_all_fields_must_match(store: Store) -> None:
    wanted = await one(store, task="a", queue="x", extras=Extras(tags=("t",), correlation_id="c"))
    for other in ({"task": "b"}, {"queue": "y"}, {"extras": Extras(tags=("t",))}, {"delay": 5}):
        fields = {"task": "a", "queue": "x", "extras": Extras(tags=("t",), correlation_id="c"), **other}
        await one(store, **fields)

    ids = await found(store, states=(State.QUEUED,), tasks=("a",), queues=("x",), tag="t", correlation_id="c")

    assert ids == [wanted]


async def test_found_records_are_those_that_get_reads(store: Store) -> None:
    await one_in_each_state(store)

    page = await store.find(Query(), None, 50)

    read: list[Record | None] = await store.get([each.id for each in page.records])
    assert page.records == read


async def test_a_rare_match_among_thousands_is_found_in_the_end(store: Store) -> None:
    wanted = await one(store, extras=Extras(tags=("needle",)))
    await enqueue(store, 6_000)

    assert await found(store, tag="needle") == [wanted]
