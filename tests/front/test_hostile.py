"""Whatever comes in, what goes out is one of our answers: never a 500, never a stack trace, never half a job."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from noria.front import limits
from noria.front.problem import CODES
from noria.front.routes import ROUTES
from noria.front.server import Server
from tests.support.door import MASTER, Place, place

SET = {"action": "set_priority", "ids": ["01890000-0000-7000-8000-000000000000"]}
PAST = "2001-01-01T00:00:00Z"
JSON = {"content-type": "application/json"}


def is_problem(answer: httpx.Response, *codes: str) -> None:
    """The one shape of failure."""
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["code"] in (codes or CODES), body
    assert (body["status"], body["title"]) == (answer.status_code, CODES[body["code"]][1])
    assert CODES[body["code"]][0] == answer.status_code
    assert body["type"].endswith(f"/docs#problem-{body['code']}")
    assert body["instance"].startswith("urn:uuid:")
    assert body["detail"]


async def nothing_was_stored(here: Place) -> None:
    assert (await here.ask("GET", "/v1/jobs")).json()["items"] == []


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (b"", ("bad_json",)),
        (b"{", ("bad_json",)),
        (b"nonsense", ("bad_json",)),
        (b"\xff\xfe", ("bad_json",)),
        (b"\x00", ("bad_json",)),
        (b"[" * 100_000, ("bad_json",)),
        (b'{"task": "cube", "args": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001, ("bad_json",)),
        (b'{"task": "echo", "args": {"value": ' + b"[" * 40 + b"]" * 40 + b"}}", ("bad_json",)),
        (b'{"task": "cube", "args": {"a": NaN}}', ("bad_json",)),
        (b'{"task": "cube", "args": {"a": Infinity}}', ("bad_json",)),
        (b'{"task": "cube", "args": {"a": 1}} trailing', ("bad_json",)),
        (b'{"task": "cube", "args": {"a": ' + b"9" * 5_000 + b"}}", ("invalid_args",)),
        (b'{"task": "cube", "args": {"a": 1e400}}', ("invalid_args", "bad_json")),
        (b'{"task": "echo", "args": {"value": "\\ud800"}}', ("invalid_args", "bad_json")),
        (b'{"task": "echo", "args": {"value": "\xff"}}', ("invalid_args", "bad_json")),
        (b'{"task": "cube\\u0000", "args": {"a": 1}}', ("task_unknown",)),
        (b'{"task": "' + b"x" * 100_000 + b'"}', ("task_unknown",)),
        (b'{"task": "../cube"}', ("task_unknown",)),
        (b'{"task": ""}', ("task_unknown",)),
        (b'{"task": "../cube", "park": true}', ("invalid_value",)),
        (b'{"task": "cube", "delay": 1e308}', ("invalid_value", "invalid_args")),
        (b'{"task": "cube", "args": {"a": 1}, "delay": 1e999}', ("invalid_value", "bad_json")),
        (b"[]", ("invalid_value",)),
        (b"null", ("invalid_value",)),
        (b"5", ("invalid_value",)),
        (b"x" * (limits.BODY + 1), ("too_large",)),
        (b'{"task": "echo", "args": {"value": "' + b"x" * 1_060_000 + b'"}}', ("too_large", "invalid_args")),
    ],
    ids=lambda value: str(value[:24]) if isinstance(value, bytes) else None,
)  # fmt: skip
async def test_a_body_that_is_none_is_refused_and_stores_nothing(
    short_tmp: Path, body: bytes, codes: tuple[str, ...]
) -> None:
    async with place(short_tmp) as here:
        is_problem(await here.ask("POST", "/v1/jobs", content=body, headers=JSON), *codes)
        await nothing_was_stored(here)


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/v1/jobs", b'{"task": "cube", "task": "echo", "args": [1]}', "task"),
        ("/v1/jobs", b'{"task": "echo", "args": {"value": [{"x": {"k": 1, "\\u006b": 2}}]}}', "k"),
        ("/v1/jobs/batch", b'[{"task": "cube", "args": {"a": 1, "a": 2}}]', "a"),
        ("/v1/call/cube", b'{"a": 2, "a": 3}', "a"),
        (
            "/v1/operations",
            b'{"action": "cancel", "filter": {"state": "queued", "state": "failed"}}',
            "state",
        ),
        ("/v1/keys", b'{"name": "x", "scopes": ["admin"], "name": "y"}', "name"),
    ],
)
async def test_a_name_that_an_object_has_twice_is_refused_by_that_name(
    short_tmp: Path, path: str, body: bytes, name: str
) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", path, content=body, headers=JSON)
        error = answer.json()["items"][0]["error"] if path.endswith("batch") else answer.json()

        assert (error["code"], f"'{name}' is given twice" in error["detail"]) == ("bad_json", True), error
        await nothing_was_stored(here)


async def test_half_of_a_surrogate_pair_is_called_that(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        whole = await here.ask("POST", "/v1/jobs", content=b'{"task": "\\ud800"}', headers=JSON)
        cut = await here.ask("POST", "/v1/jobs", content=b'{"task": "\\ud800', headers=JSON)

        assert "surrogate" in whole.json()["detail"] and "surrogate" not in cut.json()["detail"]


async def test_a_body_without_a_length_is_cut_off_at_the_limit(short_tmp: Path) -> None:
    sent = 0

    async def endless() -> object:
        nonlocal sent
        while True:
            sent += 65_536
            yield b"[" * 65_536

    async with place(short_tmp) as here:
        is_problem(await here.ask("POST", "/v1/jobs", content=endless(), headers=JSON), "too_large")
        assert sent < 2 * limits.BODY


@pytest.mark.parametrize(
    "path",
    ["/v1/", "/v2/jobs", "/v1/jobs/", "/v1//jobs", "/v1/jobs/x/y/z", "/v1/tasks/%2e%2e",
     "/docs/other.js", "/%00", "/v1/call/", "//", "/v1/jobs/{id}"],
)  # fmt: skip
async def test_paths_that_are_none_are_404_in_the_one_shape(short_tmp: Path, path: str) -> None:
    async with place(short_tmp) as here:
        request = here.client.build_request("GET", "http://localhost")
        request.url = request.url.copy_with(raw_path=path.encode())
        is_problem(await here.client.send(request), "not_found", "task_unknown", "job_not_found")


ALSO = {"/v1/schedules/preview": "/v1/schedules/{name}"}
"""What people name may be called as a verb is."""


async def test_other_methods_are_405_with_those_that_are_there(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for path in sorted({route.path for route in ROUTES}):
            paths = (path, ALSO.get(path))
            there = {route.method for route in ROUTES if route.path in paths}
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} - there:
                answer = await here.ask(method, path)
                is_problem(answer, "method_not_allowed")
                assert set(answer.headers["allow"].split(", ")) == there


async def test_every_answer_carries_the_headers_that_keep_browsers_out(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for route in ROUTES:
            answer = await here.ask(route.method, route.path.replace("{id}", "x"))
            assert answer.headers["x-content-type-options"] == "nosniff"
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["cache-control"] == "no-store"
            assert "access-control-allow-origin" not in answer.headers


async def test_a_bug_is_a_500_that_tells_nothing(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with place(short_tmp) as here:
        monkeypatch.setattr(here.front.desk.tasks, "all", lambda: 1 / 0)
        answer = await here.ask("GET", "/v1/tasks")

        is_problem(answer, "internal")
        assert "division" not in answer.text
        assert answer.json()["instance"] in caplog.text and "ZeroDivisionError" in caplog.text


async def test_a_front_that_is_not_open_says_so(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await here.front.__aexit__(None, None, None)
        answer = await here.ask("GET", "/livez")
        is_problem(answer, "not_open")
        await here.front.__aenter__()
        assert (await here.ask("GET", "/livez")).status_code == 200


async def test_the_top_sends_people_to_the_page_that_they_can_read(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        answer = await here.ask("GET", "/")

        assert (answer.status_code, answer.headers["location"]) == (307, "/docs")


@pytest.mark.parametrize(
    ("path", "body", "pointer", "words"),
    [
        ("/v1/queues/default/pause", {"until": "2001-01-01T00:00:00Z"}, "/until", "until is past"),
        ("/v1/queues/default/pause", {"until": "2031-01-01T00:00:00"}, "/until", "until has no zone"),
        (
            "/v1/keys",
            {"name": "x", "scopes": ["admin"], "expires_at": "2001-01-01T00:00:00Z"},
            "/expires_at",
            "is past",
        ),
        ("/v1/keys", {"name": "x", "scopes": ["admin"], "rate": 0}, "/rate", "requests a second"),
        ("/v1/operations", {"action": "cancel", "ids": []}, "/ids", "at least one"),
        (
            "/v1/operations",
            {**SET, "params": {"priority": 10}},
            "/params/priority",
            "-9 to 9",
        ),
        (
            "/v1/operations",
            {"action": "cancel", "filter": {"dead": True}},
            "/filter/dead",
            "filter.dead: expected str",
        ),
        ("/v1/operations", {"action": "cancel", "filter": {"quue": "x"}}, "/filter/quue", "'queue'"),
        (
            "/v1/jobs",
            {"task": "cube", "args": [1], "run_at": "2031-01-01T00:00:00"},
            "/run_at",
            "run_at has no zone",
        ),
        (
            "/v1/jobs",
            {"task": "cube", "args": [1], "run_at": "1901-01-01T00:00:00Z"},
            "/run_at",
            "1970 to 9999",
        ),
        (
            "/v1/jobs",
            {"task": "cube", "args": [1], "deadline_at": "1901-01-01T00:00:00Z"},
            "/deadline_at",
            "deadline_at",
        ),
    ],
)
async def test_a_value_that_makes_no_sense_is_refused_in_the_words_of_http(
    short_tmp: Path, path: str, body: Any, pointer: str, words: str
) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", path, body)

        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["pointer"] == pointer
        assert words in answer.json()["detail"], answer.text
        assert "datetime" not in answer.text


async def test_a_wait_of_less_than_nothing_is_a_bad_request(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        is_problem(
            await here.ask("GET", f"/v1/jobs/{await here.enqueue('cube', [1])}?wait=-1"), "bad_request"
        )


async def test_a_client_that_offers_another_protocol_is_answered_in_this_one(
    short_tmp: Path, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    async with place(short_tmp) as here:
        server = Server(here.front, port=0)
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        running = asyncio.ensure_future(server.run(address.set_result))
        port = int((await address).rpartition(":")[2].strip("/"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        async with here.patience():
            first = await reader.readline()
        writer.close()
        server.stop()
        await running

    assert b" 200 " in first
    assert "WebSocket" not in caplog.text and "pgrade" not in caplog.text
