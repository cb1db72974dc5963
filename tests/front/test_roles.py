"""What a front with a part of the roles has, and that the rest is not there at all. Every route has a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from noria import InvalidOption
from noria.front.roles import ROLES
from noria.front.routes import ROUTES
from noria.front.settings import FrontSettings
from tests.support.door import MASTER, Place, bearer, place

ALWAYS = None
BEGINNINGS = {
    "/v1/jobs": "jobs",
    "/v1/call": "jobs",
    "/v1/tasks": "jobs",
    "/v1/questions": "jobs",
    "/answer": "answers",
    "/v1/queues": "manage",
    "/v1/groups": "manage",
    "/v1/resources": "manage",
    "/v1/dead": "manage",
    "/v1/workers": "manage",
    "/v1/operations": "manage",
    "/v1/schedules": "manage",
    "/v1/keys": "manage",
    "/v1/stats": "metrics",
    "/openapi.json": "docs",
    "/docs": "docs",
    "/v1": ALWAYS,
    "/livez": ALWAYS,
    "/readyz": ALWAYS,
}
"""Written down a second time, on purpose: somebody has thought about who should reach what is new."""


def beginning(path: str) -> str:
    """What decides on the role of a path."""
    steps = path.split("/")
    return "/".join(steps[: 3 if steps[1] == "v1" else 2])


def called(path: str) -> str:
    return (
        path.replace("{id}", "x")
        .replace("{task}", "cube")
        .replace("{name}", "cube")
        .replace("{token}", "A" * 43)
    )


def test_every_route_says_its_role() -> None:
    found = {f"{route.method} {route.path}": route.role for route in ROUTES}

    assert found == {row: BEGINNINGS[beginning(row.partition(" ")[2])] for row in found}
    assert {role for role in BEGINNINGS.values() if role} == set(ROLES)


async def is_nothing(here: Place, method: str, path: str) -> bool:
    answer = await here.ask(method, called(path), headers=bearer(MASTER))
    if not answer.headers["content-type"].startswith("application/problem+json"):
        return False
    return (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("role", ROLES)
async def test_a_front_of_one_role_has_its_routes_and_no_others(short_tmp: Path, role: str) -> None:
    async with place(short_tmp, api_key=MASTER, expose=(role,)) as here:
        for route in ROUTES:
            there = not await is_nothing(here, route.method, route.path)
            assert there == (route.role in (role, ALWAYS)), (route.method, route.path)


async def test_without_a_key_a_route_that_is_not_exposed_is_like_one_that_never_was(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER, expose=("jobs",)) as here:
        hidden, nothing = await here.ask("GET", "/v1/keys"), await here.ask("GET", "/v1/nothing")

        assert [each.status_code for each in (hidden, nothing)] == [404, 404]
        assert {**hidden.json(), "instance": ""} == {**nothing.json(), "instance": ""}
        assert "openapi" not in hidden.text


async def test_the_document_and_the_front_itself_tell_only_what_is_exposed(short_tmp: Path) -> None:
    async with place(short_tmp, expose=("metrics", "docs")) as here:
        document = (await here.ask("GET", "/openapi.json")).json()
        about = (await here.ask("GET", "/v1")).json()

    shown = {route.path for route in ROUTES if route.role in ("metrics", "docs", ALWAYS)}
    assert set(document["paths"]) == shown
    assert about["expose"] == ["metrics", "docs"]


async def test_calls_of_tasks_are_in_the_document_where_jobs_are_exposed(short_tmp: Path) -> None:
    async with place(short_tmp, expose=("jobs", "docs")) as here:
        assert "/v1/call/cube" in (await here.ask("GET", "/openapi.json")).json()["paths"]


async def test_the_top_leads_to_the_docs_only_where_there_are_docs(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        assert (await here.ask("GET", "/")).headers["location"] == "/docs"
    async with place(short_tmp, expose=("jobs",)) as here:
        assert (await here.ask("GET", "/")).status_code == 404


@pytest.mark.parametrize("given", [(), ("jobs", "console"), "jobs", ("",), None, (1,), ([],)])
def test_roles_that_do_not_exist_are_refused_with_those_that_do(given: object) -> None:
    with pytest.raises(InvalidOption, match="one or more of jobs, answers, manage, metrics, docs") as caught:
        FrontSettings.of({"expose": given})
    assert caught.value.field == "expose"
