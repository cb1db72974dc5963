"""A task is called over HTTP: arguments in, the bare result back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

from noria import Noria
from tests.support.door import place


async def test_get_calls_a_safe_task_and_post_any(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        root = await here.ask("GET", "/v1/call/sqrt?a=9")
        cube = await here.ask("POST", "/v1/call/cube", {"a": 3})

        assert (root.status_code, root.text) == (200, "3.0")
        assert (cube.status_code, cube.text) == (200, "27")
        assert root.headers["cache-control"] == "no-store"


async def test_a_task_that_is_not_declared_safe_is_no_matter_of_get(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        answer = await here.ask("GET", "/v1/call/cube?a=3")

        assert (answer.status_code, answer.json()["code"]) == (403, "not_safe")
        assert (await here.ask("GET", "/v1/jobs")).json()["items"] == []


async def test_a_task_that_fails_is_a_bad_gateway_with_its_error(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        answer = await here.ask("POST", "/v1/call/fail", {"why": "tired"})

        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["state"]) == (502, "task_failed", "failed")
        assert problem["error"]["message"] == "tired"
        assert (await here.job(problem["job_id"]))["state"] == "failed"


async def test_a_call_that_takes_longer_goes_on_as_a_job(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        answer = await here.ask("POST", "/v1/call/nap?wait=0.05", {"seconds": 0.3})

        assert answer.status_code == 202
        assert answer.headers["location"] == f"/v1/jobs/{answer.json()['id']}"
        assert (await here.ended(answer.json()["id"]))["result"] == "rested"


@pytest.mark.parametrize("way", ["time", "drain"])
async def test_a_call_whose_wait_is_over_is_told_the_job_as_it_stands_then(short_tmp: Path, way: str) -> None:
    async with place(short_tmp) as here:
        await here.hire()
        wait = 0.5 if way == "time" else 20
        calling = asyncio.ensure_future(here.ask("POST", f"/v1/call/nap?wait={wait}", {"seconds": 60}))
        async with here.patience():
            while not (running := (await here.ask("GET", "/v1/jobs?state=running")).json()["items"]):
                await here.breathe()
        if way == "drain":
            here.front.drain()
        answer = (await calling).json()

        assert (answer["id"], answer["state"]) == (running[0]["id"], "running")
        assert answer["starts"] == 1


async def test_respond_async_with_a_wait_is_asynchronous_after_the_wait_only(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        prefer = {"prefer": "respond-async, wait=20"}
        answer = await here.ask("POST", "/v1/call/cube", {"a": 3}, headers=prefer)

        assert (answer.status_code, answer.text) == (200, "27")
        assert answer.headers["preference-applied"] == "wait=20"


async def test_respond_async_does_not_wait(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        answer = await asyncio.wait_for(
            here.ask("POST", "/v1/call/cube", {"a": 3}, headers={"prefer": "respond-async"}), 5
        )

        assert answer.status_code == 202


@pytest.mark.parametrize(
    ("query", "pointer"),
    [("a=x", "/args/a"), ("", "/args/a"), ("a=1&b=2", "/args/b"), ("a=1&a=2", "/args/a")],
)
async def test_bad_arguments_are_named(short_tmp: Path, query: str, pointer: str) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("GET", f"/v1/call/sqrt?{query}")

        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_args")
        assert answer.json()["errors"][0]["pointer"] == pointer


def typed(app: Noria) -> None:
    @app.task(safe=True)
    async def show(
        text: str = "",
        number: int | None = None,
        flag: bool = False,
        many: list[int] = [],  # noqa: B006 - a default of the task, never changed
        word: Literal["a", "b"] = "a",
        wait: str = "",
        anything: Any = None,
    ) -> list[Any]:
        return [text, number, flag, many, word, wait, anything]


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("text=5&number=5&flag=true", ["5", 5, True, [], "a", "", None]),
        ("many=1&many=2", ["", None, False, [1, 2], "a", "", None]),
        ("many=1", ["", None, False, [1], "a", "", None]),
        ("many=[1,2]", ["", None, False, [1, 2], "a", "", None]),
        ("number=null&word=b", ["", None, False, [], "b", "", None]),
        ("wait=mine", ["", None, False, [], "a", "mine", None]),
        ("anything=true&text=", ["", None, False, [], "a", "", True]),
        ("anything=hello", ["", None, False, [], "a", "", "hello"]),
        ("text=%C3%BC%20%26", ["ü &", None, False, [], "a", "", None]),
    ],
)
async def test_query_text_becomes_what_the_schema_says(short_tmp: Path, query: str, result: Any) -> None:
    async with place(short_tmp, typed, worker=True) as here:
        answer = await here.ask("GET", f"/v1/call/show?{query}")

        assert (answer.status_code, answer.json()) == (200, result), answer.text


async def test_a_job_that_is_not_kept_still_answers_who_waits(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        await here.ask("POST", "/v1/call/cube", {"a": 1})  # from now on this front listens
        called = await here.ask("POST", "/v1/call/echo", {"value": 5})
        waited = await here.ask("POST", "/v1/jobs?wait=10", {"task": "echo", "args": {"value": 6}})

        assert called.text == "5"
        assert (waited.status_code, waited.json()["state"], waited.json()["result"]) == (200, "succeeded", 6)
