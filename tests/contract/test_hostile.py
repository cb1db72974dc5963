"""Bodies, results and names are data: they come back exactly, and nothing in them is ever read as anything else."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from noria.backends.contract import Parts, Query
from noria.model.job import Extras
from noria.model.outcome import Failure
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import enqueue, new, one, record
from tests.contract.workers import end, running, settle, take, take_all, worker

TEXTS = [
    "",
    "plain",
    "it's",
    'say "hi"',
    "back\\slash",
    "tab\tand\nnewline\r",
    "\u2028\u2029",
    "é ß 漢字 😀 \U0010ffff",
    "\x7f\x80\x9f",
    "'; DROP TABLE jobs; --",
    '"); DELETE FROM jobs; --',
    "?1 :name @name $name",
    "%s %d {0} {id} ${x}",
    "<script>alert(1)</script>",
    "null",
    "[1,2",
    "\\u0000 \\ud800 \\x00",
    "$.a[0] ->> '$'",
    "x" * 3_000,
    "é" * 3_000,
]
ESCAPES = [
    rb'"\u0000"',
    rb'"a\u0000b\u0000"',
    rb'"\ud800"',
    rb'"\udfff\ud800"',
    rb'"\ud83d\ude00"',
    rb'"\"\\\/\b\f\n\r\t"',
    b'["\\u0000", {"\\u0000": "\\ud800"}]',
    b"1e400",
    b"-0.0",
    b"123456789012345678901234567890",
    b'{"a": 1, "a": 2}',
    b" [ 1 ,\n 2 ] ",
    b"NaN",
    b"not json at all",
    b"",
    b"\xef\xbb\xbf[]",
]
BYTES = [
    b"",
    b"\x00",
    b"\x00\x00",
    b"\xff\xfe",
    b"\x80abc",
    bytes(range(256)),
    b"\x00" * 5_000,
    b"'\"\\" * 900,
]


def bodies() -> list[tuple[bytes, str]]:
    texts = [(msgspec.json.encode(text), "json") for text in TEXTS]
    escapes = [(text, "json") for text in ESCAPES]
    raw = [(each, codec) for each in BYTES for codec in ("msgpack", "protobuf", "json", "x-custom")]
    rng = random.Random(5)
    noise = [(rng.randbytes(rng.randrange(4_000)), rng.choice(["json", "msgpack"])) for _ in range(60)]
    return [*texts, *escapes, *raw, *noise]


async def test_every_body_comes_back_exactly(store: Store) -> None:
    jobs = [new(store, body=body, codec=codec) for body, codec in bodies()]
    receipts = await store.push(jobs)
    await store.restart()

    assert {receipt.status for receipt in receipts} == {"created"}
    leases = {lease.id: (lease.body, lease.codec) for lease in await take_all(store, await worker(store))}
    for job in jobs:
        assert leases[job.id] == (job.body, job.codec)
        found = await record(store, job.id, Parts.BODY)
        assert (found.body, found.codec) == (job.body, job.codec)


async def test_every_result_comes_back_exactly(store: Store) -> None:
    values = bodies()
    await enqueue(store, len(values))
    session = await worker(store)
    leases = await take_all(store, session)
    ends = [
        end(lease, result=value, codec=codec) for lease, (value, codec) in zip(leases, values, strict=True)
    ]
    await store.settle(session, ends)
    await store.restart()

    found = await store.get([lease.id for lease in leases], Parts.RESULT)

    assert [each and (each.result, each.result_codec) for each in found] == values


@pytest.mark.parametrize("size", [2_047, 2_048, 2_049, 65_536, 1_000_000])
async def test_a_body_of_any_size_comes_back_exactly(store: Store, size: int) -> None:
    rng = random.Random(size)
    for codec, body in (("msgpack", rng.randbytes(size)), ("json", b'"' + b"\\u00e9" * (size // 6) + b'"')):
        job = new(store, body=body, codec=codec)
        await store.push([job])
        assert (await record(store, job.id, Parts.BODY)).body == body


async def test_unique_keys_are_compared_as_they_are(store: Store) -> None:
    keys = [text for text in TEXTS if text]
    first = [new(store, unique=key) for key in keys]
    await store.push(first)

    again = await store.push([new(store, unique=key) for key in keys])
    other = await store.push([new(store, unique=key + " ") for key in keys])

    assert [(receipt.status, receipt.id) for receipt in again] == [("existing", job.id) for job in first]
    assert {receipt.status for receipt in other} == {"created"}
    assert [found and found.unique for found in await store.get([job.id for job in first])] == keys


async def test_keys_that_look_alike_are_not_one(store: Store) -> None:
    keys = [
        "A",
        "a",
        "á",
        "a\u0301",
        "\u0430",
        "1",
        "01",
        "1.0",
        "true",
        "null",
        " a",
        "a ",
        "%",
        "_",
        "*",
        "?",
    ]

    receipts = await store.push([new(store, unique=key) for key in keys])

    assert [receipt.status for receipt in receipts] == ["created"] * len(keys)


async def test_any_valid_name_is_a_queue_and_a_task(store: Store) -> None:
    session = await worker(store)
    names = ["a.b-c_d", "A" * 128, "0", "_", "select", "jobs", "null", "a.b.c", "QUEUE", "queue"]
    for name in names:
        id = await one(store, queue=name, task=name)

        (lease,) = await take(store, session, queue=name)

        assert (lease.id, lease.queue, lease.task) == (id, name, name)
    assert set((await store.counts()).queues) == set(names)


async def test_queues_that_look_alike_are_not_one(store: Store) -> None:
    names = ["a", "A", "a.", "a-b", "a_b", "a.b", "ab", "a.b.c"]
    ids = {name: await one(store, queue=name) for name in names}
    session = await worker(store)

    leased = {name: [lease.id for lease in await take(store, session, queue=name)] for name in names}

    assert leased == {name: [id] for name, id in ids.items()}


async def test_texts_of_producers_come_back_exactly(store: Store) -> None:
    for text in filter(None, TEXTS):
        extras = Extras(tags=(text,), correlation_id=text)
        id = await one(store, extras=extras)

        assert (await record(store, id)).extras == extras
        assert [each.id for each in (await store.find(Query(tag=text))).records] == [id], text
        assert [each.id for each in (await store.find(Query(correlation_id=text))).records] == [id], text


async def test_texts_of_workers_come_back_exactly(store: Store) -> None:
    for text in filter(None, TEXTS):
        id = await one(store)
        session = await worker(store, worker=text, host=text)
        (lease,) = await take(store, session)
        failure = Failure("exception", text[:2_000], text[:200], text)
        await settle(store, session, lease, State.FAILED, failure=failure)

        found = await record(store, id, Parts.LOG)

        assert (found.failure, found.log[0].failure) == (failure, failure), text
        assert (found.worker, found.log[0].worker) == (text, text)
        assert (await store.counts()).workers[-1].card.host == text
        await store.end(session)


BAD: list[dict[str, Any]] = [
    {"task": "a\x00b"},
    {"queue": "a\x00b"},
    {"unique": "a\x00b"},
    {"codec": "\x00"},
    {"unique": "\ud800"},
    {"task": "\ud800"},
    {"reply": "\udfff"},
    {"delay": float("nan")},
    {"delay": float("inf")},
    {"at": float("nan")},
    {"at": 1e300},
    {"expires": float("inf")},
    {"deadline": float("nan")},
    {"keep": float("inf")},
    {"extras": Extras(tags=("\ud800",))},
    {"priority": 10**30},
    {"attempts": 10**30},
]
"""Jobs that no store can keep."""


async def test_jobs_that_cannot_be_stored_are_rejected_alone(store: Store) -> None:
    bad = [new(store, **fields) for fields in BAD]
    good = [new(store) for _ in bad]
    jobs = [each for pair in zip(good, bad, strict=True) for each in pair]

    receipts = await store.push(jobs)

    assert [receipt.status for receipt in receipts] == ["created", "rejected"] * len(bad)
    assert all(receipt.why for receipt in receipts[1::2])
    assert [each is not None for each in await store.get([job.id for job in jobs])] == [True, False] * len(
        bad
    )


async def test_a_job_that_cannot_be_stored_is_rejected_whatever_is_wrong_with_it(store: Store) -> None:
    for fields in BAD:
        (receipt,) = await store.push([new(store, **fields)])

        assert receipt.status == "rejected", fields


@pytest.mark.parametrize("bad", [{"worker": "a\x00b"}, {"host": "\ud800"}, {"tasks": ("a\x00",)}], ids=ascii)
async def test_a_worker_that_cannot_be_described_is_refused_or_stored(
    store: Store, bad: dict[str, Any]
) -> None:
    """Whatever it is, the store works on."""
    try:
        await worker(store, **bad)
    except Exception as error:
        assert not isinstance(error, AssertionError)

    session, lease = await running(store)
    assert (await settle(store, session, lease)).value == "ok"
    assert (await store.counts()).queues["mail"].states == {State.SUCCEEDED: 1}
