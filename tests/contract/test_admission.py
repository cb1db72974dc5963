"""Claims, full queues, documents and parents in one call: all is decided before anything is written."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from noria.backends.contract import Change, Limit, Parts, QueueRef
from noria.errors import Conflict
from noria.ids import Id
from noria.model.claim import Claim, OnConflict
from noria.model.document import DocWrite
from noria.model.groups import Grouped, GroupRef, Rule
from noria.model.job import Extras, NewJob, Receipt
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, new, record, state
from tests.contract.workers import take_all, worker

NOTE = [DocWrite("note", "n", b"{}", if_version=0)]
CHANGES: list[OnConflict] = ["replace", "keep_last", "merge"]


async def full(store: Store, queue: str = QUEUE, length: int = 1) -> None:
    """Let only so many jobs wait in a queue."""
    await store.steer(QueueRef(queue), Limit(max_length=length))


def claiming(store: Store, how: OnConflict, key: str = "k", **fields: Any) -> NewJob:
    claim = Claim(until_start=True, on_conflict=how, argument="rows" if how == "merge" else "", max_items=3)
    return new(store, **{"unique": key, "claim": claim, "body": b'{"rows":[1]}', **fields})


def statuses(receipts: list[Receipt]) -> list[str]:
    return [receipt.status for receipt in receipts]


async def untouched(store: Store, job: NewJob) -> bool:
    """Whether a job waits as it was pushed, and has its key."""
    found = await record(store, job.id, Parts.BODY)
    [other] = await store.push([new(store, unique=job.unique)])
    return (found.state, found.body, other.id) == (State.QUEUED, job.body, job.id)


# ---- calls with documents


@pytest.mark.parametrize("how", CHANGES)
async def test_a_call_that_is_refused_since_a_queue_is_full_changes_no_job(
    store: Store, how: OnConflict
) -> None:
    held = claiming(store, how)
    await store.push([held])
    await full(store)
    lost = claiming(store, how, body=b'{"rows":[2]}')

    receipts = await store.push([lost, new(store)], NOTE)

    assert statuses(receipts) == ["rejected", "rejected"]
    assert [receipt.full for receipt in receipts] == [False, True]
    assert await untouched(store, held)
    assert await store.get([lost.id]) == [None]
    assert await store.read("note", ["n"]) == [None]


@pytest.mark.parametrize("how", CHANGES)
async def test_a_call_whose_documents_conflict_changes_no_job(store: Store, how: OnConflict) -> None:
    held = claiming(store, how)
    await store.push([held])
    await full(store)
    await store.write(NOTE)

    with pytest.raises(Conflict):
        await store.push([claiming(store, how, body=b'{"rows":[2]}')], NOTE)

    assert await untouched(store, held)


async def test_a_job_that_cannot_be_merged_takes_its_call_with_documents_with_it(store: Store) -> None:
    held, other = claiming(store, "merge"), claiming(store, "replace", "other")
    await store.push([held, other])
    after = [claiming(store, "replace", "other"), claiming(store, "merge", body=b'{"rows":1}'), new(store)]

    receipts = await store.push(after, NOTE)

    assert statuses(receipts) == ["rejected"] * 3
    assert "rows" in receipts[1].why
    assert await untouched(store, other)
    assert await store.read("note", ["n"]) == [None]
    assert await store.get([job.id for job in after]) == [None, None, None]


async def test_one_refused_call_leaves_room_and_keys_to_the_next(store: Store) -> None:
    """Each call is decided by itself, also if they come together."""
    held = claiming(store, "replace")
    await store.push([held])
    await full(store, length=2)
    refused = [claiming(store, "replace"), new(store), new(store)]
    taken = [claiming(store, "replace"), new(store)]

    first = await store.push(refused, NOTE)
    second = await store.push(taken, NOTE)

    assert statuses(first) == ["rejected"] * 3
    assert second == [Receipt("replaced", taken[0].id, held.id.hex()), Receipt("created", taken[1].id)]


async def test_calls_that_come_together_are_decided_each_by_itself(store: Store) -> None:
    held = claiming(store, "replace")
    await store.push([held])
    await full(store, length=2)
    young, late = claiming(store, "replace"), new(store, unique="k", queue="other")
    child = new(store, queue="other", extras=Extras(after=(young.id.hex(),)))
    calls = [[claiming(store, "replace"), new(store), new(store)], [young, child], [late]]
    docs = [NOTE, [DocWrite("note", "m", b"{}", if_version=0)], []]

    refused, taken, met = await asyncio.gather(*(map(store.push, calls, docs)))

    assert statuses(refused) == ["rejected"] * 3
    assert statuses(taken) == ["replaced", "created"]
    assert (met[0].status, met[0].id in (held.id, young.id)) == ("existing", True)
    assert [doc and doc.name for doc in await store.read("note", ["n", "m"])] == [None, "m"]
    assert [await state(store, id) for id in (held.id, young.id, child.id)] == [
        State.CANCELLED,
        State.QUEUED,
        State.WAITING,
    ]


async def test_a_key_twice_in_a_call_with_documents_needs_room_once(store: Store) -> None:
    await full(store)
    job = new(store, unique="k")

    receipts = await store.push([job, new(store, unique="k"), job], NOTE)

    assert [(each.status, each.id) for each in receipts] == [
        ("created", job.id),
        ("existing", job.id),
        ("existing", job.id),
    ]


# ---- full queues


@pytest.mark.parametrize("how", ["existing", "reject", *CHANGES])
async def test_no_job_stands_for_another_if_it_was_not_stored_itself(store: Store, how: OnConflict) -> None:
    await full(store, length=0)

    receipts = await store.push([claiming(store, how) for _ in range(3)])

    assert statuses(receipts) == ["rejected"] * 3
    assert all(receipt.full for receipt in receipts)
    assert (await store.counts()).queues[QUEUE].length == 0


@pytest.mark.parametrize("how", ["reject", "keep_last", "merge"])
async def test_whoever_meets_a_job_that_waits_needs_no_room(store: Store, how: OnConflict) -> None:
    held = claiming(store, how)
    await store.push([held])
    await full(store)

    receipts = await store.push([claiming(store, how), new(store)])

    words = {"reject": "existing", "keep_last": "updated", "merge": "merged"}
    assert [(each.status, each.full) for each in receipts] == [(words[how], False), ("rejected", True)]
    assert receipts[0].id == held.id


async def test_a_job_that_replaces_one_of_another_queue_needs_room_in_its_own(store: Store) -> None:
    held = claiming(store, "replace", queue="other")
    await store.push([held, new(store)])
    await full(store)

    [receipt] = await store.push([claiming(store, "replace")])

    assert (receipt.status, receipt.full) == ("rejected", True)
    assert await untouched(store, held)


async def test_a_full_list_keeps_its_key_if_the_next_job_has_no_room(store: Store) -> None:
    held = claiming(store, "merge", body=b'{"rows":[1,2,3]}')
    await store.push([held])
    await full(store)

    [receipt] = await store.push([claiming(store, "merge")])

    assert (receipt.status, receipt.full) == ("rejected", True)
    assert await untouched(store, held)


async def test_each_of_several_claims_takes_the_room_of_the_job_that_it_replaces(store: Store) -> None:
    held = [claiming(store, "replace", key) for key in "ab"]
    await store.push(held)
    await full(store, length=2)
    coming = [
        claiming(store, "replace", "a"),
        claiming(store, "replace", "b"),
        claiming(store, "replace", "c"),
    ]

    receipts = await store.push([*coming, claiming(store, "replace", "a")])

    assert statuses(receipts) == ["replaced", "replaced", "rejected", "replaced"]
    assert [receipt.full for receipt in receipts] == [False, False, True, False]
    assert (await store.counts()).queues[QUEUE].length == 2
    assert [await state(store, job.id) for job in (*held, *coming[:2])] == [
        State.CANCELLED,
        State.CANCELLED,
        State.CANCELLED,
        State.QUEUED,
    ]


async def test_a_job_that_was_let_into_a_full_queue_leaves_its_room_to_who_replaces_it(store: Store) -> None:
    await full(store, length=0)

    receipts = await store.push([claiming(store, "replace", admitted=True), claiming(store, "replace")])

    assert statuses(receipts) == ["created", "replaced"]
    assert (await store.counts()).queues[QUEUE].length == 1


async def test_jobs_of_one_call_that_keep_the_last_have_the_order_of_their_queue(store: Store) -> None:
    await store.steer(QueueRef(QUEUE), Limit(order="newest", max_age=3600.0))
    older, newer = (new(store, at=store.clock.wall() - n) for n in (20, 10))
    kept = claiming(store, "keep_last", delay=60.0)
    put_off = claiming(store, "keep_last", at=store.clock.wall() - 15, body=b'{"rows":[2]}')

    await store.push([older, kept, put_off, newer])

    order = [lease.id for lease in await take_all(store, await worker(store))]
    assert order == [newer.id, kept.id, older.id]


# ---- parents


def after(store: Store, *parents: Id, how: OnConflict = "replace", **fields: Any) -> NewJob:
    return claiming(store, how, "child", extras=Extras(after=tuple(id.hex() for id in parents)), **fields)


@pytest.mark.parametrize("how", ["existing", *CHANGES])
async def test_a_job_that_waits_for_one_that_is_not_there_is_rejected_whatever_it_claims(
    store: Store, how: OnConflict
) -> None:
    job, neighbour = after(store, store.ids.next(), how=how), new(store)

    receipts = await store.push([job, neighbour])

    assert statuses(receipts) == ["rejected", "created"]
    assert "not there" in receipts[0].why
    assert await store.get([job.id]) == [None]


async def test_a_job_that_waits_for_one_that_is_not_there_replaces_none(store: Store) -> None:
    held = claiming(store, "replace", "child")
    await store.push([held])

    [receipt] = await store.push([after(store, store.ids.next())])

    assert receipt.status == "rejected"
    assert await untouched(store, held)


@pytest.mark.parametrize("how", ["existing", "replace"])
async def test_a_job_whose_parent_has_no_room_is_rejected_with_it(store: Store, how: OnConflict) -> None:
    await full(store, length=0)
    parent = claiming(store, how)
    child = after(store, parent.id, how=how, queue="other")
    grandchild = new(store, queue="other", extras=Extras(after=(child.id.hex(),)))

    receipts = await store.push([parent, child, grandchild])

    assert statuses(receipts) == ["rejected"] * 3
    assert [receipt.full for receipt in receipts] == [True, False, False]
    assert await store.get([child.id, grandchild.id]) == [None, None]


async def test_a_job_whose_parent_cannot_be_merged_is_rejected_with_it(store: Store) -> None:
    await store.push([claiming(store, "merge")])
    parent = claiming(store, "merge", body=b'{"rows":1}')

    receipts = await store.push([parent, after(store, parent.id)])

    assert statuses(receipts) == ["rejected", "rejected"]
    assert "not there" in receipts[1].why


@pytest.mark.parametrize("how", ["reject", "keep_last", "merge"])
async def test_a_job_whose_parent_met_a_job_waits_for_that_one(store: Store, how: OnConflict) -> None:
    held = claiming(store, how)
    await store.push([held])
    parent = claiming(store, how)
    child = after(store, parent.id)

    receipts = await store.push([parent, child])

    assert (receipts[0].id, receipts[1].status) == (held.id, "created")
    assert await state(store, child.id) is State.WAITING
    assert msgspec.json.decode((await record(store, held.id, Parts.BODY)).body or b"")["rows"]
    await store.alter([held.id], Change(kind="cancel"))
    assert await state(store, child.id) is State.CANCELLED


async def test_a_job_that_waits_for_others_can_be_replaced_in_its_call(store: Store) -> None:
    parent = new(store)
    first, second = after(store, parent.id), after(store, parent.id)

    receipts = await store.push([parent, first, second])

    assert statuses(receipts) == ["created", "created", "replaced"]
    assert [await state(store, job.id) for job in (first, second)] == [State.CANCELLED, State.WAITING]
    states = (await store.counts()).queues[QUEUE].states
    assert +Counter(states) == {State.QUEUED: 1, State.CANCELLED: 1, State.WAITING: 1}


# ---- groups


@pytest.mark.parametrize("how", CHANGES)
async def test_jobs_of_one_call_and_one_group_meet(store: Store, how: OnConflict) -> None:
    group = Grouped(GroupRef("host", "a"), Rule(1))
    end = store.clock.wall() + 90
    jobs = [claiming(store, how, group=group, expires=end, deadline=end) for _ in range(2)]

    receipts = await store.push(jobs)

    words = {"replace": "replaced", "keep_last": "updated", "merge": "merged"}
    assert statuses(receipts) == ["created", words[how]]
    found = await record(store, receipts[1].id)
    assert (found.expires, found.deadline) == (pytest.approx(end), pytest.approx(end))
    [lease] = await take_all(store, await worker(store))
    assert lease.id == receipts[1].id


async def test_a_job_that_is_replaced_in_a_full_group_leaves_its_place_to_the_next(store: Store) -> None:
    group = Grouped(GroupRef("host", "a"), Rule(1))
    held, other = claiming(store, "replace", group=group), new(store, group=group)
    await store.push([held, other])
    await full(store, length=2)

    receipts = await store.push([claiming(store, "replace", group=group), new(store)], NOTE)
    before = [await state(store, job.id) for job in (held, other)]
    await store.push([claiming(store, "replace", group=group)], NOTE)

    assert statuses(receipts) == ["rejected", "rejected"]
    assert before == [State.QUEUED, State.WAITING]
    assert [await state(store, job.id) for job in (held, other)] == [State.CANCELLED, State.QUEUED]
