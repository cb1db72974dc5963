"""The same request twice is one job."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.door import place

BODY = {"task": "cube", "args": {"a": 3}}


async def test_a_repeat_is_answered_with_the_first_job(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        first = await here.ask("POST", "/v1/jobs", BODY, headers={"idempotency-key": "order-881"})
        again = await here.ask("POST", "/v1/jobs", BODY, headers={"idempotency-key": '"order-881"'})

        assert (first.status_code, again.status_code) == (202, 202)
        assert first.json()["id"] == again.json()["id"]
        assert "idempotent-replayed" not in first.headers
        assert again.headers["idempotent-replayed"] == "true"


async def test_how_a_body_is_spelt_does_not_matter(short_tmp: Path) -> None:
    headers = {"idempotency-key": "k", "content-type": "application/json"}
    async with place(short_tmp) as here:
        first = await here.ask("POST", "/v1/jobs", content=b'{"task":"cube","args":{"a":3}}', headers=headers)
        again = await here.ask(
            "POST", "/v1/jobs", content=b'{ "args": {"a": 3}, "task": "cube" }', headers=headers
        )

        assert first.json()["id"] == again.json()["id"]


async def test_another_request_with_the_key_is_refused(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        first = await here.ask("POST", "/v1/jobs", BODY, headers={"idempotency-key": "k"})
        other = await here.ask(
            "POST", "/v1/jobs", {**BODY, "args": {"a": 4}}, headers={"idempotency-key": "k"}
        )

        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
        assert other.json()["job_id"] == first.json()["id"]


async def test_a_request_that_was_refused_does_not_use_up_its_key(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        headers = {"idempotency-key": "k"}
        assert (await here.ask("POST", "/v1/jobs", {**BODY, "args": {}}, headers=headers)).status_code == 422
        taken = {**BODY, "delay": 60, "unique": {"key": "u", "on_conflict": "reject"}}
        await here.ask("POST", "/v1/jobs", taken)
        assert (await here.ask("POST", "/v1/jobs", taken, headers=headers)).status_code == 409
        assert (await here.ask("POST", "/v1/jobs", BODY, headers=headers)).status_code == 202


async def test_fifty_clients_with_one_key_at_once_get_one_job(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        calls = [
            here.ask("POST", "/v1/jobs?wait=10", BODY, headers={"idempotency-key": "k"}) for _ in range(50)
        ]
        answers = await asyncio.gather(*calls)

        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert {answer.json()["result"] for answer in answers} == {27}
        assert len((await here.ask("GET", "/v1/jobs")).json()["items"]) == 1


async def test_calls_and_copies_take_keys_too(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        headers = {"idempotency-key": "k"}
        first = await here.ask("POST", "/v1/call/cube", {"a": 3}, headers=headers)
        again = await here.ask("POST", "/v1/call/cube", {"a": 3}, headers=headers)
        assert (first.text, again.text) == ("27", "27")
        assert first.headers["noria-job"] == again.headers["noria-job"]

        id = first.headers["noria-job"]
        copies = [await here.ask("POST", f"/v1/jobs/{id}/copy", headers=headers) for _ in range(2)]
        assert [copy.status_code for copy in copies] == [201, 201]
        assert copies[0].json()["id"] == copies[1].json()["id"] != id


async def test_a_key_that_meets_a_unique_job_stands_for_that_one(short_tmp: Path) -> None:
    wanted = {**BODY, "delay": 60, "unique": {"key": "u"}}
    async with place(short_tmp) as here:
        first = await here.ask("POST", "/v1/jobs", wanted)
        for _ in range(2):
            again = await here.ask("POST", "/v1/jobs", wanted, headers={"idempotency-key": "k"})
            assert again.json()["id"] == first.json()["id"]
        assert again.headers["idempotent-replayed"] == "true"


async def test_a_repeat_never_runs_a_job_again_that_is_no_longer_kept(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        headers = {"idempotency-key": "k"}
        await here.ask("POST", "/v1/call/cube", {"a": 1})  # from now on this front listens
        first = await here.ask("POST", "/v1/call/echo", {"value": 5}, headers=headers)
        again = await here.ask("POST", "/v1/call/echo", {"value": 5}, headers=headers)

        assert first.text == "5"
        assert (again.status_code, again.json()["code"]) == (410, "result_expired")
        assert again.json()["job_id"] == first.headers["noria-job"]


async def test_a_front_may_insist_on_a_key(short_tmp: Path) -> None:
    async with place(short_tmp, require_idempotency=True) as here:
        for path, body in (("/v1/jobs", BODY), ("/v1/call/cube", {"a": 3})):
            answer = await here.ask("POST", path, body)
            assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_required")


@pytest.mark.parametrize("key", ["", '""', "x" * 256, "ä", "a\tb"])
async def test_a_key_that_is_none_is_refused(short_tmp: Path, key: str) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/jobs", BODY, headers=[(b"idempotency-key", key.encode())])

        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
