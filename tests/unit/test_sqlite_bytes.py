"""What goes in comes out: the very bytes and texts, whatever they are and wherever they are kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.backends.contract import Parts
from noria.backends.sql.push import Push
from noria.backends.sql.records import Get
from noria.backends.sql.settings import LEASE_BYTES
from noria.backends.sqlite.settings import SPILL
from noria.backends.sqlite.settle import Settle
from noria.model.job import Extras, Record
from noria.model.limits import MAX_BODY
from tests.support.sqlite import Bench, succeeded

ODD = [
    b"",
    b"\x00",
    b"a\x00b",
    b'"\\u0000"',
    b'"\\ud800"',
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf[]",
    b"\xef\xbf\xbf",
    b"not json",
    b"123",
    b"null",
    b" [1 ,2.50]\n",
    b'{"b":1,"a":2,"b":3}',
    b"1" * 400,
    "Grüße, 世界, 𝄞, \u2028\u0085\x7f\x1b".encode(),
    b"'; drop table jobs; --",
    *(b"x" * size for size in (SPILL - 1, SPILL, SPILL + 1, 100_000, MAX_BODY)),
    *(b"\x00" * size for size in (SPILL, SPILL + 1, MAX_BODY)),
]
"""Bytes that a JSON parser, a text column or an eager reader might change."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def round_trip(bench: Bench, body: bytes, codec: str) -> tuple[bytes, bytes | None, bytes | None]:
    """The body as leased, the body as read, and the same bytes as a result."""
    job = bench.job(body=body, codec=codec)
    bench.push(job)
    session = bench.open()
    (lease,) = bench.lease(session)
    bench.ask(Settle(session, [succeeded(lease, body, codec)]))
    record: Record = bench.ask(Get([job.id], Parts.ALL))[0]
    assert (lease.codec, record.codec, record.result_codec) == (codec, codec, codec)
    return lease.body, record.body, record.result


@pytest.mark.parametrize("codec", ["json", "msgpack"])
@pytest.mark.parametrize("body", ODD, ids=lambda body: f"{ascii(body)[:24]}-{len(body)}")
def test_odd_bytes_come_back(bench: Bench, body: bytes, codec: str) -> None:
    assert round_trip(bench, body, codec) == (body, body, body)


@given(st.binary(max_size=2 * SPILL), st.sampled_from(["json", "msgpack"]))
def test_any_bytes_come_back(bench: Bench, body: bytes, codec: str) -> None:
    assert round_trip(bench, body, codec) == (body, body, body)


@given(st.text(min_size=1).map(lambda text: text.encode("utf-8", "replace")))
def test_any_text_comes_back(bench: Bench, body: bytes) -> None:
    assert round_trip(bench, body, "json") == (body, body, body)


@given(st.lists(st.binary(max_size=3 * SPILL), min_size=1, max_size=8))
def test_large_and_small_ones_of_a_batch_are_not_mixed_up(bench: Bench, bodies: list[bytes]) -> None:
    jobs = [bench.job(body=body, codec="msgpack") for body in bodies]
    bench.push(*jobs)
    session = bench.open()
    leases = bench.lease(session)
    bench.ask(Settle(session, [succeeded(lease, lease.body[::-1], "msgpack") for lease in leases]))

    records = bench.ask(Get([job.id for job in jobs], Parts.ALL))

    assert [record.body for record in records] == bodies
    assert [record.result for record in records] == [body[::-1] for body in bodies]


@given(st.text().filter(lambda text: "\x00" not in text))
def test_any_text_about_a_job_comes_back(bench: Bench, text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    extras = Extras(tags=(text,), correlation_id=text)
    job = bench.job(unique=text or None, extras=extras)
    (receipt,) = bench.push(job)

    record: Record = bench.ask(Get([receipt.id], Parts.NONE))[0]

    assert record.unique == (text or None)
    if receipt.status == "created":
        assert record.extras == extras


def test_large_values_leave_with_their_jobs(bench: Bench) -> None:
    """A store at its cap stays flat: nothing of a pruned or erased job is left behind."""
    store = Bench(keep_succeeded_at_most=0)
    large = b"x" * 10_000
    store.push(*(store.job(body=large, keep=keep) for keep in (None, 0.0, None)))
    session = store.open()
    store.ask(Settle(session, [succeeded(lease, large) for lease in store.lease(session)]))

    left = store.engine._link._connected().execute("select count(*) from blobs").get

    assert left == 0


def test_a_repeated_push_of_large_bodies_changes_nothing(bench: Bench) -> None:
    jobs = [bench.job(body=bytes([65 + n]) * 5_000) for n in range(3)]
    bench.push(*jobs[:2])

    receipts = bench.ask(Push(jobs))

    assert [receipt.status for receipt in receipts] == ["existing", "existing", "created"]
    assert [record.body for record in bench.ask(Get([job.id for job in jobs], Parts.BODY))] == [
        job.body for job in jobs
    ]


@pytest.mark.parametrize("byte", [b"x", b"\x00"])
def test_a_lease_takes_no_more_than_it_can_carry(byte: bytes) -> None:
    """A worker that asks for a hundred jobs must get some, even if together they would be too large."""
    store = Bench()
    jobs = [store.job(body=byte * MAX_BODY) for _ in range(40)] + [store.job()]
    store.push(*jobs)
    session = store.open()

    portions = [store.lease(session, 100) for _ in range(3)]

    assert [len(portion) for portion in portions] == [
        LEASE_BYTES // MAX_BODY,
        41 - LEASE_BYTES // MAX_BODY,
        0,
    ]
    assert [lease.id for portion in portions for lease in portion] == [job.id for job in jobs]
    assert portions[0][-1].body == byte * MAX_BODY
