"""A client may choose the id of a job: the same id is the same job, and tells nobody of the jobs of others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.door import MASTER, bearer, place

ID = "01a22c52-24f3-77d5-802a-6309c183da88"
BODY = {"task": "cube", "args": {"a": 3}, "id": ID}


async def test_the_same_id_twice_is_one_job(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        first = await here.ask("POST", "/v1/jobs", BODY)
        again = await here.ask("POST", "/v1/jobs", {**BODY, "args": [3], "priority": 5})

        assert [each.status_code for each in (first, again)] == [202, 202]
        assert [each.json()["id"] for each in (first, again)] == [ID, ID]
        assert "idempotent-replayed" not in first.headers
        assert again.headers["idempotent-replayed"] == "true"
        assert len((await here.ask("GET", "/v1/jobs")).json()["items"]) == 1


async def test_a_repeat_after_its_end_is_answered_with_its_result(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        await here.ask("POST", "/v1/jobs", BODY)
        await here.ended(ID)
        again = await here.ask("POST", "/v1/jobs?wait=5", BODY)

        assert (again.status_code, again.json()["result"]) == (200, 27)


@pytest.mark.parametrize("other", [{"args": {"a": 4}}, {"task": "nap", "args": {"seconds": 3}}])
async def test_another_job_with_the_id_is_a_conflict(short_tmp: Path, other: dict[str, object]) -> None:
    async with place(short_tmp) as here:
        await here.ask("POST", "/v1/jobs", BODY)
        refused = await here.ask("POST", "/v1/jobs", {**BODY, **other}, headers={"idempotency-key": "k"})

        assert (refused.status_code, refused.json()["code"]) == (409, "id_conflict")
        assert refused.json()["job_id"] == ID
        # What was refused has not used up its key.
        free = {"task": "cube", "args": {"a": 4}}
        assert (await here.ask("POST", "/v1/jobs", free, headers={"idempotency-key": "k"})).status_code == 202


async def test_a_key_and_an_id_in_one_request_are_repeated_together(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        keyed = {"idempotency-key": "k"}
        first = await here.ask("POST", "/v1/jobs", BODY, headers=keyed)
        again = await here.ask("POST", "/v1/jobs", BODY, headers=keyed)
        other = await here.ask("POST", "/v1/jobs", {**BODY, "args": {"a": 4}}, headers=keyed)

        assert [each.json().get("id") for each in (first, again)] == [ID, ID]
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
        await here.ended(ID)
        assert (await here.ask("DELETE", f"/v1/jobs/{ID}")).status_code == 204
        gone = await here.ask("POST", "/v1/jobs", BODY, headers=keyed)
        assert (gone.status_code, gone.json()["code"]) == (410, "result_expired")


async def test_what_a_unique_key_has_stand_for_a_chosen_id_is_told_again(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        live = await here.enqueue("cube", {"a": 3}, unique={"key": "u"}, delay=60)
        wanted = {**BODY, "unique": {"key": "u"}}
        for _ in range(2):
            answer = await here.ask("POST", "/v1/jobs", wanted, headers={"idempotency-key": "k"})
            assert answer.json()["id"] == live


async def test_twenty_clients_with_one_id_at_once_get_one_job(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        answers = await asyncio.gather(*(here.ask("POST", "/v1/jobs", BODY) for _ in range(20)))

        assert {(each.status_code, each.json()["id"]) for each in answers} == {(202, ID)}
        assert sum("idempotent-replayed" not in each.headers for each in answers) == 1


@pytest.mark.parametrize(
    ("scopes", "limits"),
    [
        (["jobs:enqueue"], {}),
        (["jobs:enqueue", "jobs:read"], {"tasks": ["cube"]}),
        (["jobs:enqueue", "jobs:read"], {"queues": ["default"]}),
        (["jobs:enqueue", "jobs:read", "jobs:manage"], {"queues": ["elsewhere"]}),
    ],
)
async def test_who_may_not_read_every_job_learns_of_no_id(
    short_tmp: Path, scopes: list[str], limits: dict[str, list[str]]
) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key(*scopes, **limits)
        missing = await here.ask("POST", "/v1/jobs", BODY, headers=holder)
        assert (await here.ask("POST", "/v1/jobs", BODY, headers=bearer(MASTER))).status_code == 202
        there = await here.ask("POST", "/v1/jobs", BODY, headers=holder)

        assert (missing.status_code, missing.json()["code"]) == (403, "id_not_allowed")
        assert {**there.json(), "instance": ""} == {**missing.json(), "instance": ""}


async def test_who_may_read_every_job_may_choose_ids(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", "jobs:read")

        assert (await here.ask("POST", "/v1/jobs", BODY, headers=holder)).json()["id"] == ID


async def test_what_is_no_uuid_is_refused_where_it_stands(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        refused = await here.ask("POST", "/v1/jobs", {**BODY, "id": "order-881"})

        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_value")
        assert refused.json()["errors"][0]["pointer"] == "/id"


async def test_items_of_a_batch_take_no_id(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/jobs/batch", [BODY])

        assert answer.json()["items"][0]["error"]["code"] == "unknown_field"
