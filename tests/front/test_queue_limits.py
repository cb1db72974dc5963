"""Limits of queues over HTTP: shown, changed, and what a full queue answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noria.backends.contract import Limit, QueueRef
from tests.support.door import place

NONE = {
    "order": "oldest",
    "ageing": 3600.0,
    "max_age": None,
    "max_length": None,
    "concurrency": None,
    "high_water": None,
}


def limits(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    return {name: answer.json()[name] for name in NONE}


async def test_a_queue_shows_its_limits(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.enqueue("cube", [1])
        before = limits(await here.ask("GET", "/v1/queues/default"))
        await here.ask("PATCH", "/v1/queues/new", {"concurrency": 3})
        listed = (await here.ask("GET", "/v1/queues")).json()["items"]

    assert before == NONE
    assert [(queue["name"], queue["concurrency"]) for queue in listed] == [("default", None), ("new", 3)]


async def test_patch_changes_what_it_names_and_put_says_all(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        path = "/v1/queues/default"
        first = limits(await here.ask("PATCH", path, {"concurrency": 3, "max_age": 60}))
        second = limits(await here.ask("PATCH", path, {"max_age": None, "max_length": 7}))
        ensured = limits(await here.ask("PUT", path))
        third = limits(await here.ask("PUT", path, {"order": "newest", "max_age": 5}))
        lifted = limits(await here.ask("PUT", path, {"order": None}))

    assert first == {**NONE, "concurrency": 3, "max_age": 60.0}
    assert second == ensured == {**NONE, "concurrency": 3, "max_length": 7}
    assert third == {**NONE, "order": "newest", "max_age": 5.0}
    assert lifted == NONE


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"concurrency": 0}, "/concurrency"),
        ({"concurrency": 1.5}, "/concurrency"),
        ({"max_length": -1}, "/max_length"),
        ({"max_age": 0}, "/max_age"),
        ({"order": "random"}, "/order"),
        ({"order": "newest"}, "/max_age"),
        ({"weight": 3}, "/weight"),
        ({"high_water": {}}, "/high_water"),
        ({"high_water": {"other": 0}}, "/high_water"),
        ({"high_water": {"default": 5}}, "/high_water"),
    ],
    ids=str,
)
async def test_limits_that_make_no_sense_are_refused(
    short_tmp: Path, method: str, body: Any, pointer: str
) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask(method, "/v1/queues/default", body)
        after = await here.ask("GET", "/v1/queues/default")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
    assert after.status_code == 404


async def test_a_queue_says_what_holds_it(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        path = "/v1/queues/lists"
        set_to = limits(await here.ask("PUT", path, {"high_water": {"default": 1}}))
        before = (await here.ask("GET", path)).json()["held_by"]
        await here.enqueue("cube", [1])
        after = (await here.ask("GET", path)).json()["held_by"]
        lifted = limits(await here.ask("PATCH", path, {"high_water": None}))

    assert set_to == {**NONE, "high_water": {"default": 1}}
    assert (before, after, lifted) == (None, "default", NONE)


async def test_put_takes_what_get_shows(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        path = "/v1/queues/default"
        await here.enqueue("cube", [1])
        await here.ask("PATCH", path, {"concurrency": 3, "high_water": {"other": 5}})
        await here.ask("POST", f"{path}/pause", {"reason": "deploy"})
        first = await here.ask("GET", path)
        shown = first.json()
        again = await here.ask("PUT", path, {**shown, "concurrency": 4})
        elsewhere = await here.ask("PUT", "/v1/queues/other", shown)
        unknown = await here.ask("PUT", path, {**shown, "speed": 4})

    assert limits(again) == {**limits(first), "concurrency": 4}
    assert again.json()["paused"] == shown["paused"]
    assert (elsewhere.status_code, elsewhere.json()["errors"][0]["pointer"]) == (422, "/name")
    assert unknown.status_code == 422


async def test_a_full_queue_answers_429_until_there_is_room(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.app.backend.steer(QueueRef("default"), Limit(max_length=1))
        key = {"Idempotency-Key": "one"}
        body = {"task": "cube", "args": [1]}
        first = await here.ask("POST", "/v1/jobs", body, headers=key)
        refused = await here.ask("POST", "/v1/jobs", body)
        keyed = await here.ask("POST", "/v1/jobs", body, headers={"Idempotency-Key": "two"})
        again = await here.ask("POST", "/v1/jobs", body, headers=key)
        await here.ask("PATCH", "/v1/queues/default", {"max_length": 2})
        later = await here.ask("POST", "/v1/jobs", body, headers={"Idempotency-Key": "two"})

    assert first.status_code == 202
    assert (refused.status_code, refused.json()["code"]) == (429, "queue_full")
    assert int(refused.headers["retry-after"]) >= 1
    assert "'default' is full" in refused.json()["detail"]
    assert (keyed.status_code, keyed.json()["code"]) == (429, "queue_full")
    assert again.json()["id"] == first.json()["id"]
    assert later.status_code == 202


async def test_items_of_a_batch_are_refused_one_by_one(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.app.backend.steer(QueueRef("default"), Limit(max_length=2))
        items = [{"task": "cube", "args": [n], "idempotency_key": f"k{n}"} if n % 2 else {"task": "cube", "args": [n]}
                 for n in range(5)]  # fmt: skip
        answer = await here.ask("POST", "/v1/jobs/batch", items)

    found = answer.json() if isinstance(answer.json(), list) else answer.json()["items"]
    assert [each["status"] for each in found].count(202) == 2
    assert {each["error"]["code"] for each in found if each["status"] != 202} == {"queue_full"}
