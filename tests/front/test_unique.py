"""`unique` over HTTP: an object, what the answer says, and who may change the job that has the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.door import MASTER, Place, bearer, place

BODY: dict[str, Any] = {"task": "cube", "args": {"a": 3}, "delay": 60}
KEEP = {"key": "k", "on_conflict": "keep_last", "at_most": 90}


async def said(here: Place, **fields: Any) -> tuple[int, str | None, str]:
    answer = await here.ask("POST", "/v1/jobs", {**BODY, **fields})
    return answer.status_code, answer.headers.get("unique-conflict"), answer.json().get("id", answer.text)


async def test_the_answer_says_what_was_done(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        first = await said(here, unique="k")
        same = await said(here, unique="k")
        last = await said(here, unique=KEEP, args={"a": 4})
        young = await said(here, unique={"key": "k", "on_conflict": "replace"})

        assert (first[:2], same[:2], last[:2], young[:2]) == (
            (202, None), (200, "existing"), (200, "updated"), (202, "replaced"),
        )  # fmt: skip
        assert first[2] == same[2] == last[2] != young[2]
        old = await here.job(first[2])
        assert (old["state"], young[2] in old["error"]["message"]) == ("cancelled", True)


async def test_items_of_a_batch_say_what_was_done(short_tmp: Path) -> None:
    how = ["existing", "return", "reject", "keep_last", "replace"]
    items = [{**BODY, "unique": {"key": "k", "on_conflict": each}} for each in how]
    async with place(short_tmp) as here:
        told = (await here.ask("POST", "/v1/jobs/batch", items)).json()["items"]

        assert [each["status"] for each in told] == [202, 200, 409, 200, 202]
        assert [each.get("enqueued") for each in told] == ["created", "existing", None, "updated", "replaced"]
        assert [each.get("existing", False) for each in told] == [False, True, False, True, False]
        assert told[2]["error"]["code"] == "unique_conflict"


async def test_a_repeated_request_is_answered_with_the_job_that_was_updated(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        _, _, first = await said(here, unique="k")
        for replayed in (None, "true"):
            headers = {"idempotency-key": "i"}
            answer = await here.ask("POST", "/v1/jobs", {**BODY, "unique": KEEP}, headers=headers)
            assert (answer.json()["id"], answer.headers.get("idempotent-replayed")) == (first, replayed)


async def test_a_key_is_made_of_the_arguments(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        one = await said(here, unique={"by": "a", "within": 60})
        same = await said(here, unique={"by": ["a"], "while": "live"})
        other = await said(here, unique={"by": "a"}, args={"a": 4})

        assert (one[0], same[0], other[0]) == (202, 200, 202)
        assert (await here.job(one[2]))["unique_key"] == "3"


@pytest.mark.parametrize("how", ["replace", "keep_last", "merge"])
async def test_who_may_only_enqueue_changes_no_other_job(short_tmp: Path, how: str) -> None:
    unique = {"key": "k", "on_conflict": how, **({"argument": "a"} if how == "merge" else {})}
    async with place(short_tmp, api_key=MASTER) as here:
        for scopes, status in (("jobs:enqueue", "jobs:read"), 403), (("jobs:enqueue", "jobs:manage"), 202):
            holder = await here.key(*scopes)
            answer = await here.ask("POST", "/v1/jobs", {**BODY, "unique": unique}, headers=holder)
            assert answer.status_code == status, answer.text
        refused = {**BODY, "unique": {"key": "k", "on_conflict": "reject"}}
        answer = await here.ask(
            "POST", "/v1/jobs", refused, headers=await here.key("jobs:enqueue", "jobs:read")
        )
        assert (answer.status_code, answer.json()["code"]) == (409, "unique_conflict")


async def test_a_key_of_some_queues_changes_no_job_of_another(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        made = await here.ask("POST", "/v1/jobs", {**BODY, "unique": "k"}, headers=bearer(MASTER))
        theirs = await here.key("jobs:enqueue", "jobs:manage", queues=["other"])
        wanted = {**BODY, "queue": "other", "unique": {"key": "k", "on_conflict": "replace"}}
        answer = await here.ask("POST", "/v1/jobs", wanted, headers=theirs)

        assert (answer.status_code, answer.json()["code"]) == (409, "unique_conflict")
        assert made.json()["id"] not in answer.text
        left = await here.ask("GET", f"/v1/jobs/{made.json()['id']}", headers=bearer(MASTER))
        assert left.json()["state"] == "scheduled"
