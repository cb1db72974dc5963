"""Every limit that `GET /v1` tells: what is at it passes, and what is one above it does not."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from noria.clock import moment
from noria.front import limits
from noria.model.limits import MAX_BODY
from tests.support.door import MASTER, Place, bearer, place

NOBODYS = "01a22c52-24f3-77d5-802a-6309c183da"
JSON = {"content-type": "application/json"}
Try = Callable[[Place, int], Awaitable[httpx.Response]]


def post(path: str, body: Callable[[int], Any], **headers: str) -> Try:
    """A request whose body is as large as it is told."""

    async def tried(here: Place, size: int) -> httpx.Response:
        return await here.ask("POST", path, body(size), headers=headers)

    return tried


def padded(path: str, text: str) -> Try:
    async def tried(here: Place, size: int) -> httpx.Response:
        return await here.ask("POST", path, content=text.ljust(size), headers=JSON)

    return tried


def look(path: str) -> Try:
    async def tried(here: Place, size: int) -> httpx.Response:
        return await here.ask("GET", path.replace("{}", str(size)))

    return tried


def job(**more: Any) -> dict[str, Any]:
    return {"task": "cube", "args": {"a": 1}, **more}


def value(found: Any) -> dict[str, Any]:
    return {"task": "echo", "args": {"value": found}}


def nested(depth: int) -> Any:
    """A list so deep that a job with it is of this depth: the job and its arguments are two levels."""
    found: Any = 1
    for _ in range(depth - 2):
        found = [found]
    return found


async def spans(here: Place, count: int) -> httpx.Response:
    until = 1_800_000_000.0
    times = {"since": moment(until - 60 * count), "until": moment(until)}
    return await here.ask("GET", "/v1/stats/series", params=times)


async def key(here: Place, length: int) -> httpx.Response:
    return await here.ask("POST", "/v1/jobs", job(), headers={"idempotency-key": "k" * length})


async def words(here: Place, size: int) -> httpx.Response:
    return await here.ask("GET", "/v1/jobs", params={"q": " ".join(["x" * 500, "y" * (size - 501)])})


def patterns(count: int) -> dict[str, Any]:
    # Not made: the scope is missing, which is found after the patterns.
    return {"name": "k", "scopes": [], "queues": [f"q{n}" for n in range(count)]}


AT_AND_ABOVE: dict[str, tuple[Try, int, int]] = {
    "body_bytes": (padded("/v1/jobs", json.dumps(job())), limits.BODY, 413),
    "batch_items": (post("/v1/jobs/batch", lambda size: [job()] * size), limits.BATCH, 413),
    "batch_bytes": (padded("/v1/jobs/batch", json.dumps([job()])), limits.BATCH_BODY, 413),
    "json_depth": (post("/v1/jobs", lambda size: value(nested(size))), limits.DEPTH, 400),
    "object_members": (
        post("/v1/jobs", lambda size: value({f"k{n}": n for n in range(size)})),
        limits.MEMBERS,
        400,
    ),
    "page": (look("/v1/jobs?limit={}"), limits.PAGE, 400),
    "page_of_ids": (look("/v1/jobs?fields=id&limit={}"), limits.PAGE_OF_IDS, 400),
    "operation_ids": (
        post(
            "/v1/operations",
            lambda size: {"action": "cancel", "preview": True, "ids": [NOBODYS + "88"] * size},
        ),
        limits.OPERATION_IDS,
        422,
    ),
    "query_characters": (words, limits.QUERY, 400),
    "spans": (spans, limits.SPANS, 400),
    "tags": (post("/v1/jobs", lambda size: job(tags=[f"t{n}" for n in range(size)])), 16, 422),
    "tag_characters": (post("/v1/jobs", lambda size: job(tags=["t" * size])), 64, 422),
    "idempotency_key_characters": (key, limits.IDEMPOTENCY_KEY, 400),
    "arguments_bytes": (
        post("/v1/jobs", lambda size: value("x" * (size - len('{"value":""}')))),
        MAX_BODY,
        422,
    ),
}


ELSEWHERE = {
    "count": "front/test_lists.py::test_a_count_stops_where_it_is_told_and_says_so",
    "names": "front/test_house.py::test_made_up_names_do_not_make_the_numbers_longer",
    "note_characters": "front/test_limits.py::test_a_note_is_cut_off",
    "key_patterns": "front/test_limits.py::test_a_key_has_so_many_patterns",
    "shown_bytes": "front/test_limits.py::test_what_is_too_large_does_not_come_unasked",
    "header_bytes": "faults/test_front.py::test_a_head_at_the_limit_passes_and_one_byte_more_does_not",
    "read_seconds": "faults/test_front.py::test_a_client_that_is_too_slow_is_sent_away",
    "unread_seconds": "faults/test_front.py::test_f11_a_reader_that_stops_is_sent_away_and_its_place_is_free_again",
    "idempotency_seconds": "front/test_limits.py::test_a_key_is_forgotten_when_its_time_is_over",
    "wait_seconds": "front/test_waiting.py::test_no_wait_is_longer_than_the_front_allows",
    "waiters": "front/test_waiting.py::test_as_many_wait_as_may_and_no_submit_is_ever_refused_for_it",
    "waiters_per_key": "front/test_waiting.py::test_a_key_has_so_many_waiters_and_others_have_theirs",
    "streams": "front/test_limits.py::test_so_many_streams_are_open_and_no_more",
    "streams_per_key": "front/test_limits.py::test_so_many_streams_are_open_and_no_more",
    "rate": "front/test_access.py::test_a_rate_allows_what_it_says_at_once_and_not_one_more",
    "guesses": "front/test_access.py::test_an_address_that_guesses_is_slowed_down_before_anything_is_looked_up",
    "result_bytes": "faults/test_front.py::test_results_of_a_megabyte_pass_and_larger_ones_fail_their_job",
}
"""Limits that cannot be told by one answer, and the test that tells."""


async def test_every_limit_that_is_told_has_a_test_at_it(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        told = (await here.ask("GET", "/v1")).json()["limits"]
    assert set(told) == {*AT_AND_ABOVE, *ELSEWHERE}
    for name, (_, limit, _) in AT_AND_ABOVE.items():
        assert told[name] == limit, name
    tests = Path(__file__).parents[1]
    for where in ELSEWHERE.values():
        file, _, test = where.partition("::")
        assert re.search(rf"def {test}\(", (tests / file).read_text()), where


def test_the_table_of_limits_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        limits.TABLE["page"] = 1  # type: ignore[index]  # that is the point


@pytest.mark.parametrize("name", AT_AND_ABOVE)
async def test_what_is_at_a_limit_passes_and_what_is_above_it_does_not(short_tmp: Path, name: str) -> None:
    tried, limit, status = AT_AND_ABOVE[name]
    async with place(short_tmp) as here:
        at, above = await tried(here, limit), await tried(here, limit + 1)

        assert at.status_code in (200, 202), at.text
        assert above.status_code == status, above.text


async def test_a_key_has_so_many_patterns(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for count, pointer in ((limits.KEY_PATTERNS, "/scopes"), (limits.KEY_PATTERNS + 1, "/queues")):
            answer = await here.ask("POST", "/v1/keys", patterns(count))
            assert answer.json()["errors"][0]["pointer"] == pointer


async def test_a_note_is_cut_off(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        ids = [await here.enqueue("cube", [1])]
        body = {"action": "cancel", "ids": ids, "note": "n" * (limits.NOTE + 1)}
        assert (await here.ask("POST", "/v1/operations", body)).json()["note"] == "n" * limits.NOTE


async def test_what_is_too_large_does_not_come_unasked(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        room = limits.SHOWN - len('{"value":""}')
        for more, there in ((0, True), (1, False)):
            id = await here.enqueue("echo", {"value": "x" * (room + more)})
            assert ("args" in await here.job(id)) is there
            assert "args" in await here.job(id, include="args")


async def test_a_key_is_forgotten_when_its_time_is_over(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(short_tmp) as here:
        first = (await key(here, 3)).json()["id"]
        assert (await key(here, 3)).json()["id"] == first
        monkeypatch.setattr(limits, "REMEMBERED", 0.05)
        soon = await here.ask("POST", "/v1/jobs", job(), headers={"idempotency-key": "soon"})
        async with here.patience():
            while (
                again := await here.ask("POST", "/v1/jobs", job(), headers={"idempotency-key": "soon"})
            ).json()["id"] == soon.json()["id"]:
                await here.breathe()
        assert again.status_code == 202
        assert (await key(here, 3)).json()["id"] == first


@pytest.mark.parametrize("settings", [{"streams": 2}, {"streams_per_key": 2}])
async def test_so_many_streams_are_open_and_no_more(short_tmp: Path, settings: dict[str, int]) -> None:
    async with place(short_tmp, api_key=MASTER, **settings) as here:
        holder = {**await here.key("jobs:read"), "accept": "text/event-stream"}
        made = await here.ask("POST", "/v1/jobs", job(delay=600), headers=bearer(MASTER))
        path = f"/v1/jobs/{made.json()['id']}/events"
        held = [asyncio.ensure_future(here.ask("GET", path, headers=holder)) for _ in range(2)]
        async with here.patience():
            while here.front.desk.streams.count < 2:
                await here.breathe()
        above = await here.ask("GET", path, headers=holder)

        assert (above.status_code, above.json()["code"]) == (429, "too_many_streams")
        here.front.drain()
        assert {answer.status_code for answer in await asyncio.gather(*held)} == {200}
        assert here.front.desk.streams.count == 0
