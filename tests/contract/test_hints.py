"""Hints: they may be lost, but where nothing is lost nobody has to poll."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from noria.backends.contract import Change, Hint, Outline, Parts, Want
from noria.ids import Id, SessionId
from noria.model.limits import MAX_HINT
from noria.model.state import FINAL, State
from tests.contract.store import Process, Store
from tests.contract.words import QUEUE, enqueue, new, one, record, swept
from tests.contract.workers import crash, end, fence, running, settle, take, take_all, worker

NEVER = 3_600.0
"""A poll that no test sees: what happens within it was hinted."""
SOON = 10.0
"""Real seconds after which a hint counts as lost."""

no_poll = pytest.mark.store(poll=NEVER, restarts=False)


async def heard(hints: AsyncIterator[Hint]) -> Hint:
    """The next hint that is more than a call to look again."""
    async with asyncio.timeout(SOON):
        async for hint in hints:
            if not hint.reset:
                return hint
    raise AssertionError("the hints have ended")


async def outcomes(hints: AsyncIterator[Hint], n: int = 1) -> list[Outline]:
    """The next outcomes, of as many hints as it takes."""
    told: list[Outline] = []
    while len(told) < n:
        hint = await heard(hints)
        assert len(hint.payload) <= MAX_HINT
        told += msgspec.json.decode(hint.payload, type=list[Outline])
    return told


def waiting(
    process: Process, session: SessionId, wait: float = NEVER, queue: str = QUEUE
) -> asyncio.Task[Any]:
    """A lease that waits for work."""
    return asyncio.ensure_future(process.lease(session, [Want(queue, 1)], 1, wait))


async def settled(task: asyncio.Task[Any]) -> Any:
    async with asyncio.timeout(SOON):
        return await task


async def asleep(task: asyncio.Task[Any]) -> None:
    """Give a waiting lease the time to look once and to find nothing."""
    await asyncio.sleep(0.05)
    assert not task.done()


# -- waiting for work


@no_poll
@pytest.mark.parametrize("where", ["the same process", "another process"])
async def test_a_push_wakes_a_lease_without_a_poll(store: Store, where: str) -> None:
    session = await worker(store)
    other = store if where == "the same process" else await store.join()
    lease = waiting(store, session)
    await asleep(lease)
    job = new(store)

    await other.push([job])

    assert [each.id for each in (await settled(lease)).leases] == [job.id]


@no_poll
async def test_every_way_back_to_the_queue_wakes_a_lease(store: Store) -> None:
    other = await store.join()

    async def released() -> None:
        await settle(store, session, lease, State.QUEUED)

    async def retried() -> None:
        await settle(store, session, lease, State.RETRYING)

    async def ended() -> None:
        await store.end(session, started=[fence(lease)])

    async def recalled() -> None:
        await store.recall(session, [])

    async def queued_again() -> None:
        await settle(store, session, lease, State.FAILED)
        await store.alter([lease.id], Change(kind="retry"))

    for way in (released, retried, ended, recalled, queued_again):
        session, lease = await running(store, queue=way.__name__)
        sleeper = waiting(other, await worker(store), queue=way.__name__)
        await asleep(sleeper)
        await way()
        assert [each.id for each in (await settled(sleeper)).leases] == [lease.id], way.__name__


@no_poll
async def test_a_push_wakes_only_who_waits_for_its_queue(store: Store) -> None:
    sleeper = waiting(store, await worker(store), queue="quiet")
    await asleep(sleeper)
    await one(store, queue="busy")

    await asleep(sleeper)
    sleeper.cancel()


@pytest.mark.store(poll=0.02, restarts=False)
async def test_a_lease_with_nothing_to_lease_ends_after_its_wait(store: Store) -> None:
    lease = waiting(store, await worker(store), wait=5.0)
    await asleep(lease)
    await store.advance(5.1)

    assert (await settled(lease)).leases == []


@no_poll
async def test_a_lease_returns_at_once_with_any_job(store: Store) -> None:
    id = await one(store)

    batch = await settled(waiting(store, await worker(store)))

    assert [each.id for each in batch.leases] == [id]


@pytest.mark.store(poll=0.02, restarts=False)
async def test_a_waiting_lease_gets_what_becomes_due(store: Store) -> None:
    id = await one(store, delay=5)
    lease = waiting(store, await worker(store))
    await asleep(lease)
    await store.advance(5.1)

    assert [each.id for each in (await settled(lease)).leases] == [id]


@pytest.mark.store(poll=0.02, restarts=False)
async def test_a_lost_hint_costs_one_poll(store: Store) -> None:
    """B26: the process that pushed is killed before anybody hears of it."""
    other = await store.join()
    session = await worker(store)
    job = new(store)
    await other.push([job])
    await store.restart()

    batch = await settled(waiting(store, session))

    assert [each.id for each in batch.leases] == [job.id]


@no_poll
async def test_leases_that_are_cancelled_lose_nothing(store: Store) -> None:
    """A4, L3: what a cancelled lease took comes back when its session recalls it or ends."""
    ids = await enqueue(store, 100)
    session = await worker(store)
    calls = []
    for turn in range(100):
        calls.append(waiting(store, session, 0.0))
        for _ in range(turn % 7):
            await asyncio.sleep(0)
        calls[-1].cancel()
    told = await asyncio.gather(*calls, return_exceptions=True)
    known = [lease for each in told if not isinstance(each, BaseException) for lease in each.leases]

    await store.recall(session, [fence(lease) for lease in known])

    rest = await take_all(store, await worker(store))
    assert sorted(lease.id for lease in known + rest) == ids


# -- listening


@pytest.mark.store(restarts=False)
@pytest.mark.parametrize("where", ["the same process", "another process"])
async def test_a_hint_reaches_who_listens(store: Store, where: str) -> None:
    other = store if where == "the same process" else await store.join()
    async with store.listen(["custom:a"]) as hints:
        await other.notify("custom:a", b"\x00any bytes\xff")

        assert await heard(hints) == Hint("custom:a", b"\x00any bytes\xff")


@pytest.mark.store(restarts=False)
async def test_only_the_channels_asked_for_are_heard(store: Store) -> None:
    async with store.listen(["custom:a", "custom:c"]) as hints:
        for channel in ("custom:b", "custom:c", "custom:a"):
            await store.notify(channel)

        assert [(await heard(hints)).channel for _ in range(2)] == ["custom:c", "custom:a"]


@pytest.mark.store(restarts=False)
async def test_a_hint_of_four_kibibytes_arrives_whole(store: Store) -> None:
    other = await store.join()
    async with store.listen(["custom:a"]) as hints:
        await other.notify("custom:a", b"x" * MAX_HINT)

        assert (await heard(hints)).payload == b"x" * MAX_HINT


async def test_a_hint_that_nobody_hears_harms_nobody(store: Store) -> None:
    await store.notify("custom:a", b"x")
    await store.notify("reply:nobody", b"x")


@pytest.mark.store(restarts=False)
async def test_many_may_listen_to_one_channel(store: Store) -> None:
    async with store.listen(["custom:a"]) as first, store.listen(["custom:a"]) as second:
        await store.notify("custom:a", b"x")

        assert [await heard(hints) for hints in (first, second)] == [Hint("custom:a", b"x")] * 2


@pytest.mark.store(restarts=False)
async def test_an_order_to_cancel_is_hinted_to_the_session(store: Store) -> None:
    session, lease = await running(store)
    other = await store.join()
    async with store.listen([f"session:{session}"]) as hints:
        await other.alter([lease.id], Change(kind="cancel"))

        assert (await heard(hints)).channel == f"session:{session}"


# -- outcomes


@pytest.mark.store(restarts=False)
@pytest.mark.parametrize("asked", ["with the push", "by a watch"])
async def test_every_outcome_of_a_start_is_told_to_who_waits(store: Store, asked: str) -> None:
    channel = await store.reply_channel()
    other = await store.join()
    async with store.listen([channel]) as hints:
        for final in sorted(FINAL):
            session, lease = await running(store, reply=channel if asked == "with the push" else None)
            if asked == "by a watch":
                await store.get([lease.id], watch=channel)
            await other.settle(session, [end(lease, final)])

            (told,) = await outcomes(hints)

            value = '"value"' if final is State.SUCCEEDED else None
            assert told == Outline(lease.id.hex(), int(final), "json", value)


@pytest.mark.store(restarts=False, park_for=60.0)
@pytest.mark.parametrize("way", ["cancelled", "expired", "crashed", "given up", "late"])
async def test_every_other_end_is_told_to_who_waits(store: Store, way: str) -> None:
    channel = await store.reply_channel()
    now = store.clock.wall()
    async with store.listen([channel]) as hints:
        if way == "cancelled":
            id = await one(store, reply=channel)
            await store.alter([id], Change(kind="cancel"))
        elif way in ("expired", "late"):
            id = await one(store, reply=channel, **{"expires" if way == "expired" else "deadline": now + 5})
            await store.advance(6)
        elif way == "crashed":
            id = await one(store, reply=channel, crash_budget=1)
            await crash(store, id, 1)
        else:
            session, lease = await running(store, reply=channel)
            id = lease.id
            await settle(store, session, lease, State.PARKED)
            await store.advance(61)
        await swept(store)

        (told,) = await outcomes(hints)

    assert (told.id, told.state, told.result) == (id.hex(), int((await record(store, id)).state), None)


@pytest.mark.store(restarts=False)
async def test_a_job_that_goes_on_is_not_announced(store: Store) -> None:
    channel = await store.reply_channel()
    session, lease = await running(store, reply=channel)
    async with store.listen([channel]) as hints:
        for state in (State.RETRYING, State.QUEUED, State.SCHEDULED):
            await settle(store, session, lease, state)
            (lease,) = await take(store, session)
        await settle(store, session, lease)

        assert [told.state for told in await outcomes(hints)] == [State.SUCCEEDED]


@pytest.mark.store(restarts=False)
@pytest.mark.parametrize("before", ["with the push", "by a watch"])
async def test_of_several_who_wait_for_a_job_the_last_is_told(store: Store, before: str) -> None:
    other = await store.join()
    first, last = await store.reply_channel(), await other.reply_channel()
    session, lease = await running(store, reply=first if before == "with the push" else None)
    async with store.listen([first]) as early, other.listen([last]) as late:
        if before == "by a watch":
            await store.get([lease.id], watch=first)
        await other.get([lease.id], watch=last)
        await settle(store, session, lease)
        await store.notify(first, b"nothing before this")

        assert [told.id for told in await outcomes(late)] == [lease.id.hex()]
        assert await heard(early) == Hint(first, b"nothing before this")


async def test_a_watch_of_an_ended_job_reads_its_outcome(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease)

    (found,) = await store.get([lease.id], Parts.RESULT, watch=await store.reply_channel())

    assert found is not None
    assert (found.state, found.result) == (State.SUCCEEDED, b'"value"')


async def test_a_watch_of_a_job_that_does_not_exist_is_none(store: Store) -> None:
    assert await store.get([store.ids.next()], watch="reply:me") == [None]


@pytest.mark.store(restarts=False)
@pytest.mark.parametrize(
    ("result", "codec"),
    [
        (b'"' + b"x" * 5_000 + b'"', "json"),
        (b'"' + b"\\u00e9" * 1_000 + b'"', "json"),
        (b"\x00\xff", "msgpack"),
        (b"\xff\xfe", "json"),
    ],
    ids=["long", "long escapes", "another codec", "no text"],
)
async def test_a_value_that_fits_into_no_hint_is_read_from_the_record(
    store: Store, result: bytes, codec: str
) -> None:
    channel = await store.reply_channel()
    session, lease = await running(store, reply=channel)
    async with store.listen([channel]) as hints:
        await settle(store, session, lease, result=result, codec=codec)

        (told,) = await outcomes(hints)

    found = await record(store, lease.id, Parts.RESULT)
    assert told.result is None
    assert (found.result, found.result_codec) == (result, codec)


@pytest.mark.store(restarts=False)
@pytest.mark.parametrize("text", ['"é😀"', '"a\\"b\\\\c"', '"\\u0000\\ud800"', "null", '{"a": [1, 2.5]}'])
async def test_a_value_in_a_hint_is_the_value(store: Store, text: str) -> None:
    channel = await store.reply_channel()
    session, lease = await running(store, reply=channel)
    async with store.listen([channel]) as hints:
        await settle(store, session, lease, result=text.encode())

        (told,) = await outcomes(hints)

    assert told.result == text


@pytest.mark.storm
@pytest.mark.store(restarts=False)
async def test_an_outcome_can_always_be_read_once_it_was_told(store: Store, storm: bool) -> None:
    """F5; a hundred thousand times in a storm."""
    channel = await store.reply_channel()
    session, other = await worker(store), await store.join()
    async with store.listen([channel]) as hints:
        for _ in range(250 if storm else 1):
            await enqueue(store, 400, reply=channel)
            leases = await take_all(store, session)
            settling = asyncio.gather(*(other.settle(session, [end(lease)]) for lease in leases))
            seen = 0
            while seen < 400:
                told = await outcomes(hints)
                found = await store.get([Id(bytes.fromhex(each.id)) for each in told], Parts.RESULT)
                assert {(each.state, each.result) for each in found if each} == {
                    (State.SUCCEEDED, b'"value"')
                }
                assert None not in found
                seen += len(told)
            await settling


@pytest.mark.store(restarts=False)
async def test_outcomes_of_one_batch_share_hints(store: Store) -> None:
    channel = await store.reply_channel()
    await enqueue(store, 500, reply=channel)
    session = await worker(store)
    leases = await take_all(store, session)
    async with store.listen([channel]) as hints:
        await store.settle(session, [end(lease) for lease in leases])
        first = await outcomes(hints)
        rest = await outcomes(hints, 500 - len(first))

    assert len(first) > 10
    assert sorted(each.id for each in first + rest) == [lease.id.hex() for lease in leases]


@pytest.mark.store(restarts=False)
async def test_an_erased_job_is_still_told_with_its_value(store: Store) -> None:
    channel = await store.reply_channel()
    session, lease = await running(store, reply=channel, keep=0.0)
    async with store.listen([channel]) as hints:
        await settle(store, session, lease)

        (told,) = await outcomes(hints)

    assert (told.state, told.result) == (State.SUCCEEDED, '"value"')


@pytest.mark.store(restarts=False)
@pytest.mark.parametrize("result", [b'"' + b"x" * 100_000 + b'"', b"\xff"], ids=["large", "no text"])
async def test_a_value_that_no_hint_carries_can_be_read_although_nothing_is_kept(
    store: Store, result: bytes
) -> None:
    session, lease = await running(store, reply=await store.reply_channel(), keep=0.0)

    await settle(store, session, lease, result=result)

    assert (await record(store, lease.id, Parts.RESULT)).result == result


async def test_a_reply_to_a_process_that_is_gone_harms_nobody(store: Store) -> None:
    session, lease = await running(store, reply="reply:gone")
    await store.restart()

    assert (await settle(store, session, lease)).value == "ok"


async def test_each_process_has_a_reply_channel_of_its_own(store: Store) -> None:
    other = await store.join()

    channels = {await store.reply_channel(), await other.reply_channel()}

    assert len(channels) == 2
    assert all(channel.startswith("reply:") for channel in channels)
