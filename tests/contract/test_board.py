"""Small documents: compare-and-swap, time, pages, and the step that they share with jobs."""

from __future__ import annotations

import asyncio

import pytest

from noria.backends.contract import Doc, DocWrite
from noria.errors import Conflict, InvalidInput
from noria.model.limits import MAX_DOC
from tests.contract.store import Store
from tests.contract.words import new, one, record, swept

KIND = "key"


def doc(name: str = "a", data: bytes | None = b"1", **fields: object) -> DocWrite:
    return DocWrite(KIND, name, data, **fields)


async def only(store: Store, name: str = "a") -> Doc | None:
    return (await store.read(KIND, [name]))[0]


async def names(store: Store, **page: object) -> list[str]:
    return [each.name for each in await store.scan(KIND, **page)]


# -- reading and writing


async def test_a_document_is_read_as_it_was_written(store: Store) -> None:
    (version,) = await store.write([doc(data=b'{"a": "\\u0000"}')])
    await store.restart()

    assert await only(store) == Doc(KIND, "a", version, b'{"a": "\\u0000"}')


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\xff\x00", "é😀\n\"'\\".encode(), b"x" * MAX_DOC, b"\xff" * MAX_DOC], ids=len
)
async def test_data_is_bytes_and_nothing_more(store: Store, data: bytes) -> None:
    await store.write([doc(data=data)])

    found = await only(store)
    assert found is not None
    assert found.data == data


async def test_documents_come_in_the_order_of_the_names(store: Store) -> None:
    await store.write([doc("a"), doc("b")])

    found = await store.read(KIND, ["b", "missing", "a", "b"])

    assert [each and each.name for each in found] == ["b", None, "a", "b"]


async def test_kinds_do_not_meet(store: Store) -> None:
    await store.write([DocWrite("one", "a", b"1"), DocWrite("other", "a", b"2")])

    (one,), (other,) = await store.read("one", ["a"]), await store.read("other", ["a"])
    assert one is not None
    assert other is not None
    assert (one.data, other.data) == (b"1", b"2")


async def test_a_deleted_document_is_gone(store: Store) -> None:
    await store.write([doc()])

    assert await store.write([doc(data=None)]) == [0]
    assert await only(store) is None


async def test_nothing_is_written_by_no_documents(store: Store) -> None:
    assert await store.write([]) == []
    assert await store.read(KIND, []) == []


# -- compare and swap


async def test_a_version_rises_with_every_write(store: Store) -> None:
    versions = [(await store.write([doc(data=b"%d" % n)]))[0] for n in range(3)]

    assert versions == sorted(set(versions))
    assert all(versions)


async def test_a_write_is_done_if_the_version_is_as_expected(store: Store) -> None:
    (first,) = await store.write([doc(if_version=0)])
    await store.restart()
    (second,) = await store.write([doc(data=b"2", if_version=first)])

    assert await only(store) == Doc(KIND, "a", second, b"2")


@pytest.mark.parametrize("data", [b"2", None])
async def test_a_write_that_expects_another_version_conflicts(store: Store, data: bytes | None) -> None:
    (first,) = await store.write([doc()])
    await store.write([doc(data=b"other")])

    for expected in (first, 0, 1 << 40):
        with pytest.raises(Conflict, match="'key' 'a'"):
            await store.write([doc(data=data, if_version=expected)])
    found = await only(store)
    assert found is not None
    assert found.data == b"other"


async def test_a_conflict_names_its_documents(local: Store) -> None:
    await local.write([doc("a"), doc("b")])

    with pytest.raises(Conflict) as caught:
        await local.write([doc("a", if_version=0), doc("b"), doc("c", if_version=7)])

    assert caught.value.documents == ((KIND, "a"), (KIND, "c"))


async def test_one_conflict_leaves_all_as_it_was(store: Store) -> None:
    await store.write([doc("a")])

    with pytest.raises(Conflict):
        await store.write([doc("b"), doc("a", if_version=0)])

    assert await names(store) == ["a"]


async def test_a_document_that_was_made_anew_is_no_old_one(store: Store) -> None:
    (version,) = await store.write([doc()])
    await store.write([doc(data=None)])
    await store.write([doc()])

    with pytest.raises(Conflict):
        await store.write([doc(if_version=version)])


async def test_of_many_who_create_one_document_one_succeeds(store: Store) -> None:
    other = await store.join()
    calls = [each.write([doc(data=b"%d" % n, if_version=0)]) for n in range(10) for each in (store, other)]

    told = await asyncio.gather(*calls, return_exceptions=True)

    assert sorted(type(each).__name__ for each in told) == ["Conflict"] * 19 + ["list"]


# -- time


async def test_a_document_vanishes_when_its_time_is_over(store: Store) -> None:
    await store.write([doc(ttl=10), doc("b")])
    await store.advance(9.9)
    found = await only(store)
    assert found is not None
    assert found.expires == pytest.approx(store.clock.wall() + 0.1, abs=0.01)

    await store.advance(0.2)

    assert await only(store) is None
    assert await names(store) == ["b"]


async def test_the_name_of_a_document_whose_time_is_over_is_free(store: Store) -> None:
    (first,) = await store.write([doc(ttl=10)])
    await store.advance(11)

    with pytest.raises(Conflict):
        await store.write([doc(if_version=first)])
    (second,) = await store.write([doc(if_version=0)])

    assert second > first


async def test_a_write_without_a_time_keeps_the_document(store: Store) -> None:
    await store.write([doc(ttl=10)])
    await store.write([doc()])
    await store.advance(11)

    assert await only(store) is not None


async def test_a_sweep_drops_what_is_over_and_nothing_else(store: Store) -> None:
    await store.write([doc(str(n), ttl=10) for n in range(5)] + [doc("later", ttl=20), doc("never")])
    await store.advance(11)

    assert (await store.sweep(2)).more
    await swept(store)

    assert not (await store.sweep(100)).more
    assert await names(store) == ["later", "never"]


# -- pages


async def test_documents_are_listed_in_order_page_by_page(store: Store) -> None:
    wanted = sorted(["a", "b", "Z", "é", "😀", "a b", "ab", "0"])
    await store.write([doc(name) for name in wanted])

    found: list[str] = []
    while page := await names(store, after=found[-1] if found else None, limit=3):
        assert len(page) <= 3
        found += page

    assert found == wanted


async def test_a_prefix_is_literal(store: Store) -> None:
    await store.write([doc(name) for name in ("a%b", "a%bc", "axb", "a", "a%", "b")])

    assert await names(store, prefix="a%b") == ["a%b", "a%bc"]
    assert await names(store, prefix="a%b", after="a%b") == ["a%bc"]
    assert await names(store, prefix="nothing") == []


async def test_large_documents_come_in_smaller_pages_and_all_of_them(store: Store) -> None:
    for start in range(0, 100, 20):
        await store.write([doc(f"{n:03}", b"x" * MAX_DOC) for n in range(start, start + 20)])

    found: list[str] = []
    pages = 0
    while page := await names(store, after=found[-1] if found else None, limit=1_000):
        found, pages = found + page, pages + 1

    assert found == [f"{n:03}" for n in range(100)]
    assert pages > 1


# -- what cannot be stored


@pytest.mark.parametrize(
    "bad",
    [
        doc(data=b"x" * (MAX_DOC + 1)),
        doc(""),
        doc("a\0b"),
        doc("\ud800"),
        doc("x" * 513),
        DocWrite("", "a", b""),
        DocWrite("k" * 65, "a", b""),
        doc(ttl=0),
        doc(ttl=float("nan")),
        doc(ttl=1e300),
    ],
    ids=lambda each: repr(each)[:60],
)
async def test_what_cannot_be_stored_is_refused_whole(store: Store, bad: DocWrite) -> None:
    job = new(store)
    for write in (store.write([doc("fine"), bad]), store.push([job], [bad])):
        with pytest.raises(InvalidInput):
            await write

    assert await names(store) == []
    assert await store.get([job.id]) == [None]


async def test_a_document_is_written_once_in_a_call(store: Store) -> None:
    with pytest.raises(InvalidInput, match="twice"):
        await store.write([doc(), doc()])


# -- along with jobs


async def test_documents_go_along_with_jobs(store: Store) -> None:
    job = new(store)

    (receipt,) = await store.push([job], [doc(data=job.id, if_version=0)])
    await store.restart()

    found = await only(store)
    assert receipt.status == "created"
    assert found is not None
    assert found.data == job.id
    assert (await record(store, job.id)).id == job.id


async def test_a_conflict_stores_no_job(store: Store) -> None:
    await store.write([doc(data=b"first")])
    jobs = [new(store), new(store)]

    with pytest.raises(Conflict):
        await store.push(jobs, [doc("b"), doc(if_version=0)])

    assert await store.get([job.id for job in jobs]) == [None, None]
    assert await names(store) == ["a"]
    assert (await store.counts()).queues == {}


async def test_one_key_for_many_producers_makes_one_job(store: Store) -> None:
    """50 clients with one idempotency key."""
    other = await store.join()
    jobs = [new(store) for _ in range(50)]
    calls = [
        each.push([job], [doc(data=job.id, if_version=0)])
        for job, each in zip(jobs, [store, other] * 25, strict=True)
    ]

    told = await asyncio.gather(*calls, return_exceptions=True)

    stored = [each for each in await store.get([job.id for job in jobs]) if each is not None]
    found = await only(store)
    assert sorted(type(each).__name__ for each in told) == ["Conflict"] * 49 + ["list"]
    assert found is not None
    assert [each.id for each in stored] == [found.data]


async def test_a_conflict_is_no_matter_of_others(store: Store) -> None:
    await store.write([doc()])
    jobs = [new(store) for _ in range(20)]
    calls = [
        store.push([job], [doc(if_version=0)] if n % 2 else [doc(f"n{n}", if_version=0)])
        for n, job in enumerate(jobs)
    ]

    told = await asyncio.gather(*calls, return_exceptions=True)

    assert [isinstance(each, Conflict) for each in told] == [bool(n % 2) for n in range(20)]
    there = [each is not None for each in await store.get([job.id for job in jobs])]
    assert there == [not n % 2 for n in range(20)]


async def test_a_repeated_push_conflicts_with_itself_and_stores_nothing_twice(store: Store) -> None:
    job = new(store)
    await store.push([job], [doc(if_version=0)])

    with pytest.raises(Conflict):
        await store.push([job], [doc(if_version=0)])

    assert [receipt.status for receipt in await store.push([job], [doc()])] == ["existing"]


async def test_documents_are_written_also_if_another_job_stands_for_theirs(store: Store) -> None:
    holder = await one(store, unique="k")

    (receipt,) = await store.push([new(store, unique="k")], [doc(if_version=0)])

    assert (receipt.status, receipt.id) == ("existing", holder)
    assert await only(store) is not None


async def test_a_rejected_job_leaves_nothing_of_a_call_with_documents(store: Store) -> None:
    good, bad = new(store), new(store, body=b"x" * (2 << 20))

    told = await store.push([good, bad], [doc()])

    assert [receipt.status for receipt in told] == ["rejected", "rejected"]
    assert await store.get([good.id]) == [None]
    assert await only(store) is None


async def test_large_bodies_go_along_with_documents(store: Store) -> None:
    jobs = [new(store, body=b'"' + b"x" * 5_000 + b'"') for _ in range(3)]
    await store.write([doc("taken")])

    told = await asyncio.gather(
        store.push(jobs[:1], [doc("a", if_version=0)]),
        store.push(jobs[1:2], [doc("taken", if_version=0)]),
        store.push(jobs[2:], [doc("c", if_version=0)]),
        return_exceptions=True,
    )

    assert [isinstance(each, Conflict) for each in told] == [False, True, False]
    there = await store.get([job.id for job in jobs])
    assert [each is not None for each in there] == [True, False, True]
