"""Timers over HTTP: made, shown, changed, paused, run, filled in, previewed and deleted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from noria import Noria
from noria.backends.contract import DocWrite
from noria.front.schedule_requests import TimerWanted
from noria.model.schedule import KIND
from tests.support.door import MASTER, Place, bearer, place, shop

HOURLY = {"name": "hourly", "task": "cube", "args": {"a": 3}, "every": "1h"}


def timed(app: Noria) -> None:
    shop(app)
    app.cron("0 0 1 1 *", args=[4], name="preview")(app.find_task("cube"))


async def made(here: Place, **fields: Any) -> Any:
    answer = await here.ask("POST", "/v1/schedules", {**HOURLY, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_timer_that_was_made_is_shown_with_what_it_is_and_when_it_is_due(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/schedules", HOURLY)
        shown = (await here.ask("GET", answer.headers["location"])).json()

    assert shown == answer.json()
    assert {name: shown[name] for name in ("name", "task", "queue", "args", "every", "cron", "source")} == {
        "name": "hourly", "task": "cube", "queue": "default", "args": {"a": 3}, "every": 3600.0, "cron": None,
        "source": "api",
    }  # fmt: skip
    assert (shown["words"], len(shown["next_at"]), shown["paused"]) == ("Every 3600 s", 5, None)
    assert all(slot.endswith(":00:00.000Z") for slot in shown["next_at"])


async def test_a_timer_runs_on_a_worker_though_the_front_has_no_code_of_its_task(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.hire()
        async with place(short_tmp, lambda app: None) as other:
            wrong = await other.ask("POST", "/v1/schedules", {**HOURLY, "args": {"a": "x"}})
            right = await other.ask("POST", "/v1/schedules", {**HOURLY, "every": 0.2})
            assert right.status_code == 201, right.text
            job = None
            async with here.patience():
                while job is None:
                    job = (await other.ask("GET", "/v1/schedules/hourly")).json()["last_job_id"]
            ended = await other.ended(job)

    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_args")
    assert wrong.json()["errors"][0]["pointer"] == "/args/a"
    assert (ended["result"], ended["schedule"]) == (27, "hourly")


async def test_a_timer_is_listed_page_by_page_and_by_name(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for name in ("c", "a", "b"):
            await made(here, name=name)
        first = (await here.ask("GET", "/v1/schedules?limit=2")).json()
        second = (await here.ask("GET", "/v1/schedules", params={"cursor": first["next"]})).json()

    assert [each["name"] for each in first["items"]] == ["a", "b"]
    assert [each["name"] for each in second["items"]] == ["c"]
    assert second["next"] is None


async def test_a_timer_that_a_newer_version_wrote_hides_no_other(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.app.backend.write([DocWrite(KIND, "a", b'{"rule": {"type": "moon"}}')])
        await made(here)
        listed = await here.ask("GET", "/v1/schedules")
        told = await here.app.schedules.list()

    assert [each["name"] for each in listed.json()["items"]] == [each.name for each in told] == ["hourly"]


async def test_a_limited_key_lists_the_timers_of_its_own_tasks_and_queues(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        for name, task, queue in (("a", "cube", "default"), ("b", "echo", "other"), ("c", "cube", "other")):
            body = {"name": name, "task": task, "queue": queue, "every": 60, "args": [1]}
            assert (await here.ask("POST", "/v1/schedules", body, headers=bearer(MASTER))).status_code == 201
        theirs = await here.key("jobs:read", tasks=["cube"], queues=["other"])
        listed = (await here.ask("GET", "/v1/schedules?limit=1", headers=theirs)).json()

    assert [each["name"] for each in listed["items"]] == ["c"]
    assert listed["next"] is None


async def test_making_what_differs_from_what_is_there_is_refused_and_put_changes_it(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await made(here)
        refused = await here.ask("POST", "/v1/schedules", {**HOURLY, "every": "2h"})
        kept = (await here.ask("GET", "/v1/schedules/hourly")).json()["every"]
        wanted = {name: value for name, value in HOURLY.items() if name != "name"}
        changed = await here.ask("PUT", "/v1/schedules/hourly", {**wanted, "every": "2h"})

    assert (refused.status_code, refused.json()["code"]) == (409, "wrong_state")
    assert kept == 3600.0
    assert (changed.status_code, changed.json()["every"]) == (200, 7200.0)


ALL_SAID: dict[str, Any] = {
    "task": "cube", "args": {"a": 3}, "every": 60.0, "overlap": "queue_all", "catch_up": "all", "window": 120.0,
    "jitter": 2.0, "queue": "other", "priority": 4, "expires": 30.0, "deadline": 50.0, "attempts": 7, "crashes": 2,
    "timeout": 9.0, "retry": {"base": 3.0, "cap": 9.0, "factor": 4.0, "jitter": "none"}, "keep": 77.0,
    "tags": ["vip"], "correlation_id": "r5",
}  # fmt: skip
"""Everything that can be said about a timer by a period."""


async def test_what_is_shown_of_a_timer_can_be_put_again_and_nothing_is_lost(short_tmp: Path) -> None:
    words = {name for name in TimerWanted.__struct_fields__ if name not in ("cron", "tz")}
    assert ALL_SAID.keys() == words
    async with place(short_tmp) as here:
        for said in (ALL_SAID, {"task": "cube", "args": {"a": 3}, "every": 60.0}):
            shown = (await here.ask("PUT", "/v1/schedules/t", said)).json()
            assert {name: shown.get(name) for name in said} == said
            before = await here.app.backend.read(KIND, ["t"])
            assert (await here.ask("PUT", "/v1/schedules/t", shown)).status_code == 200
            assert await here.app.backend.read(KIND, ["t"]) == before
            other = await here.ask("PUT", "/v1/schedules/u", shown)
            assert (other.status_code, other.json()["errors"][0]["pointer"]) == (422, "/name")


async def test_a_timer_of_code_is_shown_and_paused_but_not_changed(short_tmp: Path) -> None:
    async with place(short_tmp, timed) as here:
        await here.hire()
        async with here.patience():
            while (shown := await here.ask("GET", "/v1/schedules/preview")).status_code == 404:
                await here.breathe()
        refused = await here.ask("PUT", "/v1/schedules/preview", {"task": "cube", "args": [1], "every": 1})
        paused = await here.ask("POST", "/v1/schedules/preview/pause", {"reason": "audit"})

    assert (shown.json()["source"], shown.json()["args"]) == ("code", {"a": 4})
    assert (refused.status_code, refused.json()["code"]) == (409, "wrong_state")
    assert (paused.json()["paused"]["reason"], paused.json()["next_at"]) == ("audit", [])


async def test_a_pause_says_who_and_why_and_ends_with_resume(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        await here.ask("POST", "/v1/schedules", HOURLY, headers=bearer(MASTER))
        path = "/v1/schedules/hourly"
        paused = await here.ask("POST", f"{path}/pause", {"reason": "stock"}, headers=bearer(MASTER))
        resumed = await here.ask("POST", f"{path}/resume", headers=bearer(MASTER))

    assert {**paused.json()["paused"], "since": ""} == {"by": "static", "reason": "stock", "since": ""}
    assert resumed.json()["paused"] is None


async def test_a_run_out_of_turn_enqueues_a_job_and_is_refused_while_that_is_live(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await made(here)
        done = await here.ask("POST", "/v1/schedules/hourly/run")
        again = await here.ask("POST", "/v1/schedules/hourly/run")
        job = await here.job(done.json()["last_job_id"])

    assert (done.status_code, done.json()["ran"], job["schedule"]) == (200, 1, "hourly")
    assert (again.status_code, again.json()["code"]) == (409, "wrong_state")


async def test_a_run_counts_against_the_depth_of_a_key(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        await here.ask("POST", "/v1/schedules", HOURLY, headers=bearer(MASTER))
        await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1]}, headers=bearer(MASTER))
        small = await here.key("schedules:manage", depth=1)
        refused = await here.ask("POST", "/v1/schedules/hourly/run", headers=small)

    assert (refused.status_code, refused.json()["code"]) == (429, "queue_full")


async def test_a_backfill_says_how_many_slots_will_run(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await made(here)
        body = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T03:00:00Z"}
        answer = await here.ask("POST", "/v1/schedules/hourly/backfill", body)
        naive = await here.ask(
            "POST", "/v1/schedules/hourly/backfill", {**body, "since": "2026-01-01T00:00:00"}
        )

    assert (answer.status_code, answer.json()["slots"], answer.json()["backlog"]) == (200, 3, 3)
    assert (naive.status_code, naive.json()["errors"][0]["pointer"]) == (422, "/since")


async def test_a_rule_is_told_in_words_and_times_before_it_is_saved(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        wanted = {"cron": "0 3 * * *", "tz": "Asia/Shanghai", "count": 2, "after": "2026-11-30T00:00:00Z"}
        told = (await here.ask("POST", "/v1/schedules/preview", wanted)).json()
        listed = (await here.ask("GET", "/v1/schedules")).json()["items"]

    assert told == {
        "words": "At 03:00 every day (Asia/Shanghai)", "every": None, "cron": "0 3 * * *", "tz": "Asia/Shanghai",
        "next_at": ["2026-11-30T19:00:00.000Z", "2026-12-01T19:00:00.000Z"],
    }  # fmt: skip
    assert listed == []


async def test_the_rule_of_a_timer_is_told_by_its_name(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        shown = await made(here)
        told = (await here.ask("POST", "/v1/schedules/preview", {"name": "hourly", "count": 5})).json()

    soon = [slot for slot in shown["next_at"] if datetime.fromisoformat(slot) > datetime.now(UTC)]
    assert [slot for slot in told["next_at"] if slot in soon] == soon
    assert told["words"] == shown["words"]


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"every": None}, "invalid_value", "/every"),
        ({"cron": "* * * * *"}, "invalid_value", "/every"),
        ({"every": None, "cron": "* * * *"}, "invalid_value", "/cron"),
        ({"every": None, "cron": "* * * * *", "tz": "Mars/Olympus"}, "invalid_value", "/tz"),
        ({"tz": "Asia/Shanghai"}, "invalid_value", "/tz"),
        ({"every": 0.01}, "invalid_value", "/every"),
        ({"every": []}, "invalid_value", "/every"),
        ({"name": "a b"}, "invalid_value", "/name"),
        ({"overlap": "always"}, "invalid_value", "/overlap"),
        ({"catch_up": "all"}, "invalid_value", "/catch_up"),
        ({"priority": 1_000_000}, "invalid_value", "/priority"),
        ({"queue": "a b"}, "invalid_value", "/queue"),
        ({"retry": {"factor": 0}}, "invalid_value", "/retry/factor"),
        ({"args": "x"}, "invalid_args", "/args"),
        ({"args": {"b": 1}}, "invalid_args", "/args/b"),
        ({"colour": "red"}, "unknown_field", "/colour"),
    ],
)
async def test_a_timer_that_makes_no_sense_is_refused_with_the_place(
    short_tmp: Path, change: Any, code: str, pointer: str
) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/schedules", {**HOURLY, **change})
        listed = (await here.ask("GET", "/v1/schedules")).json()["items"]

    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert pointer in [each["pointer"] for each in answer.json()["errors"]]
    assert listed == []


@pytest.mark.parametrize(
    "wanted",
    [{}, {"every": 1, "count": 51}, {"every": 1, "count": 0}, {"name": "hourly", "every": 1}],
)
async def test_a_preview_that_makes_no_sense_is_refused(short_tmp: Path, wanted: Any) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/schedules/preview", wanted)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_value"), answer.text


async def test_a_timer_that_is_not_there_is_404_however_it_is_asked_for(short_tmp: Path) -> None:
    asked = [("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/run")]
    async with place(short_tmp) as here:
        for name in ("nothing", "a%20b"):
            for method, verb in asked:
                answer = await here.ask(method, f"/v1/schedules/{name}{verb}")
                assert (answer.status_code, answer.json()["code"]) == (404, "schedule_not_found"), (
                    name,
                    verb,
                )


async def test_a_deleted_timer_is_gone_and_its_name_free(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await made(here)
        gone = await here.ask("DELETE", "/v1/schedules/hourly")
        shown = await here.ask("GET", "/v1/schedules/hourly")
        again = await made(here, every="2h")

    assert (gone.status_code, shown.status_code, again["every"]) == (204, 404, 7200.0)
