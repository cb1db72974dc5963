"""Lists of jobs: filters, query words, and cursors that neither repeat nor lose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noria.backends.sql import find
from noria.front import limits
from tests.support.door import Place, place


async def listed(here: Place, **params: Any) -> Any:
    answer = await here.ask("GET", "/v1/jobs", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def stock(here: Place) -> dict[str, str]:
    """Six jobs; their ids by a letter, each in turn newer than the one before."""
    worker = await here.hire()
    found = {
        "a": await here.enqueue("cube", [1], tags=["vip"], correlation_id="req-1"),
        "b": await here.enqueue("fail", {"why": "Timeout of peer 17"}, tags=["vip", "eu"]),
        "c": await here.enqueue("fail", {"why": "Timeout of peer 23"}),
    }
    for id in found.values():
        await here.ended(id)
    worker.drain()
    found |= {
        "d": await here.enqueue("cube", [22], delay=600),
        "e": await here.enqueue("sqrt", {"a": 2}, queue="other", unique={"key": "u"}),
        "f": await here.enqueue("nap", {"seconds": 138}),
    }
    return found


@pytest.mark.parametrize(
    ("params", "letters"),
    [
        ({}, "fedcba"),
        ({"state": "failed"}, "cb"),
        ({"state": "failed,succeeded"}, "cba"),
        ({"task": "cube"}, "da"),
        ({"task": "c*,nap"}, "fda"),
        ({"queue": "other"}, "e"),
        ({"tag": "vip"}, "ba"),
        ({"correlation_id": "req-1"}, "a"),
        ({"dead": "true"}, "cb"),
        ({"order": "created_at"}, "abcdef"),
        ({"created_after": "2001-01-01T00:00:00Z"}, "fedcba"),
        ({"created_before": "2001-01-01T00:00:00Z"}, ""),
        ({"finished_after": "2001-01-01"}, "cba"),
        ({"q": "state:failed task:fail"}, "cb"),
        ({"q": "-state:failed -state:succeeded"}, "fed"),
        ({"q": "tag:vip -tag:eu"}, "a"),
        ({"q": "task:cu*"}, "da"),
        ({"q": "args.a:22"}, "d"),
        ({"q": "args.a:2*"}, "ed"),
        ({"q": "args.seconds:138"}, "f"),
        ({"q": "args.why:Time*"}, "cb"),
        ({"q": 'args.why:"Timeout of peer 23"'}, "c"),
        ({"q": "error:ValueError"}, "cb"),
        ({"q": '"peer 17"'}, "b"),
        ({"q": "PEER"}, "cb"),
        ({"q": "created:<1h"}, "fedcba"),
        ({"q": "created:>1h"}, ""),
        ({"q": "finished:<1h dead"}, "cb"),
        ({"q": "queue:other,default queue:oth*"}, "e"),
        ({"q": "-queue:default,nowhere"}, "e"),
        ({"q": "state:failed,queued -state:failed"}, "fe"),
        ({"q": "queue:other,default tag:vip"}, "ba"),
    ],
)
async def test_filters_find_what_they_say(short_tmp: Path, params: dict[str, str], letters: str) -> None:
    async with place(short_tmp) as here:
        names = {id: letter for letter, id in (await stock(here)).items()}
        found = await listed(here, **params)

        assert "".join(names[job["id"]] for job in found["items"]) == letters
        assert found["next"] is None


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"state": "done"}, "bad_filter"),
        ({"stat": "failed"}, "unknown_parameter"),
        ({"limit": "0"}, "bad_filter"),
        ({"limit": "201"}, "bad_filter"),
        ({"limit": "x"}, "bad_filter"),
        ({"limit": "٣"}, "bad_filter"),
        ({"order": "priority"}, "bad_filter"),
        ({"q": "-dead"}, "bad_filter"),
        ({"q": "state:failed -state:failed"}, "bad_filter"),
        ({"q": "queue:a queue:b"}, "bad_filter"),
        ({"include": "secrets"}, "bad_filter"),
        ({"fields": "all"}, "bad_filter"),
        ({"count": "all"}, "bad_filter"),
        ({"dead": "perhaps"}, "bad_filter"),
        ({"q": 'task:"open'}, "bad_filter"),
        ({"q": "nonsense:1"}, "bad_filter"),
        ({"q": "created:yesterday"}, "bad_filter"),
        ({"q": "created:<" + "9" * 400}, "bad_filter"),
        ({"q": "x" * 1_001}, "bad_filter"),
        ({"q": "a " * 31}, "bad_filter"),
        ({"created_after": "2026-13-01"}, "bad_filter"),
        ({"created_after": "2026-11-30T10:00:00"}, "bad_filter"),
        ({"q": "created:>2026-11-30T10:00:00"}, "bad_filter"),
        ({"created_after": "soon"}, "bad_filter"),
        ({"cursor": "x"}, "bad_cursor"),
        ({"cursor": "A" * 5_000}, "bad_cursor"),
        ({"cursor": "ü"}, "bad_cursor"),
    ],
)
async def test_filters_that_mean_nothing_are_refused(
    short_tmp: Path, params: dict[str, str], code: str
) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("GET", "/v1/jobs", params=params)

        assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize("params", [{}, {"q": "args.a:*"}, {"fields": "id"}])
async def test_a_walk_meets_each_job_once_whatever_is_added_or_vanishes(
    short_tmp: Path, params: dict[str, str]
) -> None:
    async with place(short_tmp) as here:
        there = [await here.enqueue("cube", [number]) for number in range(30)]
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = await listed(here, limit=4, **params, **cursor)
            seen += [item if isinstance(item, str) else item["id"] for item in page["items"]]
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}
            await here.enqueue("cube", [99])
            last = seen[-1]
            await here.ask("POST", f"/v1/jobs/{last}/cancel")
            await here.ask("DELETE", f"/v1/jobs/{last}")

        assert seen == there[::-1]


async def test_a_cursor_is_good_only_for_its_own_list(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for number in range(3):
            await here.enqueue("cube", [number])
        cursor = (await listed(here, limit=1, task="cube"))["next"]

        assert len((await listed(here, limit=2, task="cube", cursor=cursor))["items"]) == 2
        answer = await here.ask("GET", "/v1/jobs", params={"limit": 1, "task": "nap", "cursor": cursor})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor")


async def test_a_count_is_given_if_asked_for(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for number in range(5):
            await here.enqueue("cube", [number])
        page = await listed(here, limit=2, count="capped", q="-args.a:1 -args.a:2")

        assert (page["count"], page["count_capped"], len(page["items"])) == (3, False, 2)
        assert "count" not in await listed(here)


async def test_large_parts_come_only_if_asked_for(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.enqueue("cube", [1])

        assert "args" not in (await listed(here))["items"][0]
        assert (await listed(here, include="args"))["items"][0]["args"] == {"a": 1}


async def test_a_count_stops_where_it_is_told_and_says_so(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COUNT", 3)
    async with place(short_tmp) as here:
        for number in range(1, 5):
            await here.enqueue("cube", [number])
            found = (await here.ask("GET", "/v1/jobs?count=capped&limit=1")).json()
            assert (found["count"], found["count_capped"]) == (min(number, 3), number > 3)


async def test_a_search_that_was_given_up_says_so_and_goes_on(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "WINDOWS", (2, 2))
    async with place(short_tmp) as here:
        wanted = await here.enqueue("echo", {"value": "needle"})
        for number in range(10):
            await here.enqueue("cube", [number])
        seen: list[str] = []
        limited: list[bool] = []
        more: dict[str, str] = {}
        while True:
            found = (await here.ask("GET", "/v1/jobs", params={"q": "args.value:needle", **more})).json()
            seen += [job["id"] for job in found["items"]]
            limited.append(found.get("scan_limited", False))
            if found["next"] is None:
                break
            more = {"cursor": found["next"]}
        count = (await here.ask("GET", "/v1/jobs?q=args.value:needle&count=capped&limit=1")).json()

        assert seen == [wanted] and limited[0] is True and limited[-1] is False
        assert count["count_capped"] is True, "what was not looked at may match"
