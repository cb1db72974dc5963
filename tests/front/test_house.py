"""Queues, dead letters, workers and numbers over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from noria.front import limits
from noria.front.principal import SCOPES
from tests.support.door import MASTER, Place, bearer, place


async def get(here: Place, path: str, **params: Any) -> Any:
    answer = await here.ask("GET", path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_queues_are_shown_in_numbers(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.enqueue("cube", [1])
        await here.enqueue("cube", [2], delay=60)
        await here.enqueue("echo", {"value": 1})
        queues = (await get(here, "/v1/queues"))["items"]

        assert [queue["name"] for queue in queues] == ["default", "other"]
        assert queues[0]["counts"] == {"scheduled": 1, "queued": 1}
        assert (queues[0]["consumers"], queues[0]["paused"]) == (0, None)
        assert queues[0]["oldest_ready_seconds"] >= 0
        assert (await get(here, "/v1/queues/other"))["counts"] == queues[1]["counts"] == {"queued": 1}


async def test_a_paused_queue_begins_nothing_until_it_is_resumed(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        for _ in range(2):
            answer = await here.ask("POST", "/v1/queues/default/pause", {"reason": "deploy"})
            assert answer.json()["paused"]["reason"] == "deploy"
            assert answer.json()["paused"]["by"] == "open"
        id = await here.enqueue("cube", [3])
        assert (await here.job(id, wait=0.3))["state"] == "queued"
        assert "paused" in (await get(here, f"/v1/jobs/{id}/explain"))["explain"]

        resumed = await here.ask("POST", "/v1/queues/default/resume")
        assert (resumed.status_code, resumed.json()["paused"]) == (200, None)
        assert (await here.ended(id))["result"] == 27


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({"until": "2099-01-01T00:00:00"}, "/until"), ({"reason": "\x00"}, "/reason"), ({"why": "x"}, "/why")],
)
async def test_a_pause_that_makes_no_sense_is_refused(short_tmp: Path, body: Any, pointer: str) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/queues/default/pause", body)

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_queues_that_are_not_there(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        missing = await here.ask("GET", "/v1/queues/nowhere")
        ensured = await here.ask("PUT", "/v1/queues/nowhere")
        hostile = await here.ask("POST", "/v1/queues/%20/pause")

        assert (missing.status_code, missing.json()["code"]) == (404, "queue_unknown")
        assert (ensured.status_code, ensured.json()["counts"]) == (200, {})
        assert (hostile.status_code, hostile.json()["code"]) == (404, "queue_unknown")


async def test_dead_letters_are_listed_and_grouped_by_fault(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        ids = [await here.enqueue("fail", {"why": f"no answer from peer {number}"}) for number in range(3)]
        ids.append(await here.enqueue("refuse"))
        for id in ids:
            await here.ended(id)
        await here.ask("POST", f"/v1/jobs/{ids[0]}/discard")

        listed = await get(here, "/v1/dead", limit=2)
        rest = await get(here, "/v1/dead", limit=2, cursor=listed["next"])
        assert [job["id"] for page in (listed, rest) for job in page["items"]] == ids[:0:-1]

        groups = (await get(here, "/v1/dead", group="fingerprint"))["items"]
        assert [(group["count"], group["task"], group["type"]) for group in groups] == [
            (2, "fail", "ValueError"),
            (1, "refuse", "LookupError"),
        ]
        assert groups[0]["sample_job_id"] == ids[2]
        assert (await get(here, "/v1/dead", group="fingerprint", task="refuse"))["items"] == groups[1:]
        assert (await get(here, "/v1/dead", fingerprint=groups[1]["fingerprint"]))["items"][0]["id"] == ids[3]
        assert (await here.ask("GET", "/v1/dead?group=task")).json()["code"] == "bad_filter"


async def test_workers_are_shown_with_what_they_do(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        assert (await get(here, "/v1/workers"))["items"] == []
        await here.hire(name="w7", concurrency=5, threads=2)
        [worker] = (await get(here, "/v1/workers"))["items"]

        assert (worker["name"], worker["state"], worker["jobs"]) == ("w7", "active", [])
        assert worker["slots"]["async"] == {"busy": 0, "size": 5}
        assert worker["queues"] == ["default", "other"]
        assert "cube" in worker["tasks"]
        assert (await get(here, f"/v1/workers/{worker['id']}"))["pid"] == worker["pid"]
        for path in ("/v1/workers/0", "/v1/workers/" + "x" * 500):
            missing = await here.ask("GET", path)
            assert (missing.status_code, missing.json()["code"]) == (404, "worker_unknown")


async def test_a_worker_is_told_to_be_quiet_and_to_go_on_and_to_stop(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.hire(beat=0.05)
        [worker] = (await get(here, "/v1/workers"))["items"]

        async def told(verb: str, state: str) -> None:
            for _ in range(2):
                answer = await here.ask("POST", f"/v1/workers/{worker['id']}/{verb}")
                assert answer.status_code == 200, answer.text
            async with asyncio.timeout(10):
                while (await get(here, f"/v1/workers/{worker['id']}"))["state"] != state:
                    await asyncio.sleep(0.02)

        await told("quiet", "quiet")
        id = await here.enqueue("cube", [3])
        assert (await here.job(id, wait=0.3))["state"] == "queued"
        await told("resume", "active")
        assert (await here.ended(id))["result"] == 27
        await here.ask("POST", f"/v1/workers/{worker['id']}/stop")
        async with asyncio.timeout(10):
            while (await get(here, "/v1/workers"))["items"]:
                await asyncio.sleep(0.02)
        assert (await here.ask("POST", f"/v1/workers/{worker['id']}/stop")).status_code == 404


async def test_the_whole_in_numbers(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.enqueue("cube", [1])
        found = await get(here, "/v1/stats")
        assert (found["totals"]["queued"], found["dead"], found["workers"]) == (1, 0, 0)
        here.front.desk.intake._counts = None
        flat = await get(here, "/v1/stats", flat="true")
        assert flat["totals.queued"] == flat["queues.default.queued"] == 1
        assert all(isinstance(number, int | float) for number in flat.values())


async def test_what_came_and_went_is_told_in_all_and_by_time(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        for task in ("cube", "cube", "fail"):
            await here.ended(await here.enqueue(task, [1] if task == "cube" else None))
        found = await get(here, "/v1/stats")
        points = (await get(here, "/v1/stats/series"))["items"]
        queue = await get(here, "/v1/queues/default")
        task = await get(here, "/v1/tasks/fail")

        assert (found["since_start"]["arrived"], found["since_start"]["succeeded"]) == (3, 2)
        told = {point["task"]: (point["succeeded"], point["failed"]) for point in points}
        assert told == {"cube": (2, 0), "fail": (0, 1)}
        assert queue["in_rate"] > 0 and queue["out_rate"] > 0 and queue["seconds_to_empty"] == 0
        assert task["failed_1h"] == 1
        assert (await get(here, "/v1/stats/series", since="1m", step=3600))["step"] == 3600
        for params in ({"since": "soon"}, {"step": 0}, {"since": "10d"}, {"step": "x"}):
            refused = await here.ask("GET", "/v1/stats/series", params=params)
            assert (refused.status_code, refused.json()["code"]) == (400, "bad_filter"), params
        for step in (0, 5, 90, 86_460):
            refused = await here.ask("GET", "/v1/stats/series", params={"step": step})
            assert refused.status_code == 400 and refused.json()["detail"].startswith("step is "), step


async def test_numbers_are_told_by_task(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        for task in ("cube", "cube", "fail"):
            await here.ended(await here.enqueue(task, [1] if task == "cube" else None))
        tasks = {each["name"]: each for each in (await get(here, "/v1/stats"))["tasks"]}
        flat = await get(here, "/v1/stats", flat="true")

        assert (tasks["cube"]["arrived"], tasks["cube"]["succeeded"], tasks["fail"]["failed"]) == (2, 2, 1)
        assert (flat["tasks.cube.succeeded"], flat["tasks.fail.failed"]) == (2, 1)


async def test_made_up_names_do_not_make_the_numbers_longer(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "NAMES", 3)
    async with place(short_tmp) as here:
        jobs = [{"task": "cube", "args": [1], "queue": "real"}] * 3
        for number in range(40):
            jobs.append({"task": f"t{number}", "queue": f"q.{number}", "park": True})
        jobs.append({"task": "other", "queue": "other", "park": True})
        for name in ("*other", "a b", "x" * 300, "\n", "ä", "a/b", 'a"b', "{}"):
            jobs.append({"task": "cube", "args": [1], "queue": name})
        answers = (await here.ask("POST", "/v1/jobs/batch", jobs)).json()["items"]
        assert [each["status"] for each in answers] == [202] * 44 + [422] * 8
        found = await get(here, "/v1/stats")
        flat = await get(here, "/v1/stats", flat="true")
        points = (await get(here, "/v1/stats/series"))["items"]

        names = [queue["name"] for queue in found["queues"]]
        assert (len(names), names[-1], "real" in names) == (4, "*other", True)
        assert sum(sum(queue["counts"].values()) for queue in found["queues"]) == 44
        assert found["totals"]["queued"] == 44
        assert sum(task["arrived"] for task in found["tasks"]) == found["since_start"]["arrived"] == 44
        assert [task["name"] for task in found["tasks"]][-1] == "*other" and len(found["tasks"]) == 4
        assert len({(point["queue"], point["task"]) for point in points}) == 4
        assert sum(point["arrived"] for point in points) == 44
        assert len(flat) < 80 and flat["queues.*other.queued"] == 39


async def test_a_tenant_sees_its_own_part_of_the_house(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        await here.hire()
        scopes = [scope for scope in SCOPES if scope != "admin"]
        theirs = await here.key(*scopes, queues=["other"], tasks=["echo"])
        await here.ask("POST", "/v1/queues/default/pause", headers=bearer(MASTER))
        await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1]}, headers=bearer(MASTER))

        for path in (
            "/v1/queues",
            "/v1/workers",
            "/v1/stats",
            "/v1/stats?flat=true",
            "/v1/dead",
            "/v1/stats/series",
        ):
            answer = await here.ask("GET", path, headers=theirs)
            assert answer.status_code == 200
            assert "default" not in answer.text and "cube" not in answer.text, path
        assert (await here.ask("GET", "/v1/queues/default", headers=theirs)).status_code == 404
        for verb in ("pause", "resume"):
            refused = await here.ask("POST", f"/v1/queues/default/{verb}", headers=theirs)
            assert (refused.status_code, refused.json()["code"]) == (403, "queue_not_allowed")
