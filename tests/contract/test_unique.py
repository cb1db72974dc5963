"""Unique keys with claims: for how long they are held, and what becomes of a job that finds its key taken."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import cycle
from typing import Any

import msgspec
import pytest

from noria.backends.contract import Altered, Change, Parts
from noria.ids import to_text
from noria.model.claim import Claim
from noria.model.job import NewJob, Receipt
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import new, one, record, state, swept
from tests.contract.workers import crash, running, settle, take, take_all, worker

QUEUED = Claim(until_start=True)
REPLACE = Claim(until_start=True, on_conflict="replace")
LAST = Claim(until_start=True, on_conflict="keep_last")
MERGE = Claim(until_start=True, on_conflict="merge", argument="rows")
RETRY = Change(kind="retry")


def keyed(store: Store, claim: Claim | None = None, **fields: Any) -> NewJob:
    return new(store, unique="k", claim=claim, **fields)


def listing(store: Store, *rows: object, claim: Claim = MERGE, **fields: Any) -> NewJob:
    body = msgspec.json.encode({"to": "a", "rows": rows})
    return keyed(store, claim, **{"body": body, **fields})


async def rows_of(store: Store, job: NewJob) -> Any:
    return msgspec.json.decode((await record(store, job.id, Parts.BODY)).body or b"")["rows"]


async def push(store: Store, job: NewJob) -> Receipt:
    [receipt] = await store.push([job])
    return receipt


# ---- until it was started


async def test_a_key_that_is_held_until_the_start_is_free_after_the_lease(store: Store) -> None:
    first, second, third = (keyed(store, QUEUED) for _ in range(3))
    assert await push(store, first) == Receipt("created", first.id)
    assert await push(store, second) == Receipt("existing", first.id, "unique")
    session = await worker(store)
    await take(store, session, 1)

    assert await push(store, third) == Receipt("created", third.id)


@pytest.mark.parametrize(
    "stop", [State.QUEUED, State.SCHEDULED, State.RETRYING, State.PARKED], ids=lambda state: state.word
)
async def test_a_later_start_does_not_take_the_key_back(store: Store, stop: State) -> None:
    session, lease = await running(store, unique="k", claim=QUEUED)
    other = keyed(store, QUEUED)
    await push(store, other)
    await settle(store, session, lease, stop)

    assert await push(store, keyed(store)) == Receipt("existing", other.id, "unique")
    assert await state(store, lease.id) is stop


@pytest.mark.parametrize("way", ["cancelled", "expired"])
async def test_a_key_that_is_held_until_the_start_is_free_if_there_will_be_none(
    store: Store, way: str
) -> None:
    id = await one(store, unique="k", claim=QUEUED, expires=store.clock.wall() + 30)
    if way == "cancelled":
        await store.alter([id], Change(kind="cancel"))
    await store.advance(31)
    await swept(store)

    assert (await push(store, keyed(store))).status == "created"


async def test_a_retry_of_a_job_that_was_started_takes_no_key(store: Store) -> None:
    session, lease = await running(store, unique="k", claim=QUEUED)
    await settle(store, session, lease, State.FAILED)
    other = await one(store, unique="k")

    assert await store.alter([lease.id], RETRY) == [Altered("done", State.QUEUED)]
    assert await push(store, keyed(store)) == Receipt("existing", other, "unique")


async def test_a_retry_of_a_job_that_never_started_takes_its_key_again(store: Store) -> None:
    id = await one(store, unique="k", claim=QUEUED)
    await store.alter([id], Change(kind="cancel"))
    await store.alter([id], RETRY)

    assert await push(store, keyed(store)) == Receipt("existing", id, "unique")


# ---- within a window


@pytest.mark.parametrize("way", ["waits", "succeeded", "failed", "cancelled", "expired", "crashed"])
async def test_a_window_lasts_whatever_becomes_of_the_job(store: Store, way: str) -> None:
    window = {"unique": "k", "claim": Claim(within=60.0), "crash_budget": 1}
    if way in ("waits", "cancelled", "expired", "crashed"):
        id = await one(store, expires=store.clock.wall() + 5 if way == "expired" else None, **window)
    else:
        session, lease = await running(store, **window)
        id = lease.id
        await settle(store, session, lease, State.SUCCEEDED if way == "succeeded" else State.FAILED)
    if way == "cancelled":
        await store.alter([id], Change(kind="cancel"))
    if way == "crashed":
        await crash(store, id, 1)
    await store.advance(40)
    await swept(store)

    assert await push(store, keyed(store)) == Receipt("existing", id, "unique")
    await store.advance(21)
    free = keyed(store)
    assert await push(store, free) == Receipt("created", free.id)
    assert await push(store, keyed(store)) == Receipt("existing", free.id, "unique")


async def test_a_window_ends_with_the_record(store: Store) -> None:
    session, lease = await running(store, unique="k", claim=Claim(within=1e6))
    await settle(store, session, lease)
    await store.alter([lease.id], Change(kind="erase"))

    assert (await push(store, keyed(store))).status == "created"


async def test_a_window_ends_with_a_record_that_is_not_kept(store: Store) -> None:
    session, lease = await running(store, unique="k", claim=Claim(within=1e6), keep=0.0)
    await settle(store, session, lease)

    assert (await push(store, keyed(store))).status == "created"


async def test_a_window_ends_with_a_record_that_is_pruned(store: Store) -> None:
    session, lease = await running(store, unique="k", claim=Claim(within=1e6), keep=10.0)
    await settle(store, session, lease)
    await store.advance(11)
    await swept(store)

    assert await store.get([lease.id]) == [None]
    assert (await push(store, keyed(store))).status == "created"


async def test_a_window_that_is_over_comes_back_with_no_retry(store: Store) -> None:
    session, lease = await running(store, unique="k", claim=Claim(within=60.0))
    await settle(store, session, lease, State.FAILED)
    await store.advance(61)
    other = await one(store, unique="k")

    assert await store.alter([lease.id], RETRY) == [Altered("done", State.QUEUED)]
    assert await push(store, keyed(store)) == Receipt("existing", other, "unique")


async def test_a_retry_yields_to_a_window(store: Store) -> None:
    session, lease = await running(store, unique="k")
    await settle(store, session, lease, State.FAILED)
    holder, held = await running(store, unique="k", claim=Claim(within=60.0))
    await settle(store, holder, held)

    assert await store.alter([lease.id], RETRY) == [Altered("conflict", State.FAILED)]
    await store.advance(61)
    assert await store.alter([lease.id], RETRY) == [Altered("done", State.QUEUED)]


async def test_a_retry_within_its_own_window_is_no_conflict(store: Store) -> None:
    session, lease = await running(store, unique="k", claim=Claim(within=60.0))
    await settle(store, session, lease, State.FAILED)

    assert await store.alter([lease.id], RETRY) == [Altered("done", State.QUEUED)]
    assert await push(store, keyed(store)) == Receipt("existing", lease.id, "unique")


# ---- replace


@pytest.mark.parametrize(
    "stop", [State.QUEUED, State.SCHEDULED, State.RETRYING, State.PARKED], ids=lambda state: state.word
)
async def test_a_job_that_waits_is_replaced(store: Store, stop: State) -> None:
    """Whatever it waits for; if its key is held while it lives, also between its attempts."""
    if stop in (State.QUEUED, State.SCHEDULED):
        old = await one(store, unique="k", delay=60.0 if stop is State.SCHEDULED else 0.0)
    else:
        session, lease = await running(store, unique="k")
        old = lease.id
        await settle(store, session, lease, stop, delay=60)
    young = keyed(store, REPLACE)

    assert await push(store, young) == Receipt("replaced", young.id, old.hex())
    found = await record(store, old)
    assert found.state is State.CANCELLED
    assert found.failure is not None
    assert to_text(young.id) in found.failure.message
    assert await state(store, young.id) is State.QUEUED


async def test_a_job_that_runs_is_not_replaced(store: Store) -> None:
    _, lease = await running(store, unique="k")

    assert await push(store, keyed(store, REPLACE)) == Receipt("existing", lease.id, "unique")
    assert await state(store, lease.id) is State.RUNNING


async def test_a_job_that_has_ended_within_its_window_is_not_replaced(store: Store) -> None:
    session, lease = await running(store, unique="k", claim=Claim(within=60.0))
    await settle(store, session, lease)

    assert await push(store, keyed(store, REPLACE)) == Receipt("existing", lease.id, "unique")


async def test_a_replaced_job_keeps_no_window(store: Store) -> None:
    window = Claim(within=60.0, on_conflict="replace")
    jobs = [keyed(store, window) for _ in range(3)]

    told = [(await push(store, job)).status for job in jobs]

    assert told == ["created", "replaced", "replaced"]
    assert await push(store, keyed(store)) == Receipt("existing", jobs[2].id, "unique")
    await store.advance(61)
    assert (await push(store, keyed(store))).status == "created"


async def test_a_replaced_job_is_counted_as_cancelled(store: Store) -> None:
    for _ in range(3):
        await push(store, keyed(store, REPLACE))

    states = (await store.counts()).queues["mail"].states
    assert +Counter(states) == {State.QUEUED: 1, State.CANCELLED: 2}


async def test_jobs_of_one_call_replace_each_other(store: Store) -> None:
    jobs = [keyed(store, REPLACE) for _ in range(3)]

    told = await store.push(jobs)

    assert told == [
        Receipt("created", jobs[0].id),
        Receipt("replaced", jobs[1].id, jobs[0].id.hex()),
        Receipt("replaced", jobs[2].id, jobs[1].id.hex()),
    ]
    found = [await record(store, job.id) for job in jobs]
    assert [each.state for each in found] == [State.CANCELLED, State.CANCELLED, State.QUEUED]
    assert [each.unique for each in found] == ["k", "k", "k"]
    assert [lease.id for lease in await take_all(store, await worker(store))] == [jobs[2].id]


# ---- keep the last


async def test_a_job_that_waits_gets_the_last_arguments_and_their_time(store: Store) -> None:
    first = keyed(store, LAST, delay=10.0, body=b'["old"]', priority=3)
    last = keyed(store, LAST, delay=10.0, body=b'["new"]', codec="msgpack", expires=store.clock.wall() + 90)
    await push(store, first)
    await store.advance(5)

    assert await push(store, last) == Receipt("updated", first.id, "unique")
    found = await record(store, first.id, Parts.BODY)
    assert (found.body, found.codec, found.priority, found.expires) == (
        b'["new"]',
        "msgpack",
        3,
        last.expires,
    )
    assert found.due == pytest.approx(store.clock.wall() + 10)
    assert await store.get([last.id]) == [None]


async def test_a_burst_runs_once_after_its_last(store: Store) -> None:
    session = await worker(store)
    for n in range(5):
        await push(store, keyed(store, LAST, delay=10.0, body=b"[%d]" % n))
        await store.advance(6)
        assert await take(store, session) == []
    await store.advance(5)

    assert [lease.body for lease in await take(store, session)] == [b"[4]"]


async def test_a_job_is_not_put_off_for_ever(store: Store) -> None:
    claim = Claim(until_start=True, on_conflict="keep_last", at_most=15.0)
    first = keyed(store, claim, delay=10.0)
    await push(store, first)
    began = store.clock.wall()
    for _ in range(2):
        await store.advance(6)
        await push(store, keyed(store, claim, delay=10.0, body=b'["b"]'))

    assert (await record(store, first.id)).due == pytest.approx(began + 15)
    await store.advance(3.5)
    assert [lease.body for lease in await take(store, await worker(store))] == [b'["b"]']


async def test_a_job_that_is_ready_waits_again_for_a_later_time(store: Store) -> None:
    first = keyed(store, LAST)
    await push(store, first)
    await push(store, keyed(store, LAST, delay=30.0))

    assert await state(store, first.id) is State.SCHEDULED
    states = (await store.counts()).queues["mail"].states
    assert +Counter(states) == {State.SCHEDULED: 1}


async def test_a_job_that_is_ready_keeps_its_place(store: Store) -> None:
    first, other = keyed(store, LAST), new(store)
    await store.push([first, other])
    await store.advance(5)
    await push(store, keyed(store, LAST, body=b'["new"]'))

    leases = await take(store, await worker(store))
    assert [(lease.id, lease.body) for lease in leases] == [(first.id, b'["new"]'), (other.id, b'["a"]')]


async def test_a_job_that_is_due_at_once_runs_at_once(store: Store) -> None:
    first = keyed(store, LAST, delay=60.0)
    await push(store, first)
    await push(store, keyed(store, LAST))

    assert [lease.id for lease in await take(store, await worker(store))] == [first.id]


@pytest.mark.parametrize("stop", [State.RUNNING, State.RETRYING, State.PARKED], ids=lambda state: state.word)
async def test_arguments_that_were_seen_are_not_changed(store: Store, stop: State) -> None:
    session, lease = await running(store, unique="k")
    if stop is not State.RUNNING:
        await settle(store, session, lease, stop, delay=60)

    assert await push(store, keyed(store, LAST, body=b'["b"]')) == Receipt("existing", lease.id, "unique")
    assert (await record(store, lease.id, Parts.BODY)).body == lease.body


async def test_jobs_of_one_call_keep_the_last(store: Store) -> None:
    jobs = [keyed(store, LAST, body=b"[%d]" % n, delay=10.0 * n) for n in range(3)]

    told = await store.push(jobs)

    assert told == [Receipt("created", jobs[0].id), *[Receipt("updated", jobs[0].id, "unique")] * 2]
    found = await record(store, jobs[0].id, Parts.BODY)
    assert (found.body, found.state) == (b"[2]", State.SCHEDULED)
    assert found.due == pytest.approx(store.clock.wall() + 20)


async def test_large_arguments_are_changed_too(store: Store) -> None:
    large, larger = b'"' + b"x" * 500_000 + b'"', b'"' + b"y" * 600_000 + b'"'
    first = keyed(store, LAST, body=large)
    await push(store, first)

    for body in (larger, b'"small"', large):
        assert (await push(store, keyed(store, LAST, body=body))).status == "updated"
        assert (await record(store, first.id, Parts.BODY)).body is not None or len(body) > 65_536
    [lease] = await take(store, await worker(store))
    assert lease.body == large


# ---- merge


async def test_items_are_appended_to_a_job_that_waits(store: Store) -> None:
    first = listing(store, 1, 2.50, delay=10.0)
    await push(store, first)
    due = (await record(store, first.id)).due
    await store.advance(1)

    assert await push(store, listing(store, {"a": []}, 2**70)) == Receipt("merged", first.id, "unique")
    assert await rows_of(store, first) == [1, 2.5, {"a": []}, 2**70]
    assert (await record(store, first.id)).due == due


async def test_a_full_list_gives_its_key_to_the_next_job(store: Store) -> None:
    claim = Claim(until_start=True, on_conflict="merge", argument="rows", max_items=3)
    jobs = [listing(store, n, n, claim=claim) for n in range(3)]

    told = [await push(store, job) for job in jobs]

    assert told == [Receipt("created", job.id) for job in jobs]
    small = listing(store, 9, claim=claim)
    assert await push(store, small) == Receipt("merged", jobs[2].id, "unique")
    assert [await rows_of(store, job) for job in jobs] == [[0, 0], [1, 1], [2, 2, 9]]


async def test_a_list_has_no_more_bytes_than_a_body(store: Store) -> None:
    most = (await store.capabilities()).max_body
    jobs = [listing(store, "x" * (most // 2)) for _ in range(2)]

    assert [(await push(store, job)).status for job in jobs] == ["created", "created"]


async def test_jobs_of_one_call_are_merged(store: Store) -> None:
    claim = Claim(until_start=True, on_conflict="merge", argument="rows", max_items=2)
    jobs = [listing(store, n, claim=claim) for n in range(5)]

    told = await store.push(jobs)

    assert [receipt.status for receipt in told] == ["created", "merged", "created", "merged", "created"]
    assert [receipt.id for receipt in told] == [jobs[n].id for n in (0, 0, 2, 2, 4)]
    leases = await take_all(store, await worker(store))
    assert [msgspec.json.decode(lease.body)["rows"] for lease in leases] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("wrong", [b'["a"]', b'{"to": "a"}', b'{"rows": 1}', b'{"rows": {}}'])
async def test_what_is_no_list_cannot_be_merged(store: Store, wrong: bytes) -> None:
    await push(store, listing(store, 1))

    receipt = await push(store, keyed(store, MERGE, body=wrong))

    assert receipt.status == "rejected"
    assert "rows" in receipt.why


async def test_a_running_job_gets_no_items(store: Store) -> None:
    _, lease = await running(store, unique="k", body=b'{"rows":[1]}')

    assert await push(store, listing(store, 2)) == Receipt("existing", lease.id, "unique")


# ---- for all of them


@pytest.mark.parametrize("claim", [REPLACE, LAST, MERGE], ids=lambda claim: claim.on_conflict)
async def test_a_repeated_push_changes_nothing_and_is_told_the_same(store: Store, claim: Claim) -> None:
    first, second = listing(store, 1, claim=claim), listing(store, 2, claim=claim)
    told = await store.push([first, second])
    before = await store.get([first.id, second.id], Parts.BODY)
    await store.restart()

    again = await store.push([first, second])

    assert [receipt.id for receipt in again] == [receipt.id for receipt in told]
    assert again[1].status == ("existing" if claim is REPLACE else told[1].status)
    assert await store.get([first.id, second.id], Parts.BODY) == before


@pytest.mark.parametrize("claim", [REPLACE, LAST, MERGE], ids=lambda claim: claim.on_conflict)
async def test_a_repeat_is_recognised_when_the_key_is_free_again(store: Store, claim: Claim) -> None:
    second = listing(store, 2, claim=claim)
    told = await store.push([listing(store, 1, claim=claim), second])
    session = await worker(store)
    [lease] = await take_all(store, session)
    await settle(store, session, lease)

    [again] = await store.push([second])

    assert again.id == told[1].id
    assert await take_all(store, session) == []


@pytest.mark.parametrize("claim", [REPLACE, LAST, MERGE], ids=lambda claim: claim.on_conflict)
async def test_one_id_twice_in_a_call_is_added_once(store: Store, claim: Claim) -> None:
    first, second = listing(store, 1, claim=claim), listing(store, 2, claim=claim)

    told = await store.push([first, second, second])

    assert told[1].id == told[2].id
    [lease] = await take_all(store, await worker(store))
    assert msgspec.json.decode(lease.body)["rows"] == ([1, 2] if claim is MERGE else [2])


@pytest.mark.parametrize("claim", [REPLACE, LAST, MERGE], ids=lambda claim: claim.on_conflict)
async def test_a_job_of_another_queue_can_be_left_alone(store: Store, claim: Claim) -> None:
    held = listing(store, 1, queue="other")
    await push(store, held)

    careful = msgspec.structs.replace(claim, same_queue=True)

    assert await push(store, listing(store, 2, claim=careful)) == Receipt("existing", held.id, "unique")
    assert (await push(store, listing(store, 2, claim=claim))).status != "existing"


@pytest.mark.parametrize("claim", [REPLACE, LAST, MERGE], ids=lambda claim: claim.on_conflict)
async def test_another_task_with_the_key_is_left_alone(store: Store, claim: Claim) -> None:
    await push(store, listing(store, 1))

    assert (await push(store, listing(store, 2, claim=claim, task="other"))).status == "created"


@pytest.mark.parametrize("claim", [QUEUED, Claim(within=60.0)], ids=["queued", "within"])
async def test_fifty_producers_of_a_hundred_claimed_keys_create_each_key_once(
    store: Store, claim: Claim
) -> None:
    others = [store, *[await store.join() for _ in range(2)]]
    jobs = [[new(store, unique=f"key {key}", claim=claim) for key in range(100)] for _ in range(50)]

    told = await asyncio.gather(
        *(process.push(each) for process, each in zip(cycle(others), jobs, strict=False))
    )

    assert Counter(r.status for receipts in told for r in receipts) == {"created": 100, "existing": 4_900}
    for key in range(100):
        assert len({receipts[key].id for receipts in told}) == 1


async def test_what_many_producers_append_is_there_once(store: Store) -> None:
    others = [store, *[await store.join() for _ in range(2)]]
    jobs = [[listing(store, 100 * n + m) for m in range(10)] for n in range(30)]

    await asyncio.gather(*(process.push(each) for process, each in zip(cycle(others), jobs, strict=False)))

    [lease] = await take_all(store, await worker(store))
    assert sorted(msgspec.json.decode(lease.body)["rows"]) == sorted(
        100 * n + m for n in range(30) for m in range(10)
    )


async def test_of_many_that_replace_each_other_one_is_left(store: Store) -> None:
    others = [store, *[await store.join() for _ in range(2)]]
    jobs = [[keyed(store, REPLACE) for _ in range(4)] for _ in range(15)]

    told = await asyncio.gather(
        *(process.push(each) for process, each in zip(cycle(others), jobs, strict=False))
    )

    assert Counter(r.status for receipts in told for r in receipts) == {"created": 1, "replaced": 59}
    assert len(await take_all(store, await worker(store))) == 1
    states = (await store.counts()).queues["mail"].states
    assert states[State.CANCELLED] == 59


async def test_a_claim_that_no_clock_can_tell_is_rejected(store: Store) -> None:
    for seconds in (float("nan"), -1.0, 1e300):
        receipt = await push(store, keyed(store, Claim(within=seconds)))
        assert receipt.status == "rejected"
