"""Workers publish their tasks, so that a front without their code refuses what they would refuse."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import pydantic
import pytest

from noria import Noria
from noria.app import catalog
from noria.backends.contract import DocWrite
from noria.front.tasks import FRESH
from tests.support.door import Place, place, shop, store


class Item(msgspec.Struct):
    name: str
    count: int = 1


class Card(pydantic.BaseModel):
    number: str
    items: list[int] = []


def rich(app: Noria) -> None:
    @app.task(safe=True, queue="mail", attempts=3, timeout=5)
    async def order(
        items: list[Item], *, when: datetime | None = None, kind: Literal["a", "b"] = "a"
    ) -> Item:
        """Order things.

        Slowly.
        """
        return items[0]

    @app.task
    async def pay(card: Card) -> int:
        return 1


async def published(folder: Path, tasks: Any) -> None:
    """A worker has started once, and is gone."""
    app = Noria(backend=store(folder), runtime=folder)
    tasks(app)
    async with app:
        await catalog.publish(app.backend, app.sheets())


def nothing(app: Noria) -> None:
    """An application without tasks: the front knows only what was published."""


@pytest.fixture(params=["own", "published"])
def known(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def tasks_of(known: str) -> Any:
    return rich if known == "own" else nothing


@pytest.mark.parametrize(
    ("task", "args", "pointer"),
    [
        ("order", {"items": [{"name": "x"}, {"name": 5}]}, "/args/items/1/name"),
        ("order", {"items": [{"count": 1}]}, "/args/items/0/name"),
        ("order", {"items": "x"}, "/args/items"),
        ("order", {"items": [], "kind": "c"}, "/args/kind"),
        ("order", {"items": [], "more": 1}, "/args/more"),
        ("order", {}, "/args/items"),
        ("order", [[], None], "/args/1"),
        ("pay", {"card": {"items": [1]}}, "/args/card"),
    ],
)
async def test_bad_arguments_are_named_with_and_without_the_code(
    short_tmp: Path, known: str, task: str, args: Any, pointer: str
) -> None:
    await published(short_tmp, rich)
    async with place(short_tmp, tasks_of(known)) as here:
        answer = await here.ask("POST", "/v1/jobs", {"task": task, "args": args})

        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_args"), answer.text
        assert answer.json()["errors"][0]["pointer"].startswith(pointer)


async def test_good_arguments_are_taken_with_and_without_the_code(short_tmp: Path, known: str) -> None:
    await published(short_tmp, rich)
    async with place(short_tmp, tasks_of(known)) as here:
        args = {"items": [{"name": "x"}], "when": "2026-11-30T08:00:00Z", "kind": "b"}
        job = await here.job(await here.enqueue("order", args))
        by_place = await here.job(await here.enqueue("order", [[{"name": "x"}]]))

        assert (job["queue"], job["max_attempts"], job["args"]) == ("mail", 3, args)
        assert by_place["args"] == {"items": [{"name": "x"}]}
        await here.enqueue("pay", {"card": {"number": "1"}})


async def test_a_task_is_shown_as_its_author_wrote_it(short_tmp: Path, known: str) -> None:
    await published(short_tmp, rich)
    async with place(short_tmp, tasks_of(known)) as here:
        task = (await here.ask("GET", "/v1/tasks/order")).json()
        listed = (await here.ask("GET", "/v1/tasks")).json()["items"]

        assert (task["name"], task["queue"], task["safe"], task["timeout"]) == ("order", "mail", True, 5.0)
        assert task["description"] == "Order things.\n\nSlowly."
        assert task["positional"] == ["items"]
        assert task["args_schema"]["required"] == ["items"]
        assert task["workers_serving"] == 0
        assert [each["name"] for each in listed] == ["order", "pay"]


async def test_a_worker_publishes_when_it_starts_and_the_front_learns_of_it(short_tmp: Path) -> None:
    async with place(short_tmp, nothing) as here:
        assert (await here.ask("POST", "/v1/call/cube", {"a": 3})).json()["code"] == "task_unknown"
        other = Noria(backend=store(short_tmp), runtime=short_tmp)
        shop(other)
        async with other:
            elsewhere = Place(other, here.front, here.client)
            try:
                await elsewhere.hire()
                async with asyncio.timeout(10):
                    while (await here.ask("GET", "/v1/tasks/cube")).status_code != 200:
                        await asyncio.sleep(0.05)
                assert (await here.ask("POST", "/v1/call/cube", {"a": 3})).text == "27"
                assert (await here.ask("GET", "/v1/call/sqrt?a=9")).text == "3.0"
            finally:
                await elsewhere.close()


async def test_a_task_that_changed_is_known_anew_in_seconds(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def newer(app: Noria) -> None:
        @app.task
        async def cube(a: int, b: int = 1) -> int:
            return a * b

    await published(short_tmp, shop)
    async with place(short_tmp, nothing) as here:
        assert (await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1, 2]})).status_code == 422
        await published(short_tmp, newer)
        clock = here.front.desk.tasks._clock.monotonic
        monkeypatch.setattr(here.front.desk.tasks, "_clock", _Later(clock))
        assert (await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1, 2]})).status_code == 202


class _Later:
    def __init__(self, monotonic: Any) -> None:
        self._monotonic = monotonic

    def monotonic(self) -> float:
        return float(self._monotonic()) + FRESH


async def test_what_is_published_again_unchanged_is_not_written_again(short_tmp: Path) -> None:
    await published(short_tmp, rich)
    async with place(short_tmp, rich) as here:
        before = await here.app.backend.scan(catalog.KIND)
        await catalog.publish(here.app.backend, here.app.sheets())

        assert await here.app.backend.scan(catalog.KIND) == before


async def test_schemas_that_are_too_large_are_left_out_and_the_task_is_known(short_tmp: Path) -> None:
    huge = Literal[tuple(f"word-{number:06}" for number in range(6_000))]  # type: ignore[valid-type]  # made here

    def declare(app: Noria) -> None:
        async def pick(word: Any) -> str:
            return str(word)

        pick.__annotations__["word"] = huge
        app.task(pick)

    await published(short_tmp, declare)
    async with place(short_tmp, nothing) as here:
        assert (await here.ask("GET", "/v1/tasks/pick")).json()["args_schema"] == {}
        assert (
            await here.ask("POST", "/v1/jobs", {"task": "pick", "args": {"word": "x"}})
        ).status_code == 202


async def test_a_document_that_is_no_task_is_passed_over(short_tmp: Path) -> None:
    await published(short_tmp, shop)
    async with place(short_tmp, nothing) as here:
        bad = [b"{}", b"\xff", b"[]"]
        await here.app.backend.write(
            [DocWrite(catalog.KIND, f"bad{number}", data) for number, data in enumerate(bad)]
        )
        names = [each["name"] for each in (await here.ask("GET", "/v1/tasks")).json()["items"]]

        assert names == ["cube", "echo", "fail", "nap", "refuse", "sqrt"]
        assert (await here.ask("POST", "/v1/jobs", {"task": "bad0"})).json()["code"] == "task_unknown"
