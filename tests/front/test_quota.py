"""How many jobs of a key may wait in a queue: at the limit, one above it, one by one, at once, and in a batch."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.support.door import MASTER, Place, bearer, place
from tests.support.workplace import Faulty

BODY = {"task": "cube", "args": {"a": 1}}


async def waiting(here: Place) -> int:
    found = await here.ask("GET", "/v1/jobs?count=capped&fields=id", headers=bearer(MASTER))
    return int(found.json()["count"])


def is_full(answer: Any) -> None:
    assert (answer.status_code, answer.json()["code"]) == (429, "queue_full")
    assert answer.headers["retry-after"] == "1"


async def test_jobs_of_others_count_and_other_queues_do_not(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", depth=1)
        await here.ask("POST", "/v1/jobs", BODY, headers=bearer(MASTER))

        is_full(await here.ask("POST", "/v1/jobs", BODY, headers=holder))
        free = await here.ask("POST", "/v1/jobs", {**BODY, "queue": "elsewhere"}, headers=holder)
        assert free.status_code == 202


async def test_one_after_the_other_fills_a_queue_to_the_limit_and_not_above(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", depth=3)
        answers = [await here.ask("POST", "/v1/jobs", BODY, headers=holder) for _ in range(5)]

        assert [answer.status_code for answer in answers] == [202] * 3 + [429] * 2
        is_full(answers[3])


async def test_a_burst_fills_a_queue_to_the_limit_and_not_above(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", depth=5)
        burst = [here.ask("POST", "/v1/jobs", BODY, headers=holder) for _ in range(30)]
        answers = await asyncio.gather(*burst)

        assert sorted(answer.status_code for answer in answers) == [202] * 5 + [429] * 25
        assert await waiting(here) == 5


async def test_a_batch_fills_a_queue_to_the_limit_and_not_above(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", depth=5)
        items = [
            *[BODY] * 8,
            {**BODY, "queue": "elsewhere"},
            *({**BODY, "idempotency_key": f"k{n}"} for n in "ab"),
        ]
        found = (await here.ask("POST", "/v1/jobs/batch", items, headers=holder)).json()["items"]

        assert [each["status"] for each in found] == [202] * 5 + [429] * 3 + [202] + [429] * 2
        assert {each["error"]["code"] for each in found if each["status"] == 429} == {"queue_full"}
        assert await waiting(here) == 6


async def test_a_full_queue_still_answers_for_what_it_has_taken(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", depth=1)
        first = await here.ask("POST", "/v1/jobs", BODY, headers={**holder, "idempotency-key": "k"})
        again = await here.ask("POST", "/v1/jobs", BODY, headers={**holder, "idempotency-key": "k"})
        item = {**BODY, "idempotency_key": "i"}
        is_full(await here.ask("POST", "/v1/jobs", BODY, headers={**holder, "idempotency-key": "other"}))
        several = (await here.ask("POST", "/v1/jobs/batch", [item], headers=holder)).json()["items"]

        assert again.json()["id"] == first.json()["id"] and again.headers["idempotent-replayed"] == "true"
        assert several[0]["status"] == 429


async def test_what_was_not_stored_takes_no_room(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", depth=2)
        unique = {**BODY, "unique": {"key": "u"}}
        for _ in range(4):
            assert (await here.ask("POST", "/v1/jobs", unique, headers=holder)).status_code in (200, 202)
        batch = (await here.ask("POST", "/v1/jobs/batch", [unique, unique], headers=holder)).json()["items"]
        assert [each["status"] for each in batch] == [200, 429]
        assert (await here.ask("POST", "/v1/jobs", BODY, headers=holder)).status_code == 202
        is_full(await here.ask("POST", "/v1/jobs", BODY, headers=holder))


async def test_a_job_is_not_moved_into_a_full_queue(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", "jobs:manage", "jobs:read", depth=2)
        for _ in range(2):
            await here.ask("POST", "/v1/jobs", {**BODY, "queue": "full"}, headers=bearer(MASTER))
        id = (await here.ask("POST", "/v1/jobs", BODY, headers=holder)).json()["id"]
        is_full(await here.ask("PATCH", f"/v1/jobs/{id}", {"queue": "full", "priority": 3}, headers=holder))
        moved = {"action": "move", "ids": [id], "params": {"queue": "full"}}
        is_full(await here.ask("POST", "/v1/operations", moved, headers=holder))
        found = (await here.ask("GET", f"/v1/jobs/{id}", headers=holder)).json()

        assert (found["queue"], found["priority"]) == ("default", 0), "nothing was changed at all"
        stays = await here.ask("PATCH", f"/v1/jobs/{id}", {"args": {"a": 2}}, headers=holder)
        assert stays.status_code == 200


async def test_a_count_that_fails_forgets_nothing(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:enqueue", depth=1)
        faulty = Faulty(here.app.backend)
        here.front.desk.link.backend = faulty
        assert (await here.ask("POST", "/v1/jobs", BODY, headers=holder)).status_code == 202
        here.front.desk.intake._until = 0.0  # the count is a second old
        faulty.fail("counts", "unavailable")

        assert (await here.ask("POST", "/v1/jobs", BODY, headers=holder)).status_code == 503
        is_full(await here.ask("POST", "/v1/jobs", BODY, headers=holder))
