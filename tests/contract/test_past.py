"""What a job remembers of the times that a person has had it run again."""

from __future__ import annotations

import asyncio
from typing import Any

from noria.backends.contract import Altered, Change, Parts
from noria.ids import Id
from noria.model.past import MAX_KEPT, MAX_LIVES, Life
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import one, record, state, swept
from tests.contract.workers import WHY, settle, take, worker


async def past(store: Store, id: Id) -> tuple[Life, ...]:
    return (await record(store, id, Parts.LOG)).past


async def fail(store: Store, id: Id) -> None:
    """Have it run once more, and fail for good."""
    session = await worker(store)
    (lease,) = await take(store, session)
    assert lease.id == id
    await settle(store, session, lease, State.FAILED)


async def retry(store: Store, id: Id, **fields: Any) -> Altered:
    (altered,) = await store.alter([id], Change(kind="retry", **fields))
    return altered


async def test_a_job_that_was_never_retried_has_no_past(store: Store) -> None:
    id = await one(store)
    await fail(store, id)

    assert await past(store, id) == ()


async def test_a_retry_notes_how_the_job_had_ended(store: Store) -> None:
    id = await one(store)
    await fail(store, id)
    await retry(store, id, note="the gate is up again")
    await store.restart()

    (life,) = await past(store, id)

    assert (life.number, life.state, life.starts) == (1, State.FAILED, 1)
    assert life.failure is not None
    assert (life.failure.type, life.failure.message, life.failure.traceback) == (WHY.type, WHY.message, "")
    assert (life.note, life.edited, life.body) == ("the gate is up again", False, None)
    assert life.retried >= (await record(store, id)).created


async def test_old_arguments_stay_readable_after_a_retry_with_others(store: Store) -> None:
    id = await one(store, body=b'["first"]')
    for number, body in enumerate((b'["second"]', b"\x00\xff"), 1):
        await fail(store, id)
        await retry(store, id, body=body, codec="json" if number == 1 else "msgpack", attempts=3)
    await store.restart()

    lives = await past(store, id)

    assert [(life.number, life.edited, life.body, life.codec) for life in lives] == [
        (1, True, b'["first"]', "json"),
        (2, True, b'["second"]', "json"),
    ]
    assert (await record(store, id, Parts.BODY)).body == b"\x00\xff"


async def test_binary_arguments_stay_readable_too(store: Store) -> None:
    id = await one(store, body=b"\x00\xfe", codec="msgpack")
    await fail(store, id)
    await retry(store, id, body=b"[]")

    (life,) = await past(store, id)
    assert (life.body, life.codec) == (b"\x00\xfe", "msgpack")


async def test_arguments_that_are_too_large_to_keep_are_not_passed_off_as_kept(store: Store) -> None:
    id = await one(store, body=b'"' + b"x" * MAX_KEPT + b'"')
    await fail(store, id)
    await retry(store, id, body=b"[]")

    (life,) = await past(store, id)
    assert (life.edited, life.body) == (True, None)


async def test_the_oldest_lives_go_first_and_are_still_counted(store: Store) -> None:
    id = await one(store)
    for _ in range(MAX_LIVES + 2):
        await fail(store, id)
        await retry(store, id)

    assert [life.number for life in await past(store, id)] == list(range(3, MAX_LIVES + 3))


async def test_jobs_that_were_cancelled_or_expired_remember_that(store: Store) -> None:
    id = await one(store, expires=store.clock.wall() + 5)
    await store.advance(6)
    await swept(store)
    await retry(store, id)
    await store.alter([id], Change(kind="cancel", note="not now"))
    await retry(store, id)

    lives = await past(store, id)
    assert [(life.state, life.starts) for life in lives] == [(State.EXPIRED, 0), (State.CANCELLED, 0)]
    assert lives[1].failure is not None
    assert lives[1].failure.message == "not now"


async def test_what_people_do_to_the_job_afterwards_leaves_its_past(store: Store) -> None:
    id = await one(store, body=b'["first"]')
    await fail(store, id)
    await retry(store, id, body=b'["second"]')
    for change in (
        Change(kind="move", queue="other"),
        Change(kind="edit", priority=3),
        Change(kind="move", queue="mail"),
    ):
        await store.alter([id], change)
    await fail(store, id)
    await store.alter([id], Change(kind="discard", note="seen"))

    assert [life.body for life in await past(store, id)] == [b'["first"]']


async def test_a_repeated_retry_is_remembered_once(store: Store) -> None:
    id = await one(store)
    await fail(store, id)
    change = {"body": b'["x"]', "note": "again"}

    assert await retry(store, id, **change) == await retry(store, id, **change)
    assert len(await past(store, id)) == 1


async def test_of_several_persons_at_once_one_retries(store: Store) -> None:
    """Each sees the job as it is after one retry, one edit at most, and a discard that changes nothing then."""
    id = await one(store, body=b'["first"]')
    await fail(store, id)
    bodies = [b'["%d"]' % n for n in range(6)]
    changes = [Change(kind="retry", body=body) for body in bodies] + [Change(kind="discard")] * 2

    answers = await asyncio.gather(*(store.alter([id], change) for change in changes))

    won = [answer.status for (answer,) in answers[:6]]
    assert won.count("done") == 1, "a queued job cannot be retried"
    (life,) = await past(store, id)
    now = await record(store, id, Parts.BODY)
    assert (life.body, now.body) == (b'["first"]', bodies[won.index("done")])
    assert (await state(store, id), now.dead) == (State.QUEUED, False)


async def test_an_erased_job_has_nothing_left(store: Store) -> None:
    id = await one(store)
    await fail(store, id)
    await retry(store, id, body=b"[]")
    await fail(store, id)
    await store.alter([id], Change(kind="erase"))

    assert await store.get([id], Parts.ALL) == [None]
