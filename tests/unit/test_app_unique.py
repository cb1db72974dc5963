"""`Unique` in Python: what it takes, what a job carries of it, and what an enqueue says that it has done."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from noria import DuplicateJob, InvalidInput, InvalidOption, Noria, Unique
from noria.backends.contract import Parts
from noria.ids import from_text
from noria.model.claim import Claim
from noria.model.job import NewJob

app = Noria()


@app.task(unique=Unique(by=("order.id", "lang"), within=60))
async def invoice(order: dict[str, object], lang: str = "en") -> None: ...


@app.task
async def write(rows: list[int], to: str = "") -> None: ...


@pytest.fixture
async def shop(short_tmp: Path) -> AsyncIterator[Noria]:
    shop = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")
    shop.task(write.function)
    shop.task(unique=Unique(by="order"), name="pack")(pack)
    async with shop:
        yield shop


async def pack(order: int) -> None: ...


def made(unique: Any) -> NewJob:
    return write.options(unique=unique).job([1], "a").new


# ---- what it takes


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "key"),
        ({"key": "k", "by": "a"}, "key"),
        ({"key": "k" * 513}, "key"),
        ({"key": "\n"}, "key"),
        ({"by": ("a",) * 9}, "by"),
        ({"by": ("",)}, "by"),
        ({"key": "k", "while_": "ever"}, "while_"),
        ({"key": "k", "while_": "live", "within": 5}, "within"),
        ({"key": "k", "within": 0}, "within"),
        ({"key": "k", "within": float("nan")}, "within"),
        ({"key": "k", "within": True}, "within"),
        ({"key": "k", "within": "60"}, "within"),
        ({"key": "k", "on_conflict": "ignore"}, "on_conflict"),
        ({"key": "k", "at_most": 5}, "at_most"),
        ({"key": "k", "on_conflict": "keep_last", "at_most": -1}, "at_most"),
        ({"key": "k", "argument": "rows"}, "argument"),
        ({"key": "k", "max_items": 5}, "argument"),
        ({"key": "k", "on_conflict": "merge"}, "argument"),
        ({"key": "k", "on_conflict": "merge", "argument": "rows", "max_items": 0}, "max_items"),
    ],
    ids=str,
)
def test_what_is_out_of_range_or_contradicts_is_refused_by_its_name(
    fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidOption) as caught:
        Unique(**fields)
    assert caught.value.field == field


@pytest.mark.parametrize("unique", [5, "", ("k",), Claim()], ids=str)
def test_an_option_that_is_no_key_is_refused(unique: Any) -> None:
    with pytest.raises(InvalidOption):
        write.options(unique=unique)


@pytest.mark.parametrize("unique", ["k", Unique("k"), Unique("k", while_="live")], ids=str)
def test_the_usual_key_is_carried_without_a_claim(unique: Any) -> None:
    assert (made(unique).unique, made(unique).claim) == ("k", None)


@pytest.mark.parametrize(
    ("how", "until_start"),
    [("existing", False), ("reject", False), ("replace", True), ("keep_last", True), ("merge", True)],
)
def test_what_must_not_be_lost_holds_its_key_until_the_start(how: Any, until_start: bool) -> None:
    argument = {"argument": "rows"} if how == "merge" else {}

    claim = made(Unique("k", on_conflict=how, **argument)).claim or Claim()
    told = made(Unique("k", on_conflict=how, while_="live", **argument)).claim or Claim()
    window = made(Unique("k", on_conflict=how, within=5, **argument)).claim or Claim()

    assert (claim.until_start, told.until_start) == (until_start, False)
    assert (window.until_start, window.within) == (False, 5)


# ---- a key that is made of arguments


def test_a_key_is_made_of_arguments() -> None:
    assert invoice.job({"id": 7}, "de").new.unique == '[7,"de"]'
    assert write.options(unique=Unique(by="to")).job([1], "a@b.c").new.unique == "a@b.c"
    assert write.options(unique=Unique(by="rows")).job([1, 2], "a").new.unique == "[1,2]"


def test_a_key_that_is_too_long_or_cannot_be_shown_is_hashed() -> None:
    keys = [
        write.options(unique=Unique(by="to")).job([1], text).new.unique
        for text in ("x" * 600, "x" * 601, "\n")
    ]

    assert len(set(keys)) == 3
    assert all(key is not None and key.startswith("#") and len(key) == 65 for key in keys)


def test_the_same_arguments_make_the_same_key_in_whatever_order() -> None:
    one = invoice.options(unique=Unique(by="order")).job({"id": 7, "at": 1})
    other = invoice.options(unique=Unique(by="order")).job({"at": 1, "id": 7})

    assert one.new.unique == other.new.unique == '{"at":1,"id":7}'


@pytest.mark.parametrize("order", [{}, {"id": 7}], ids=str)
def test_an_argument_that_is_not_given_makes_no_key(order: dict[str, object]) -> None:
    with pytest.raises(InvalidOption, match="not given"):
        invoice.job(order)


def test_an_argument_that_there_is_not_is_refused_at_once() -> None:
    with pytest.raises(InvalidOption, match="did you mean 'rows'"):
        write.options(unique=Unique("k", on_conflict="merge", argument="row"))
    with pytest.raises(InvalidOption, match="no argument 'who'"):
        Noria().task(unique=Unique(by="who"), name="other")(pack)


def test_a_job_says_otherwise_than_its_task() -> None:
    job = invoice.job({"id": 7}, "de").new
    assert job.claim == Claim(within=60)

    assert invoice.options(unique="k").job({"id": 7}).new.unique == "k"
    free = invoice.options(unique=None).job({"id": 7}).new
    assert (free.unique, free.claim) == (None, None)


# ---- what was done


async def test_an_enqueue_says_what_it_has_done(shop: Noria) -> None:
    task: Any = shop.find_task("write")

    async def enqueue(how: Any, *rows: int) -> str:
        argument = {"argument": "rows"} if how == "merge" else {}
        job = await task.options(unique=Unique("k", on_conflict=how, **argument)).enqueue(list(rows))
        assert job.created == (job.enqueued in ("created", "replaced"))
        return str(job.enqueued)

    told = [
        await enqueue(how, n)
        for n, how in enumerate(["existing", "existing", "replace", "keep_last", "merge"])
    ]

    assert told == ["created", "existing", "replaced", "updated", "merged"]
    assert shop.job("0190a0a0-0000-7000-8000-000000000000").enqueued == "existing"


async def test_the_job_that_was_added_to_is_the_one_that_is_given(shop: Noria) -> None:
    task: Any = shop.find_task("write")
    gather = task.options(unique=Unique("k", on_conflict="merge", argument="rows"))

    first, second = await gather.enqueue([1]), await gather.enqueue([2, 3])

    [record] = await shop.backend.get([from_text(second.id)], Parts.BODY)
    assert second.id == first.id
    assert record is not None and json.loads(record.body or b"")["rows"] == [1, 2, 3]


async def test_a_key_that_is_taken_can_be_an_error(shop: Noria) -> None:
    task: Any = shop.find_task("write")
    strict = task.options(unique=Unique("k", on_conflict="reject"))
    first = await strict.enqueue([1])

    with pytest.raises(DuplicateJob) as caught:
        await strict.enqueue([2])

    assert caught.value.job_id == first.id
    assert first.id in str(caught.value)


async def test_an_error_of_one_of_many_comes_when_the_others_are_stored(shop: Noria) -> None:
    task: Any = shop.find_task("write")
    strict = task.options(unique=Unique("k", on_conflict="reject"))
    drafts = [strict.job([1]), strict.job([2]), task.job([3])]

    with pytest.raises(DuplicateJob):
        await shop.enqueue_many(drafts)

    states = [(await shop.backend.get([draft.new.id]))[0] is not None for draft in drafts]
    assert states == [True, False, True]


async def test_a_draft_that_is_rejected_for_another_is_fine_if_it_is_enqueued_again(shop: Noria) -> None:
    task: Any = shop.find_task("write")
    draft = task.options(unique=Unique("k", on_conflict="reject")).job([1])

    [once], [again] = await shop.enqueue_many([draft]), await shop.enqueue_many([draft])

    assert (once.enqueued, again.enqueued, once.id == again.id) == ("created", "existing", True)


async def test_what_cannot_be_merged_is_refused(shop: Noria) -> None:
    task: Any = shop.find_task("write")
    await task.options(unique="k").enqueue([1])
    draft = task.options(unique=Unique("k", on_conflict="merge", argument="to")).job([1], "text")

    with pytest.raises(InvalidInput, match="is no list"):
        await shop.enqueue_many([draft])


async def test_a_task_says_how_its_jobs_are_unique(shop: Noria) -> None:
    task: Any = shop.find_task("pack")

    first, same, other = await task.enqueue(1), await task.enqueue(1), await task.enqueue(2)

    assert [job.enqueued for job in (first, same, other)] == ["created", "existing", "created"]
