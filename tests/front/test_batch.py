"""Many jobs in one request: each item for itself, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noria.front import limits
from tests.support.door import Place, place
from tests.support.workplace import Faulty


async def batch(here: Place, items: list[Any]) -> list[Any]:
    answer = await here.ask("POST", "/v1/jobs/batch", items)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()["items"]
    assert [each["index"] for each in found] == list(range(len(items)))
    return found


async def test_each_item_is_answered_in_order_and_a_bad_one_spoils_no_other(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        found = await batch(
            here,
            [
                {"task": "cube", "args": [2]},
                {"task": "cube", "args": ["x"]},
                {"task": "nobody_knows"},
                "nonsense",
                {"task": "cube", "args": [3], "prioritty": 1},
                {"task": "cube", "args": [4]},
            ],
        )

        assert [each["status"] for each in found] == [202, 422, 404, 422, 422, 202]
        assert found[1]["error"]["errors"][0]["pointer"] == "/args/a"
        assert [each["error"]["code"] for each in found[2:5]] == [
            "task_unknown",
            "invalid_value",
            "unknown_field",
        ]
        assert [(await here.ended(found[place]["job_id"]))["result"] for place in (0, 5)] == [8, 64]


async def test_lines_are_taken_too(short_tmp: Path) -> None:
    lines = b'{"task": "cube", "args": [1]}\n\n{"task": "cube", "args": [2]}\r\n{"task":\n'
    async with place(short_tmp) as here:
        answer = await here.ask(
            "POST", "/v1/jobs/batch", content=lines, headers={"content-type": "application/x-ndjson"}
        )

        assert [each["status"] for each in answer.json()["items"]] == [202, 202, 400]


async def test_a_batch_of_a_thousand_is_taken_and_one_more_is_not(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        items = [{"task": "cube", "args": [number]} for number in range(limits.BATCH)]
        assert {each["status"] for each in await batch(here, items)} == {202}
        refused = await here.ask("POST", "/v1/jobs/batch", [*items, items[0]])
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        assert (await here.ask("GET", "/v1/jobs?count=capped")).json()["count"] == limits.BATCH


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{}", "invalid_value"),
        (b"[", "bad_json"),
        (b"x" * (limits.BATCH_BODY + 1), "too_large"),
        (b"5", "invalid_value"),
    ],
    ids=["object", "open", "large", "number"],
)
async def test_only_an_envelope_that_is_none_is_refused_as_a_whole(
    short_tmp: Path, body: bytes, code: str
) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask(
            "POST", "/v1/jobs/batch", content=body, headers={"content-type": "application/json"}
        )

        assert (answer.status_code >= 400, answer.json()["code"]) == (True, code)


async def test_an_empty_batch_is_fine(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        assert await batch(here, []) == []


async def test_items_carry_their_own_idempotency_keys(short_tmp: Path) -> None:
    items = [{"task": "cube", "args": [n], "idempotency_key": f"k{n}"} for n in range(5)]
    async with place(short_tmp) as here:
        first = await batch(here, items[:3])
        again = await batch(here, [*items, {**items[0], "args": [9]}, {"task": "cube", "args": [7]}])

        assert [each["job_id"] for each in again[:3]] == [each["job_id"] for each in first]
        assert [each.get("replayed", False) for each in again[:5]] == [True, True, True, False, False]
        assert (again[5]["status"], again[5]["error"]["code"]) == (422, "idempotency_mismatch")
        assert again[6]["status"] == 202
        assert (await here.ask("GET", "/v1/jobs?count=capped")).json()["count"] == 6


async def test_one_key_twice_in_a_batch_is_one_job(short_tmp: Path) -> None:
    item = {"task": "cube", "args": [1], "idempotency_key": "k"}
    async with place(short_tmp) as here:
        found = await batch(here, [item, item])

        assert found[0]["job_id"] == found[1]["job_id"]
        assert found[1]["replayed"] is True


async def test_unique_keys_work_across_items_and_with_idempotency_keys(short_tmp: Path) -> None:
    unique = {"task": "cube", "args": [1], "delay": 60, "unique": {"key": "u"}}
    async with place(short_tmp) as here:
        found = await batch(
            here,
            [
                unique,
                unique,
                {**unique, "unique": {"key": "u", "on_conflict": "reject"}},
                {**unique, "idempotency_key": "k"},
                {**unique, "unique": {"key": "u", "on_conflict": "reject"}, "idempotency_key": "r"},
            ],
        )
        again = await batch(here, [{**unique, "idempotency_key": "k"}])

        id = found[0]["job_id"]
        assert [each["status"] for each in found] == [202, 200, 409, 200, 409]
        assert found[1]["job_id"] == found[3]["job_id"] == again[0]["job_id"] == id
        assert found[2]["error"]["job_id"] == id
        assert again[0]["replayed"] is True


async def test_a_backend_that_is_away_is_told_for_each_item(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        faulty = Faulty(here.app.backend)
        here.front.desk.link.backend = faulty
        faulty.fail("push", "unknown", "unknown")
        found = await batch(
            here, [{"task": "cube", "args": [1]}, {"task": "cube", "args": [2], "idempotency_key": "k"}]
        )

        assert [each["status"] for each in found] == [503, 503]
        assert [each["error"]["retry_safe"] for each in found] == [False, True]


async def test_the_whole_request_stays_small_in_the_answer(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/jobs/batch", [{"task": "echo", "args": {"value": "secret"}}])

        assert "secret" not in json.dumps(answer.json())
