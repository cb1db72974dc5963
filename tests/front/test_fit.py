"""What does not fit is refused: parameters that no route names, forms that it cannot give, bodies that are packed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from noria.front import limits
from noria.front.routes import ROUTES
from tests.support.door import Place, place

ROWS = [(route.method, route.path, route) for route in ROUTES]
JSON = {"content-type": "application/json"}
PAGES = {"text/html", "text/css", "text/javascript"}
"""What browsers are given; that of links to questions is tested with them."""


def called(path: str) -> str:
    return path.replace("{id}", "x").replace("{task}", "sqrt").replace("{name}", "cube")


async def test_every_route_refuses_parameters_that_it_does_not_name(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for method, path, route in ROWS:
            answer = await here.ask(method, called(path) + "?prioritty=1")
            if route.link:
                # Mail programs put their own behind links; what is refused here is the link.
                assert (answer.status_code, answer.json()["code"]) == (404, "question_not_found")
                continue
            if route.open_query:
                assert (answer.status_code, answer.json()["code"]) == (422, "invalid_args")
                continue
            assert (answer.status_code, answer.json()["code"]) == (400, "unknown_parameter"), path
            assert "prioritty" in answer.json()["detail"]


async def test_every_parameter_that_a_route_names_is_known_to_it(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for method, path, route in ROWS:
            for name in (param.name for param in route.params if param.where == "query"):
                answer = await here.ask(method, called(path), params={name: "1"})
                code = answer.json().get("code") if answer.content else None
                assert code != "unknown_parameter", (path, name)


async def test_a_near_miss_is_told(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        assert "'limit'" in (await here.ask("GET", "/v1/jobs?limmit=3")).json()["detail"]


def wanted_by(path: str) -> list[tuple[str, bool]]:
    """Values of Accept, and whether a route that answers in JSON has something for them."""
    return [
        ("text/event-stream", path.endswith("/events")),
        ("application/json", True),
        ("APPLICATION/JSON ; charset=utf-8", True),
        ("application/problem+json", True),
        ("application/*", True),
        ("text/html, */*;q=0.1", True),
        ("", True),
        ("text/html", False),
        ("text/html, application/xml;q=0.9", False),
        ("application/json;q=0", False),
        ("application/json; q=0.0, text/html", False),
        ("nonsense", False),
    ]


async def test_every_route_gives_what_is_asked_for_or_says_that_it_cannot(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for method, path, route in ROWS:
            for accept, fits in wanted_by(path):
                answer = await here.ask(method, called(path), headers={"accept": accept})
                if "*/*" in route.media or PAGES & {*route.media}:
                    continue
                refused = answer.status_code == 406 and answer.json()["code"] == "not_acceptable"
                assert refused is not fits, (path, accept, answer.text)


@pytest.mark.parametrize(("path", "media"), [("docs", "text/html"), ("docs/docs.css", "text/css")])
async def test_pages_are_no_json(short_tmp: Path, path: str, media: str) -> None:
    async with place(short_tmp) as here:
        assert (await here.ask("GET", f"/{path}", headers={"accept": media})).status_code == 200
        refused = await here.ask("GET", f"/{path}", headers={"accept": "application/json"})
        assert refused.json()["code"] == "not_acceptable"


async def test_a_bare_result_has_whatever_form_it_has(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        answer = await here.ask("GET", "/v1/call/sqrt?a=9", headers={"accept": "application/octet-stream"})
        assert (answer.status_code, answer.text) == (200, "3.0")


async def test_nobody_learns_from_406_that_a_path_is_there(short_tmp: Path) -> None:
    async with place(short_tmp, open=False) as here:
        answer = await here.ask("GET", "/v1/jobs?x=1", headers={"accept": "text/html"})
        assert answer.json()["code"] == "no_key"


async def test_a_range_is_not_looked_at(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        for wanted in ("bytes=0-1", "bytes=" + "0-1," * 1_000 + "5-6", "nonsense"):
            answer = await here.ask("GET", "/docs", headers={"range": wanted})
            assert (answer.status_code, len(answer.content) > 100) == (200, True)
            assert "content-range" not in answer.headers and "accept-ranges" not in answer.headers


# ---- bodies


@pytest.mark.parametrize(
    "path", ["/v1/jobs", "/v1/jobs/batch", "/v1/call/cube", "/v1/operations", "/v1/keys"]
)
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "identity, gzip"])
async def test_a_body_that_is_packed_is_not_unpacked(short_tmp: Path, path: str, coding: str) -> None:
    body = gzip.compress(b'{"task": "cube", "args": {"a": 1}}')
    async with place(short_tmp) as here:
        answer = await here.ask("POST", path, content=body, headers={**JSON, "content-encoding": coding})

        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media")
        assert answer.headers["accept-encoding"] == "identity"


async def test_a_body_that_says_that_it_is_not_packed_is_fine(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        body = b'{"task": "cube", "args": {"a": 1}}'
        answer = await here.ask(
            "POST", "/v1/jobs", content=body, headers={**JSON, "content-encoding": "identity"}
        )
        assert answer.status_code == 202


def wide(count: int) -> dict[str, Any]:
    return {f"k{number}": number for number in range(count)}


async def members(here: Place, value: Any) -> tuple[int, str]:
    answer = await here.ask("POST", "/v1/jobs", {"task": "echo", "args": {"value": value}})
    return answer.status_code, answer.json().get("code", "")


async def test_objects_have_so_many_members_and_no_more(short_tmp: Path) -> None:
    many, fits = wide(limits.MEMBERS + 1), wide(limits.MEMBERS)
    async with place(short_tmp) as here:
        assert await members(here, fits) == (202, "")
        assert await members(here, [fits, {"x": fits}]) == (202, "")
        assert await members(here, ":" * 5_000) == (202, "")
        for value in (many, [fits, {"x": [many]}]):
            assert await members(here, value) == (400, "bad_json")
        item = {"task": "echo", "args": {"value": fits}}
        batch = await here.ask(
            "POST", "/v1/jobs/batch", [item, {"task": "echo", "args": {"value": many}}, item]
        )
        assert [each["status"] for each in batch.json()["items"]] == [202, 400, 202]
        called_ = await here.ask(
            "POST", "/v1/call/echo?wait=0", content=json.dumps({"value": many}), headers=JSON
        )
        assert called_.json()["code"] == "bad_json"
