"""Partial results: appended by whoever runs a job, read by whoever follows it, and gone with its record."""

from __future__ import annotations

from noria.backends.contract import Change
from noria.model.limits import MAX_EMITTED
from tests.contract.store import Store
from tests.contract.test_marks import again, items, put
from tests.contract.words import one, record, swept
from tests.contract.workers import running, settle


async def test_partial_results_are_read_in_order_from_any_offset(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, items=(b"a", b"b"), first=0)
    await put(store, session, lease, items=(b"c",), first=2)
    await store.restart()

    assert await items(store, lease.id) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert await items(store, lease.id, 1, 1) == [(1, b"b")]
    assert await items(store, lease.id, 3) == []
    stream = await store.emitted(lease.id, 3)
    assert stream is not None
    assert stream.end == 3
    assert (await record(store, lease.id)).items == 3


async def test_a_repeated_mark_appends_nothing_twice(store: Store) -> None:
    session, lease = await running(store)
    for items_, first in (((b"a", b"b"), 0), ((b"a", b"b"), 0), ((b"b", b"c"), 1), ((b"b", b"c"), 1)):
        await put(store, session, lease, items=items_, first=first)

    assert await items(store, lease.id) == [(0, b"a"), (1, b"b"), (2, b"c")]


async def test_a_later_start_goes_on_with_the_stream(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, items=(b"a", b"b"))
    session, lease = await again(store, session, lease)
    await put(store, session, lease, items=(b"a",))

    stream = await store.emitted(lease.id)

    assert stream is not None
    assert [(item.offset, item.starts, item.data) for item in stream.items] == [
        (0, 1, b"a"),
        (1, 1, b"b"),
        (2, 2, b"a"),
    ]


async def test_old_items_are_dropped_and_the_gap_is_seen(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, items=tuple(b"%d" % n for n in range(10)))
    await put(store, session, lease, items=tuple(b"%d" % n for n in range(10, MAX_EMITTED + 3)), first=10)

    found = await items(store, lease.id)

    assert found[0] == (3, b"3")
    assert found[-1] == (MAX_EMITTED + 2, b"%d" % (MAX_EMITTED + 2))
    assert len(found) == MAX_EMITTED


async def test_more_items_than_are_kept_can_come_at_once(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, items=tuple(b"%d" % n for n in range(MAX_EMITTED + 5)))

    found = await items(store, lease.id)

    assert (len(found), found[0]) == (MAX_EMITTED, (5, b"5"))


async def test_a_job_without_items_has_an_empty_stream_and_an_unknown_one_has_none(store: Store) -> None:
    id = await one(store)
    stream = await store.emitted(id)

    assert stream is not None
    assert (stream.items, stream.end) == ([], 0)
    assert await store.emitted(store.ids.next()) is None


async def test_what_was_marked_goes_with_the_record(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, items=(b"a",), checkpoint=b"1")
    await settle(store, session, lease)

    await store.alter([lease.id], Change(kind="erase"))
    await swept(store)

    assert await store.emitted(lease.id) is None


async def test_a_job_that_is_erased_at_success_takes_its_items_along(store: Store) -> None:
    session, lease = await running(store, keep=0.0)
    await put(store, session, lease, items=(b"a",))
    await settle(store, session, lease)

    assert await store.emitted(lease.id) is None


async def test_the_marks_of_a_job_are_dropped_once_its_record_is_gone(local: Store) -> None:
    session, lease = await running(local, keep=1.0)
    await put(local, session, lease, items=(b"a",))
    await settle(local, session, lease)

    await local.advance(2 * 3_600)
    await swept(local)
    await local.advance(2 * 3_600)
    await swept(local)

    assert await local.emitted(lease.id) is None
