"""Writes in mid-run: fenced like settles, gathered, kept for the next start and for those who follow a job."""

from __future__ import annotations

from typing import Any

import pytest

from noria.backends.contract import Change, DocWrite, Mark, Parts, Query, Verdict
from noria.errors import InvalidInput
from noria.ids import Id
from noria.model.job import Lease
from noria.model.limits import MAX_CHECKPOINT, MAX_ITEM, MAX_NOTE
from noria.model.mark import Progress
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, enqueue, one, record, state
from tests.contract.workers import end, fence, running, settle, take, take_all, worker


def mark(lease: Lease, **fields: Any) -> Mark:
    return Mark(lease.id, lease.starts, **fields)


async def put(store: Store, session: Any, lease: Lease, **fields: Any) -> Verdict:
    """Write one mark."""
    return (await store.mark(session, [mark(lease, **fields)]))[0]


async def items(store: Store, id: Id, start: int = 0, limit: int = 1_000) -> list[tuple[int, bytes]]:
    """What was sent, with its offsets."""
    stream = await store.emitted(id, start, limit)
    assert stream is not None
    return [(item.offset, item.data) for item in stream.items]


async def again(store: Store, session: Any, lease: Lease) -> tuple[Any, Lease]:
    """End a start as released, and begin the next one in another session."""
    await settle(store, session, lease, State.QUEUED)
    other = await worker(store)
    (following,) = await take(store, other)
    return other, following


async def test_progress_is_seen_while_the_job_runs_and_after_it_ended(store: Store) -> None:
    session, lease = await running(store)

    verdict = await put(store, session, lease, progress=Progress(0.25, "logged in"))
    await store.restart()
    during = await record(store, lease.id)
    await settle(store, session, lease)
    after = await record(store, lease.id)

    assert verdict is Verdict.OK
    for seen in (during, after):
        assert seen.progress is not None
        assert (seen.progress.fraction, seen.progress.note) == (0.25, "logged in")
        assert abs(seen.progress.at - seen.created) < 600
    assert during.version < after.version


async def test_the_last_progress_counts_and_raises_the_version(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, progress=Progress(0.25))
    before = await record(store, lease.id)

    await store.mark(session, [mark(lease, progress=Progress(0.5)), mark(lease, progress=Progress(0.75))])
    after = await record(store, lease.id)

    assert after.progress is not None
    assert after.progress.fraction == 0.75
    assert after.version > before.version


async def test_a_new_start_has_no_progress_yet(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, progress=Progress(0.25))

    session, lease = await again(store, session, lease)
    before = await record(store, lease.id)
    await put(store, session, lease, checkpoint=b"{}")
    after = await record(store, lease.id)

    assert before.progress is None
    assert after.progress is None


async def test_a_checkpoint_is_handed_to_every_later_start(store: Store) -> None:
    session, lease = await running(store)
    first = lease.checkpoint
    await put(store, session, lease, checkpoint=b'{"page": 1}')
    await put(store, session, lease, checkpoint=bytes(range(256)))
    await put(store, session, lease, progress=Progress(0.1))
    await store.restart()

    session, lease = await again(store, session, lease)
    second = lease.checkpoint
    _, lease = await again(store, session, lease)

    assert [first, second, lease.checkpoint] == [None, bytes(range(256)), bytes(range(256))]


async def test_a_checkpoint_outlives_a_crash_a_failure_and_an_operators_retry(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, checkpoint=b"1")
    await store.end(session, started=[fence(lease)])
    session = await worker(store)
    (crashed,) = await take(store, session)
    await settle(store, session, crashed, State.FAILED)
    await store.alter([lease.id], Change(kind="retry"))
    (retried,) = await take(store, session)

    assert [crashed.checkpoint, retried.checkpoint] == [b"1", b"1"]


async def test_only_jobs_that_left_something_are_handed_it(store: Store) -> None:
    ids = await enqueue(store, 3)
    session = await worker(store)
    leases = await take_all(store, session)
    await store.mark(session, [mark(lease, checkpoint=b"%d" % n) for n, lease in enumerate(leases) if n != 1])
    await store.settle(session, [end(lease, State.QUEUED) for lease in leases])
    fresh = await one(store)

    found = {lease.id: lease.checkpoint for lease in await take_all(store, session)}

    assert found == {ids[0]: b"0", ids[1]: None, ids[2]: b"2", fresh: None}


async def test_a_job_asks_until_it_is_told_to_go_on(store: Store) -> None:
    session, lease = await running(store)

    await put(store, session, lease, asks="q1")
    await store.restart()
    asking = await record(store, lease.id)
    await put(store, session, lease, progress=Progress(0.5))
    still = await record(store, lease.id)
    await put(store, session, lease, asks=None)
    after = await record(store, lease.id)

    assert [(each.state, each.question) for each in (asking, still, after)] == [
        (State.ASKING, "q1"),
        (State.ASKING, "q1"),
        (State.RUNNING, ""),
    ]
    assert asking.version < still.version < after.version


@pytest.mark.parametrize(
    "after",
    [State.SUCCEEDED, State.FAILED, State.CANCELLED, State.QUEUED, State.RETRYING],
    ids=lambda s: s.word,
)
async def test_a_job_that_asks_can_end_as_one_that_runs(store: Store, after: State) -> None:
    session, lease = await running(store)
    await put(store, session, lease, asks="q1")

    verdict = await settle(store, session, lease, after, delay=60 if after is State.RETRYING else 0)
    found = await record(store, lease.id)

    assert verdict is Verdict.OK
    assert (found.state, found.question) == (after, "")


async def test_who_dies_asking_leaves_its_question_to_the_next_start(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, asks="q1")
    await store.end(session, started=[fence(lease)])
    between = await record(store, lease.id)
    session = await worker(store)
    (following,) = await take(store, session)
    found = await record(store, lease.id)
    await put(store, session, following, asks="q2")
    _, last = await again(store, session, following)

    assert (between.state, between.question) == (State.QUEUED, "")
    assert following.asked == "q1"
    assert (found.state, found.question) == (State.RUNNING, "")
    assert last.asked == "q2"


async def test_a_start_that_went_on_leaves_no_question(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, asks="q1")
    await put(store, session, lease, asks=None)

    _, following = await again(store, session, lease)

    assert following.asked == ""


async def test_a_job_that_asks_is_counted_found_and_tallied_as_such(store: Store) -> None:
    ids = await enqueue(store, 2)
    session = await worker(store)
    leases = await take_all(store, session)
    await put(store, session, leases[0], asks="q1")

    counts = (await store.counts()).queues[QUEUE].states
    asking = await store.find(Query(states=(State.ASKING,)), ids_only=True)
    others = await store.find(Query(states=(State.RUNNING,)), ids_only=True)
    both = await store.find(Query(states=(State.RUNNING, State.ASKING)), ids_only=True)
    tally = await store.tally(Query())

    assert counts == {State.ASKING: 1, State.RUNNING: 1}
    assert (asking.ids, others.ids, sorted(both.ids)) == ([ids[0]], [ids[1]], sorted(ids))
    assert {(kin.state, kin.n) for kin in tally.kin} == {(State.ASKING, 1), (State.RUNNING, 1)}


async def test_what_ended_is_counted_as_asking_no_more(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, asks="q1")
    await settle(store, session, lease)

    assert (await store.counts()).queues[QUEUE].states == {State.SUCCEEDED: 1}


async def test_a_job_that_asks_is_cancelled_through_its_worker(store: Store) -> None:
    session, lease = await running(store)
    await put(store, session, lease, asks="q1")

    (altered,) = await store.alter([lease.id], Change(kind="cancel", note="no"))
    orders = await store.renew(session)

    assert (altered.status, altered.state) == ("asked", State.ASKING)
    assert [order.fence for order in orders.cancels] == [fence(lease)]


@pytest.mark.parametrize("kind", ["discard", "retry", "erase"])
async def test_an_operator_can_change_a_job_that_asks_no_more_than_one_that_runs(
    store: Store, kind: Any
) -> None:
    session, lease = await running(store)
    await put(store, session, lease, asks="q1")

    (altered,) = await store.alter([lease.id], Change(kind=kind))

    assert (altered.status, altered.state) == ("refused", State.ASKING)


async def test_documents_are_written_with_a_mark(store: Store) -> None:
    session, lease = await running(store)

    await put(store, session, lease, asks="q1", docs=(DocWrite("question", "q1", b"1"),))
    (opened,) = await store.read("question", ["q1"])
    await put(store, session, lease, asks=None, docs=(DocWrite("question", "q1", None),))
    (closed,) = await store.read("question", ["q1"])

    assert opened is not None
    assert opened.data == b"1"
    assert closed is None


FULL = {
    "progress": Progress(0.9),
    "checkpoint": b"late",
    "asks": "late",
    "items": (b"late",),
    "docs": (DocWrite("question", "late", b"1"),),
}


async def changed_nothing(store: Store, lease: Lease) -> None:
    found = await record(store, lease.id, Parts.ALL)
    assert (found.progress, found.question, found.items) == (None, "", 0)
    assert await items(store, lease.id) == []
    assert await store.read("question", ["late"]) == [None]


async def test_a_mark_after_the_start_has_ended_says_already_and_changes_nothing(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease)

    assert await put(store, session, lease, **FULL) is Verdict.ALREADY
    await changed_nothing(store, lease)


async def test_a_mark_after_the_session_has_ended_is_stale(store: Store) -> None:
    session, lease = await running(store)
    await store.end(session)

    assert await put(store, session, lease, **FULL) is Verdict.STALE
    await changed_nothing(store, lease)


async def test_a_mark_by_another_session_is_stale(store: Store) -> None:
    _, lease = await running(store)
    other = await worker(store)

    assert await put(store, other, lease, **FULL) is Verdict.STALE
    await changed_nothing(store, lease)


async def test_a_mark_of_an_older_start_is_stale(store: Store) -> None:
    session, lease = await running(store)
    other, following = await again(store, session, lease)
    del other

    assert await put(store, session, lease, **FULL) is not Verdict.OK
    await changed_nothing(store, following)


async def test_a_stale_mark_never_fails_its_neighbours(store: Store) -> None:
    ids = await enqueue(store, 3)
    session = await worker(store)
    leases = await take_all(store, session)
    await settle(store, session, leases[1])

    verdicts = await store.mark(session, [mark(lease, asks=f"q{n}") for n, lease in enumerate(leases)])

    assert verdicts == [Verdict.OK, Verdict.ALREADY, Verdict.OK]
    assert [await state(store, id) for id in ids] == [State.ASKING, State.SUCCEEDED, State.ASKING]


async def test_a_mark_of_an_unknown_job_is_stale(store: Store) -> None:
    session = await worker(store)

    assert await store.mark(session, [Mark(store.ids.next(), 1, progress=Progress(0.5))]) == [Verdict.STALE]


async def test_no_marks_are_answered_by_nothing(store: Store) -> None:
    assert await store.mark(await worker(store), []) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"progress": Progress(1.5)},
        {"progress": Progress(float("nan"))},
        {"progress": Progress(0.5, "x" * (MAX_NOTE + 1))},
        {"progress": Progress(0.5, "\x00")},
        {"checkpoint": b"x" * (MAX_CHECKPOINT + 1)},
        {"items": (b"x" * (MAX_ITEM + 1),)},
        {"docs": (DocWrite("", "name", b""),)},
        {"asks": "\n"},
    ],
    ids=["fraction", "nan", "note", "nul", "checkpoint", "item", "document", "question"],
)
async def test_what_cannot_be_stored_is_refused(local: Store, fields: dict[str, Any]) -> None:
    session, lease = await running(local)

    with pytest.raises(InvalidInput):
        await put(local, session, lease, **fields)
    assert (await record(local, lease.id)).version == (await record(local, lease.id)).version


async def test_the_largest_of_everything_is_stored(store: Store) -> None:
    session, lease = await running(store)
    note, data, item = "ä" * MAX_NOTE, b"\xff" * MAX_CHECKPOINT, b"\x00" * MAX_ITEM

    await put(store, session, lease, progress=Progress(1.0, note), checkpoint=data, items=(item, b""))
    found = await record(store, lease.id)
    sent = await items(store, lease.id)
    _, following = await again(store, session, lease)

    assert found.progress is not None
    assert found.progress.note == note
    assert sent == [(0, item), (1, b"")]
    assert following.checkpoint == data
