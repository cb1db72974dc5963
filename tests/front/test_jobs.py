"""Enqueue a job, read it, its result and its story, over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.door import place


async def test_a_job_is_accepted_with_where_to_look_for_it(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask(
            "POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}, "correlation_id": "req-5"}
        )

        job = answer.json()
        assert answer.status_code == 202
        assert answer.headers["location"] == f"/v1/jobs/{job['id']}" == job["links"]["self"]
        assert int(answer.headers["retry-after"]) == 1
        assert (job["task"], job["queue"], job["state"], job["final"]) == ("cube", "default", "queued", False)
        assert job["correlation_id"] == "req-5"


async def test_what_was_accepted_is_what_is_stored(short_tmp: Path) -> None:
    wanted = {
        "task": "cube", "args": {"a": 3}, "queue": "other", "priority": 3, "delay": 60, "timeout": 2.5, "attempts": 7,
        "crashes": 2, "retry": {"base": 2, "cap": 9}, "unique": {"key": "u"}, "keep": 5, "tags": ["a", "b"],
        "deadline_at": "2100-01-01T00:00:00Z", "expires_at": "2099-01-01T00:00:00+01:00",
    }  # fmt: skip
    async with place(short_tmp) as here:
        accepted = (await here.ask("POST", "/v1/jobs", wanted)).json()
        stored = await here.job(accepted["id"], include="")

        differ = {name for name in accepted if accepted[name] != stored[name]}
        assert differ <= {"created_at", "run_at"}, "only the clock of the store may say otherwise"
        assert accepted["state"] == "scheduled"
        assert stored["expires_at"] == "2098-12-31T23:00:00.000Z"
        assert (stored["max_attempts"], stored["timeout"], stored["tags"]) == (7, 2.5, ["a", "b"])


async def test_the_same_body_comes_at_once_and_after_a_wait(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        answer = await here.ask(
            "POST", "/v1/jobs", {"task": "cube", "args": [3]}, headers={"prefer": "wait=10"}
        )

        assert answer.status_code == 200
        assert answer.headers["preference-applied"] == "wait=10"
        job = answer.json()
        assert (job["state"], job["result"], job["args"]) == ("succeeded", 27, {"a": 3})
        assert job == await here.job(job["id"])


async def test_a_failed_job_is_a_successful_request(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        answer = await here.ask("POST", "/v1/jobs?wait=10", {"task": "fail", "args": {"why": "tired"}})

        error = answer.json()["error"]
        assert (answer.status_code, answer.json()["state"]) == (200, "failed")
        assert (error["type"], error["message"], error["attempt"]) == ("ValueError", "tired", 1)
        assert error["fingerprint"]


async def test_large_integers_survive(short_tmp: Path) -> None:
    huge = 2**200 + 1
    async with place(short_tmp, worker=True) as here:
        answer = await here.ask("POST", "/v1/call/echo", {"value": [huge, -huge]})
        assert answer.json() == [huge, -huge]

        id = await here.enqueue("cube", {"a": huge})
        assert (await here.ended(id))["result"] == huge**3
        assert (await here.ask("GET", f"/v1/jobs/{id}/result")).text == str(huge**3)


async def test_the_text_of_arguments_is_kept_as_it_came(short_tmp: Path) -> None:
    text = '{"task": "echo", "args": {"value": {"b": 1.50, "a": 1e3, "ü": "\\u00fc"}}, "delay": 60}'
    async with place(short_tmp) as here:
        answer = await here.ask(
            "POST", "/v1/jobs", content=text, headers={"content-type": "application/json"}
        )
        found = await here.ask("GET", f"/v1/jobs/{answer.json()['id']}")

        assert '"args":{"value":{"b":1.50,"a":1e3,"ü":"\\u00fc"}}' in found.text.replace('ü": "', 'ü":"')


async def test_what_is_large_comes_only_if_asked_for(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("nap", {"seconds": 0})
        big = await here.enqueue("echo", {"value": "x" * 100_000}, keep=60)
        await here.ended(id)
        await here.ended(big)

        assert {"args", "result"} <= (await here.job(id)).keys()
        assert not {"args", "result", "attempts"} & (await here.job(big)).keys()
        everything = await here.job(big, include="args,result,attempts")
        assert everything["args"]["value"] == everything["result"] == "x" * 100_000
        assert everything["attempts"][0]["outcome"] == "succeeded"
        assert not {"args", "result"} & (await here.job(id, include="")).keys()


async def test_unknown_tasks_are_refused_unless_the_job_is_to_be_parked(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        refused = await here.ask("POST", "/v1/jobs", {"task": "nobody_knows"})
        wanted = {"task": "nobody_knows", "args": {"a": 2}, "park": True}
        parked = await here.ask("POST", "/v1/jobs", wanted)
        by_place = await here.ask("POST", "/v1/jobs", {**wanted, "args": [2]})

        assert (refused.status_code, refused.json()["code"]) == (404, "task_unknown")
        assert parked.status_code == 202
        assert (await here.job(parked.json()["id"]))["args"] == {"a": 2}
        assert by_place.status_code == 422, "nobody knows what its parameters are called"


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"args": {"a": "x"}}, "invalid_args", "/args/a"),
        ({"args": {"a": 1, "b": 2}}, "invalid_args", "/args/b"),
        ({"args": {}}, "invalid_args", "/args/a"),
        ({"args": [1, 2]}, "invalid_args", "/args/1"),
        ({"args": 3}, "invalid_args", "/args"),
        ({"args": "a"}, "invalid_args", "/args"),
        ({"args": None}, "invalid_args", "/args"),
        ({"prioritty": 1}, "unknown_field", "/prioritty"),
        ({"priority": 10}, "invalid_value", "/priority"),
        ({"priority": "high"}, "invalid_value", "/priority"),
        ({"priority": 1.5}, "invalid_value", "/priority"),
        ({"queue": "a b"}, "invalid_value", "/queue"),
        ({"delay": -1}, "invalid_value", "/delay"),
        ({"delay": 1, "run_at": "2099-01-01T00:00:00Z"}, "invalid_value", "/run_at"),
        ({"run_at": "2099-01-01T00:00:00"}, "invalid_value", "/run_at"),
        ({"run_at": "tomorrow"}, "invalid_value", "/run_at"),
        ({"expires_at": "2001-01-01T00:00:00"}, "invalid_value", "/expires_at"),
        ({"retry": {"base": -1}}, "invalid_value", "/retry/base"),
        ({"retry": {"bace": 1}}, "unknown_field", "/retry/bace"),
        ({"unique": {"key": ""}}, "invalid_value", "/unique/key"),
        ({"unique": 5}, "invalid_value", "/unique"),
        ({"unique": ""}, "invalid_value", "/unique"),
        ({"unique": {"key": "k", "within": 0}}, "invalid_value", "/unique/within"),
        ({"unique": {"key": "k", "within": 5, "while": "live"}}, "invalid_value", "/unique/within"),
        ({"unique": {"key": "k", "on_conflict": "merge"}}, "invalid_value", "/unique/argument"),
        ({"unique": {"by": "b"}}, "invalid_value", "/unique"),
        ({"tags": ["x"] * 17}, "invalid_value", "/tags"),
        ({"tags": ["\x00"]}, "invalid_value", "/tags"),
        ({"correlation_id": "a\nb"}, "invalid_value", "/correlation_id"),
        ({"attempts": 0}, "invalid_value", "/attempts"),
        ({"task": 5}, "invalid_value", "/task"),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_named_by_a_pointer(
    short_tmp: Path, change: dict[str, object], code: str, pointer: str
) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 1}, **change})

        problem = answer.json()
        assert answer.status_code == 422, answer.text
        assert (problem["code"], problem["errors"][0]["pointer"]) == (code, pointer)
        assert (await here.ask("GET", "/v1/jobs")).json()["items"] == []


async def test_a_live_job_with_the_unique_key_stands_for_another(short_tmp: Path) -> None:
    wanted = {"task": "cube", "args": {"a": 3}, "delay": 60, "unique": {"key": "k"}}
    async with place(short_tmp) as here:
        first = await here.ask("POST", "/v1/jobs", wanted)
        second = await here.ask("POST", "/v1/jobs", wanted)
        third = await here.ask(
            "POST", "/v1/jobs", {**wanted, "unique": {"key": "k", "on_conflict": "reject"}}
        )

        assert (first.status_code, second.status_code, third.status_code) == (202, 200, 409)
        assert second.headers["unique-conflict"] == "existing"
        assert first.json()["id"] == second.json()["id"] == third.json()["job_id"]
        assert third.json()["code"] == "unique_conflict"


async def test_a_result_is_there_gone_or_yet_to_come(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", {"a": 3})
        early = await here.ask("GET", f"/v1/jobs/{id}/result")
        assert (early.status_code, early.json()["code"], early.json()["job_id"]) == (409, "not_finished", id)

        await here.hire()
        result = await here.ask("GET", f"/v1/jobs/{id}/result?wait=10")
        assert (result.status_code, result.text) == (200, "27")
        assert result.headers["content-type"] == "application/json"

        failed = await here.enqueue("fail")
        none = await here.ask("GET", f"/v1/jobs/{failed}/result?wait=10")
        assert (none.status_code, none.json()["code"]) == (409, "no_result")
        assert none.json()["error"]["type"] == "ValueError"


@pytest.mark.parametrize("id", ["nonsense", "01a22c52-24f3-77d5-802a-6309c183da88", "%00", "a" * 500])
async def test_a_job_that_is_not_there_is_404_everywhere(short_tmp: Path, id: str) -> None:
    async with place(short_tmp) as here:
        asked = [("GET", ""), ("GET", "/result"), ("GET", "/explain"), ("DELETE", "")]
        asked += [("POST", f"/{verb}") for verb in ("cancel", "retry", "run", "discard", "copy")]
        for method, rest in asked:
            answer = await here.ask(method, f"/v1/jobs/{id}{rest}")
            assert (answer.status_code, answer.json()["code"]) == (404, "job_not_found"), (method, rest)


async def test_explain_says_why_a_job_does_not_run(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", {"a": 3})
        said = (await here.ask("GET", f"/v1/jobs/{id}/explain")).json()

        assert said["id"] == id
        assert "no worker is live" in said["explain"]
        assert [reason["code"] for reason in said["reasons"]] == ["queued", "no_worker"]
        assert "; ".join(reason["text"] for reason in said["reasons"]) == said["explain"]
        assert said["reasons"][0]["fields"]["queue"] == "default"


async def test_many_clients_at_once_each_get_their_own_answer(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        calls = [here.ask("POST", "/v1/jobs?wait=20", {"task": "cube", "args": {"a": n}}) for n in range(100)]
        answers = await asyncio.gather(*calls)

        assert [answer.json()["result"] for answer in answers] == [n**3 for n in range(100)]


async def test_times_are_shown_to_the_millisecond_in_utc(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        body = {"task": "cube", "args": {"a": 1}, "run_at": "2099-06-01T12:00:00.123456+02:00"}
        job = (await here.ask("POST", "/v1/jobs", body)).json()

        assert job["run_at"] == "2099-06-01T10:00:00.123Z"
        assert job["state"] == "scheduled"
