"""Every verb may be repeated: the second time is answered as the first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from noria.backends.contract import WorkerCard
from noria.front.fleet import id_of
from noria.front.routes import ROUTES
from tests.support.door import MASTER, Place, bearer, place

Wanted = tuple[str, Any]
"""A path, and a body."""

MAKES = {
    "POST /v1/jobs",
    "POST /v1/jobs/batch",
    "POST /v1/jobs/{id}/copy",
    "POST /v1/call/{task}",
    "POST /v1/operations",
    "POST /v1/keys",
    "POST /v1/schedules/{name}/run",
    "POST /v1/schedules/{name}/backfill",
}
"""What makes a new thing each time; all but keys and runs of timers take an `Idempotency-Key`, items of a batch one
each."""


async def waiting(here: Place) -> str:
    made = await here.ask(
        "POST", "/v1/jobs", {"task": "cube", "args": [3], "delay": 600}, headers=bearer(MASTER)
    )
    return f"/v1/jobs/{made.json()['id']}"


async def ended(here: Place, task: str, *args: Any) -> str:
    await here.hire()
    made = await here.ask("POST", "/v1/jobs?wait=20", {"task": task, "args": args}, headers=bearer(MASTER))
    assert made.json()["final"], made.text
    return f"/v1/jobs/{made.json()['id']}"


async def worker(here: Place) -> str:
    """A session that nobody ends."""
    card = WorkerCard(
        worker="w", host="h", pid=1, version="1", queues=("default",), tasks=("cube",), ttl=60.0
    )
    session = await here.app.backend.open(card)
    [member] = [each for each in await here.app.backend.fleet() if each.session == session]
    return f"/v1/workers/{id_of(member)}"


async def cancelled(here: Place) -> Wanted:
    return await waiting(here) + "/cancel", {"reason": "wrong price"}


async def retried(here: Place) -> Wanted:
    path = await waiting(here)
    await here.ask("POST", path + "/cancel", headers=bearer(MASTER))
    return path + "/retry", {"delay": 300}


async def run_now(here: Place) -> Wanted:
    return await waiting(here) + "/run", {}


async def discarded(here: Place) -> Wanted:
    return await ended(here, "fail") + "/discard", {"reason": "known"}


async def edited(here: Place) -> Wanted:
    return await waiting(here), {"priority": 7, "tags": ["a"]}


async def erased(here: Place) -> Wanted:
    return await ended(here, "cube", 3), None


async def operation(here: Place) -> Wanted:
    wanted = {"action": "cancel", "filter": {"task": "nobodys"}, "rate": 1}
    made = await here.ask("POST", "/v1/operations", wanted, headers=bearer(MASTER))
    return f"/v1/operations/{made.json()['id']}/cancel", {}


async def key(here: Place) -> Wanted:
    holder = await here.key("jobs:read")
    return f"/v1/keys/{holder['authorization'].split('_')[1]}", None


def queue(verb: str, body: Any) -> Callable[[Place], Awaitable[Wanted]]:
    async def wanted(here: Place) -> Wanted:
        await waiting(here)
        return f"/v1/queues/default{verb}", body

    return wanted


def group(verb: str, body: Any) -> Callable[[Place], Awaitable[Wanted]]:
    async def wanted(here: Place) -> Wanted:
        return f"/v1/groups/{verb}", {"family": "host", "key": "shop.example", **body}

    return wanted


TIMER = {"task": "cube", "args": [3], "every": "1h"}


def timer(path: str, body: Any) -> Callable[[Place], Awaitable[Wanted]]:
    async def wanted(here: Place) -> Wanted:
        await here.ask("PUT", "/v1/schedules/hourly", TIMER, headers=bearer(MASTER))
        return f"/v1/schedules{path}", body

    return wanted


def told(verb: str) -> Callable[[Place], Awaitable[Wanted]]:
    async def wanted(here: Place) -> Wanted:
        return await worker(here) + verb, {}

    return wanted


async def answered_by_link(here: Place) -> Wanted:
    return await here.front.desk.answers.url(await here.question()), {"action": "accept", "data": "yes"}


async def answered(here: Place) -> Wanted:
    return f"/v1/questions/{await here.question()}/answer", {"action": "accept", "data": "yes"}


VERBS: dict[str, Callable[[Place], Awaitable[Wanted]]] = {
    "POST /v1/jobs/{id}/cancel": cancelled,
    "POST /v1/jobs/{id}/retry": retried,
    "POST /v1/jobs/{id}/run": run_now,
    "POST /v1/jobs/{id}/discard": discarded,
    "PATCH /v1/jobs/{id}": edited,
    "DELETE /v1/jobs/{id}": erased,
    "PUT /v1/queues/{name}": queue("", {"max_length": 5}),
    "PATCH /v1/queues/{name}": queue("", {"concurrency": 5}),
    "POST /v1/queues/{name}/pause": queue("/pause", {"reason": "stock"}),
    "POST /v1/queues/{name}/resume": queue("/resume", {}),
    "POST /v1/groups/close": group("close", {"reason": "stock"}),
    "POST /v1/groups/open": group("open", {}),
    "POST /v1/workers/{id}/quiet": told("/quiet"),
    "POST /v1/workers/{id}/stop": told("/stop"),
    "POST /v1/workers/{id}/resume": told("/resume"),
    "POST /v1/operations/{id}/cancel": operation,
    "POST /v1/questions/{id}/answer": answered,
    "POST /answer/{token}": answered_by_link,
    "POST /v1/schedules": timer("", {"name": "daily", **TIMER}),
    "POST /v1/schedules/preview": timer("/preview", {"cron": "0 0 1 1 *"}),
    "PUT /v1/schedules/{name}": timer("/hourly", {**TIMER, "every": "2h"}),
    "DELETE /v1/schedules/{name}": timer("/hourly", None),
    "POST /v1/schedules/{name}/pause": timer("/hourly/pause", {"reason": "stock"}),
    "POST /v1/schedules/{name}/resume": timer("/hourly/resume", {}),
    "DELETE /v1/keys/{id}": key,
}


def test_every_route_that_changes_something_is_here() -> None:
    changing = {f"{route.method} {route.path}" for route in ROUTES if route.method != "GET"}

    assert changing == MAKES | VERBS.keys()


@pytest.mark.parametrize("route", VERBS)
async def test_a_verb_is_answered_the_second_time_as_the_first(route: str, short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        path, body = await VERBS[route](here)
        method = route.partition(" ")[0]
        first, second = [await here.ask(method, path, body, headers=bearer(MASTER)) for _ in range(2)]

    assert first.status_code in (200, 201, 204), first.text
    assert (second.status_code, steady(second)) == (first.status_code, steady(first))


async def test_what_others_have_erased_or_never_was_is_not_found(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        path = await ended(here, "cube", 3)
        other = await here.key("jobs:manage", queues=["default"])
        await here.ask("DELETE", path, headers=bearer(MASTER))

        for again, who in ((path, other), ("/v1/jobs/0190a7d4-7f2a-7b1c-8d3e-5f6a7b8c9d0e", bearer(MASTER))):
            assert (await here.ask("DELETE", again, headers=who)).status_code == 404
        never = await here.ask("DELETE", "/v1/keys/aaaaaaaa", headers=bearer(MASTER))
        assert (never.status_code, never.json()["code"]) == (404, "key_unknown")


def steady(answer: Any) -> Any:
    """What may not differ: all but the ages of things, which grow by themselves."""
    body = answer.json() if answer.text else None
    return {name: value for name, value in body.items() if "seconds" not in name} if body else body
