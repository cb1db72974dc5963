"""Who gets in, and what they may do there. Every route has a row; a route without one fails the suite."""

from __future__ import annotations

import ast
import asyncio
import hmac
import inspect
import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from noria.front import door, invitations, keys
from noria.front.principal import SCOPES
from noria.front.rates import Buckets, neighbourhood
from noria.front.routes import ROUTES
from noria.model import invitation
from noria.worker import answers
from tests.support.door import MASTER, Place, bearer, place
from tests.support.manual import ManualClock
from tests.support.workplace import Faulty

EVERYBODY = None
WHO_MAY = {
    "POST /v1/jobs": "jobs:enqueue",
    "GET /v1/jobs": "jobs:read",
    "GET /v1/jobs/{id}": "jobs:read",
    "PATCH /v1/jobs/{id}": "jobs:manage",
    "DELETE /v1/jobs/{id}": "jobs:manage",
    "GET /v1/jobs/{id}/result": "jobs:read",
    "GET /v1/jobs/{id}/explain": "jobs:read",
    "POST /v1/jobs/{id}/cancel": "jobs:manage",
    "POST /v1/jobs/{id}/retry": "jobs:manage",
    "POST /v1/jobs/{id}/run": "jobs:manage",
    "POST /v1/jobs/{id}/discard": "jobs:manage",
    "POST /v1/jobs/{id}/copy": "jobs:enqueue",
    "GET /v1/call/{task}": "jobs:enqueue",
    "POST /v1/call/{task}": "jobs:enqueue",
    "GET /v1/tasks": "jobs:read",
    "GET /v1/tasks/{name}": "jobs:read",
    "POST /v1/jobs/batch": "jobs:enqueue",
    "GET /v1/jobs/{id}/events": "jobs:read",
    "GET /v1/queues": "jobs:read",
    "GET /v1/queues/{name}": "jobs:read",
    "PUT /v1/queues/{name}": "queues:manage",
    "PATCH /v1/queues/{name}": "queues:manage",
    "POST /v1/queues/{name}/pause": "queues:manage",
    "POST /v1/queues/{name}/resume": "queues:manage",
    "GET /v1/groups": "jobs:read",
    "POST /v1/groups/close": "queues:manage",
    "POST /v1/groups/open": "queues:manage",
    "GET /v1/resources": "jobs:read",
    "GET /v1/dead": "jobs:read",
    "GET /v1/workers": "jobs:read",
    "GET /v1/workers/{id}": "jobs:read",
    "POST /v1/workers/{id}/quiet": "admin",
    "POST /v1/workers/{id}/stop": "admin",
    "POST /v1/workers/{id}/resume": "admin",
    "GET /v1/stats": "metrics",
    "GET /v1/stats/series": "metrics",
    "POST /v1/operations": "jobs:manage",
    "GET /v1/operations": "jobs:read",
    "GET /v1/operations/{id}": "jobs:read",
    "POST /v1/operations/{id}/cancel": "jobs:manage",
    "GET /v1/questions": "questions:answer",
    "GET /v1/questions/{id}": "questions:answer",
    "POST /v1/questions/{id}/answer": "questions:answer",
    "GET /answer/{token}": EVERYBODY,
    "POST /answer/{token}": EVERYBODY,
    "GET /v1/schedules": "jobs:read",
    "POST /v1/schedules": "schedules:manage",
    "POST /v1/schedules/preview": "jobs:read",
    "GET /v1/schedules/{name}": "jobs:read",
    "PUT /v1/schedules/{name}": "schedules:manage",
    "DELETE /v1/schedules/{name}": "schedules:manage",
    "POST /v1/schedules/{name}/pause": "schedules:manage",
    "POST /v1/schedules/{name}/resume": "schedules:manage",
    "POST /v1/schedules/{name}/run": "schedules:manage",
    "POST /v1/schedules/{name}/backfill": "schedules:manage",
    "GET /v1/keys": "admin",
    "POST /v1/keys": "admin",
    "DELETE /v1/keys/{id}": "admin",
    "GET /v1": "jobs:read",
    "GET /openapi.json": "jobs:read",
    "GET /livez": EVERYBODY,
    "GET /readyz": EVERYBODY,
    "GET /docs": EVERYBODY,
    "GET /docs/docs.css": EVERYBODY,
    "GET /docs/docs.js": EVERYBODY,
}
"""Written down a second time, on purpose: a new route is not served before somebody has thought about it here."""
CLOSED = sorted(row for row, scope in WHO_MAY.items() if scope is not EVERYBODY)


def called(row: str) -> tuple[str, str]:
    method, path = row.split(" ")
    return method, path.replace("{id}", "x").replace("{task}", "cube").replace("{name}", "cube").replace(
        "{token}", "A" * 43
    )


def test_every_route_has_a_row_that_says_who_may_call_it() -> None:
    assert {f"{route.method} {route.path}": route.scope for route in ROUTES} == WHO_MAY


async def test_no_closed_route_answers_without_a_good_key(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER, guesses=None) as here:
        good = (await here.key("jobs:read"))["authorization"].removeprefix("Bearer ")
        soon = datetime.now(UTC) + timedelta(seconds=0.2)
        expired = await here.key(*SCOPES, expires_at=soon.isoformat())
        async with here.patience():
            while datetime.now(UTC) <= soon:
                await here.breathe()
        bad: list[tuple[dict[str, str], str]] = [
            ({}, "no_key"),
            (bearer("nonsense"), "bad_key"),
            (bearer(MASTER + "x"), "bad_key"),
            (bearer(good[:-1] + ("a" if good[-1] != "a" else "b")), "bad_key"),
            (bearer("nor_" + "a" * 8 + "_" + "a" * 32), "bad_key"),
            ({"authorization": f"Basic {good}"}, "bad_key"),
            ({"authorization": good}, "bad_key"),
            (expired, "bad_key"),
        ]
        for row in CLOSED:
            method, path = called(row)
            for headers, code in bad:
                answer = await here.ask(method, path, headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (401, code), (row, headers)
                assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_key_without_the_scope_is_told_which_one_is_missing(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holders = {scope: await here.key(scope) for scope in SCOPES}
        for row in CLOSED:
            method, path = called(row)
            for scope, headers in holders.items():
                answer = await here.ask(method, path, headers=headers)
                if scope in (WHO_MAY[row], "admin"):
                    assert answer.status_code not in (401, 403) or answer.json()["code"] == "not_safe", (
                        row,
                        scope,
                    )
                else:
                    problem = answer.json()
                    assert (answer.status_code, problem["code"]) == (403, "scope_missing"), (row, scope)
                    assert problem["scope"] == WHO_MAY[row]


async def test_open_routes_tell_nothing_about_jobs_or_tasks(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        await here.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 1}}, headers=bearer(MASTER))
        for row in WHO_MAY.keys() - set(CLOSED):
            answer = await here.ask(*called(row))
            assert answer.status_code == (404 if "{token}" in row else 200), row
            assert "cube" not in answer.text
        assert (await here.ask("GET", "/livez")).json() == {"status": "alive"}
        assert (await here.ask("GET", "/readyz")).json() == {"status": "ready"}


# ---- closed by default


async def test_a_front_asks_for_a_key_unless_it_was_opened(short_tmp: Path) -> None:
    async with place(short_tmp, open=False) as here:
        assert (await here.ask("GET", "/v1/jobs")).json()["code"] == "no_key"


async def test_the_first_key_closes_an_open_front(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        assert (await here.ask("GET", "/v1/jobs")).status_code == 200
        made = await here.ask("POST", "/v1/keys", {"name": "first", "scopes": ["jobs:read"]})

        assert (await here.ask("GET", "/v1/jobs")).json()["code"] == "no_key"
        assert (await here.ask("GET", "/v1/jobs", headers=bearer(made.json()["key"]))).status_code == 200


# ---- keys


async def test_a_key_is_shown_once_and_stored_as_a_hash(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        made = await here.ask(
            "POST", "/v1/keys", {"name": "k", "scopes": ["jobs:read"]}, headers=bearer(MASTER)
        )
        token = made.json()["key"]
        listed = await here.ask("GET", "/v1/keys", headers=bearer(MASTER))
        docs = await here.app.backend.scan(keys.KIND)

        assert token.startswith(made.json()["prefix"])
        assert [each["id"] for each in listed.json()["items"]] == [made.json()["id"]]
        for text in (listed.text, *(doc.data.decode() for doc in docs)):
            assert token not in text and token.rpartition("_")[2] not in text
        assert "hash" not in listed.text
        await here.app.backend.aclose()
        dump = b"".join(path.read_bytes() for path in short_tmp.iterdir() if path.is_file())
        assert token.rpartition("_")[2].encode() not in dump and MASTER.encode() not in dump


async def test_a_revoked_key_is_good_no_more(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        made = (
            await here.ask("POST", "/v1/keys", {"name": "k", "scopes": ["jobs:read"]}, headers=bearer(MASTER))
        ).json()
        assert (await here.ask("GET", "/v1/jobs", headers=bearer(made["key"]))).status_code == 200
        gone = await here.ask("DELETE", f"/v1/keys/{made['id']}", headers=bearer(MASTER))

        assert gone.status_code == 204
        assert (await here.ask("GET", "/v1/jobs", headers=bearer(made["key"]))).json()["code"] == "bad_key"


async def test_the_last_use_of_a_key_is_noted(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:read")
        await here.ask("GET", "/v1/jobs", headers=holder)
        used = None
        while used is None:  # written beside the request
            items = (await here.ask("GET", "/v1/keys", headers=bearer(MASTER))).json()["items"]
            used = items[0]["last_used_at"]
        assert used >= items[0]["created_at"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"scopes": []}, "/scopes"),
        ({"scopes": ["everything"]}, "/scopes/0"),
        ({"scopes": ["admin"], "queues": ["a"]}, "/scopes"),
        ({"queues": ["a b"]}, "/queues"),
        ({"queues": ["*a"]}, "/queues"),
        ({"name": ""}, "/name"),
        ({"rate": 0}, "/rate"),
        ({"depth": -1}, "/depth"),
        ({"expires_at": "2099-01-01T00:00:00"}, "/expires_at"),
        ({"secret": "mine"}, "/secret"),
    ],
)
async def test_a_key_that_makes_no_sense_is_not_made(short_tmp: Path, change: Any, pointer: str) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/keys", {"name": "k", "scopes": ["jobs:read"], **change})

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == pointer


async def test_secrets_are_compared_in_constant_time(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[str, str]] = []

    def spy(a: str, b: str) -> bool:
        compared.append((a, b))
        return hmac.compare_digest(a, b)

    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:read")
        monkeypatch.setattr(keys.hmac, "compare_digest", spy)
        for headers in (bearer(MASTER), holder, bearer("wrong"), bearer("nor_" + "a" * 8 + "_" + "a" * 32)):
            compared.clear()
            await here.ask("GET", "/v1/jobs", headers=headers)
            assert compared, "every key that is given is compared, also one that cannot be right"
            assert all(len(a) == len(b) == 64 for a, b in compared), "hashes are compared, not keys"


SECRETS = {
    "token",
    "proof",
    "digest",
    "hash",
    "master",
    "given",
    "secret",
    "api_key",
    "_master",
    "authorization",
}


def told_apart(source: str) -> list[str]:
    """Comparisons, other than with None, that a secret is a part of."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            nothing = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
            names = {each.id for side in sides for each in ast.walk(side) if isinstance(each, ast.Name)}
            names |= {
                each.attr for side in sides for each in ast.walk(side) if isinstance(each, ast.Attribute)
            }
            if names & SECRETS and not nothing:
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("module", [keys, door, invitations, answers, invitation])
def test_no_comparison_touches_a_secret(module: Any) -> None:
    """A comparison that stops at the first difference tells how much of a guess was right (S9)."""
    assert told_apart(inspect.getsource(module)) == []


def test_a_comparison_of_a_secret_would_be_found() -> None:
    for wrong in ("token == x", "key.hash != digest", "self._master in (a,)", "x[1] == key.hash[1:]"):
        assert told_apart(wrong), wrong
    assert not told_apart("token is None")


async def test_no_secret_is_ever_logged(short_tmp: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:read", "jobs:enqueue")
        secret = {"task": "cube", "args": {"a": "the-secret-argument"}}
        for headers in (bearer(MASTER), holder, bearer("nor_wrong")):
            await here.ask("GET", "/v1/jobs", headers=headers)
            await here.ask("POST", "/v1/jobs", secret, headers=headers)
            await here.ask("GET", "/v1/jobs?q=the-secret-argument", headers=headers)
        await here.app.backend.aclose()
        down = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1]}, headers=bearer(MASTER))
        assert down.status_code == 503

    said = "".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    assert "POST /v1/jobs" in said
    for word in (MASTER, holder["authorization"].rpartition("_")[2], "the-secret-argument", "nor_wrong"):
        assert word not in said


# ---- tenants


class Tenants:
    """Two keys that may do everything a key with limits may, each in its own queues and with its own tasks."""

    def __init__(self, here: Place, ours: dict[str, str], theirs: dict[str, str], job: str) -> None:
        self.here, self.ours, self.theirs, self.job = here, ours, theirs, job


async def tenants(here: Place) -> Tenants:
    scopes = [scope for scope in SCOPES if scope != "admin"]
    ours = await here.key(*scopes, queues=["default", "a.*"], tasks=["cube"])
    theirs = await here.key(*scopes, queues=["other"], tasks=["echo"])
    made = await here.ask(
        "POST", "/v1/jobs", {"task": "cube", "args": {"a": 1}, "tags": ["vip"]}, headers=ours
    )
    return Tenants(here, ours, theirs, made.json()["id"])


async def test_a_job_of_another_tenant_is_as_one_that_is_not_there(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        they = await tenants(here)
        missing = "01a22c52-24f3-77d5-802a-6309c183da88"
        for row in CLOSED:
            if "/v1/jobs/{id}" not in row:
                continue
            method, path = row.split(" ")
            body = {"priority": 1} if method == "PATCH" else None
            seen = await here.ask(method, path.replace("{id}", they.job), body, headers=they.theirs)
            unseen = await here.ask(method, path.replace("{id}", missing), body, headers=they.theirs)
            assert seen.status_code == unseen.status_code == 404, row
            strip = {"instance": "", "detail": ""}
            assert {**seen.json(), **strip} == {**unseen.json(), **strip}
            assert seen.json()["detail"].replace(they.job, missing) == unseen.json()["detail"]
        assert (await here.ask("GET", f"/v1/jobs/{they.job}", headers=they.ours)).json()["state"] == "queued"


async def test_lists_show_a_tenant_its_own_jobs_and_tasks(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        they = await tenants(here)
        for query in (
            "",
            "?q=task:cube",
            "?queue=default",
            "?task=cube",
            "?tag=vip",
            "?q=vip",
            "?count=capped",
        ):
            found = (await here.ask("GET", f"/v1/jobs{query}", headers=they.theirs)).json()
            assert found["items"] == [] and not found.get("count"), query
            own = (await here.ask("GET", f"/v1/jobs{query}", headers=they.ours)).json()
            assert [job["id"] for job in own["items"]] == [they.job], query
        tasks = (await here.ask("GET", "/v1/tasks", headers=they.theirs)).json()["items"]
        assert [task["name"] for task in tasks] == ["echo"]
        assert (await here.ask("GET", "/v1/tasks/cube", headers=they.theirs)).status_code == 404
        document = (await here.ask("GET", "/openapi.json", headers=they.theirs)).text
        assert "call/echo" in document and "cube" not in document


async def test_a_tenant_enqueues_only_its_own_tasks_into_its_own_queues(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        they = await tenants(here)

        async def refused(path: str, body: Any, code: str) -> None:
            answer = await here.ask("POST", path, body, headers=they.theirs)
            assert (answer.status_code, answer.json()["code"]) == (403, code)

        await refused("/v1/jobs", {"task": "cube", "args": {"a": 1}, "queue": "other"}, "task_not_allowed")
        await refused("/v1/jobs", {"task": "unheard_of", "queue": "other"}, "task_not_allowed")
        await refused("/v1/jobs", {"task": "echo", "queue": "default"}, "queue_not_allowed")
        await refused("/v1/call/cube", {"a": 1}, "task_not_allowed")
        moved = await here.ask("PATCH", f"/v1/jobs/{they.job}", {"queue": "other"}, headers=they.ours)
        assert (moved.status_code, moved.json()["code"]) == (403, "queue_not_allowed")
        both = {"queue": "other", "priority": 5, "tags": ["changed"]}
        assert (await here.ask("PATCH", f"/v1/jobs/{they.job}", both, headers=they.ours)).status_code == 403
        found = (await here.ask("GET", f"/v1/jobs/{they.job}", headers=they.ours)).json()
        assert (found["priority"], found["tags"]) == (0, ["vip"]), "what is refused is refused as a whole"
        fine = await here.ask("PATCH", f"/v1/jobs/{they.job}", {"queue": "a.b"}, headers=they.ours)
        assert (fine.status_code, fine.json()["queue"]) == (200, "a.b")


UNIQUE = {"task": "cube", "args": {"a": 1}, "delay": 60, "unique": {"key": "u"}}


async def two_in_one_task(here: Place) -> tuple[str, dict[str, str]]:
    """A live job with a unique key in one queue, and a key of another queue for the same task."""
    theirs = await here.key("jobs:enqueue", "jobs:read", queues=["other"])
    made = await here.ask("POST", "/v1/jobs", {**UNIQUE, "tags": ["hidden"]}, headers=bearer(MASTER))
    return made.json()["id"], theirs


@pytest.mark.parametrize("how", ["return", "reject"])
@pytest.mark.parametrize("keyed", [False, True])
async def test_the_job_behind_a_unique_key_is_not_told_to_who_may_not_see_it(
    short_tmp: Path, how: str, keyed: bool
) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        hidden, theirs = await two_in_one_task(here)
        body = {**UNIQUE, "queue": "other", "unique": {"key": "u", "on_conflict": how}}
        for _ in range(2):
            key = {"idempotency-key": "k"} if keyed else {}
            answer = await here.ask("POST", "/v1/jobs", body, headers={**theirs, **key})
            assert (answer.status_code, answer.json()["code"]) == (409, "unique_conflict")
            assert hidden not in answer.text and "hidden" not in answer.text
            item = {**body, **({"idempotency_key": "i"} if keyed else {})}
            several = await here.ask("POST", "/v1/jobs/batch", [item, item], headers=theirs)
            assert [each["error"]["code"] for each in several.json()["items"]] == ["unique_conflict"] * 2
            assert hidden not in several.text


async def test_a_repeat_does_not_show_a_job_that_was_moved_out_of_sight(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        ours = await here.key("jobs:enqueue", "jobs:read", queues=["other"])
        body = {"task": "cube", "args": {"a": 1}, "queue": "other", "delay": 60}
        key = {**ours, "idempotency-key": "k"}
        made = await here.ask("POST", "/v1/jobs", body, headers=key)
        id = made.json()["id"]
        await here.ask("PATCH", f"/v1/jobs/{id}", {"queue": "secret"}, headers=bearer(MASTER))
        again = await here.ask("POST", "/v1/jobs", body, headers=key)

        assert (again.status_code, again.json()["code"]) == (409, "unique_conflict")
        assert "secret" not in again.text and id not in again.text


async def test_a_stream_ends_when_its_job_is_moved_out_of_sight(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        ours = await here.key("jobs:enqueue", "jobs:read", queues=["other"])
        body = {"task": "cube", "args": {"a": 1}, "queue": "other", "delay": 60}
        id = (await here.ask("POST", "/v1/jobs", body, headers=ours)).json()["id"]
        headers = {**ours, "accept": "text/event-stream"}
        watching = asyncio.ensure_future(here.ask("GET", f"/v1/jobs/{id}/events", headers=headers))
        async with asyncio.timeout(10):
            while not here.front.desk.streams.count:
                await asyncio.sleep(0)
        await here.ask("PATCH", f"/v1/jobs/{id}", {"queue": "secret"}, headers=bearer(MASTER))
        told = (await watching).text

        assert "event: gone" in told and "secret" not in told


async def test_an_explanation_tells_nothing_of_workers_that_are_not_seen(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        await here.hire(queues=("default",))
        ours = await here.key("jobs:enqueue", "jobs:read", queues=["other"])
        id = (await here.ask("POST", "/v1/jobs", {"task": "echo"}, headers=ours)).json()["id"]
        said = (await here.ask("GET", f"/v1/jobs/{id}/explain", headers=ours)).json()["explain"]

        assert "no worker is live" in said and "slot" not in said


async def test_the_idempotency_keys_of_tenants_do_not_meet(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        one = await here.key("jobs:enqueue")
        two = await here.key("jobs:enqueue")
        body = {"task": "cube", "args": {"a": 1}}
        first = await here.ask("POST", "/v1/jobs", body, headers={**one, "idempotency-key": "k"})
        second = await here.ask("POST", "/v1/jobs", body, headers={**two, "idempotency-key": "k"})

        assert first.json()["id"] != second.json()["id"]


async def test_a_key_with_a_rate_is_slowed_down_and_others_are_not(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        holder = await here.key("jobs:read", rate=0.01)
        assert (await here.ask("GET", "/v1", headers=holder)).status_code == 200
        slowed = await here.ask("GET", "/v1", headers=holder)

        assert (slowed.status_code, slowed.json()["code"]) == (429, "rate_limited")
        assert int(slowed.headers["retry-after"]) >= 90
        assert slowed.headers["ratelimit"] == '"requests";r=0;t=100'
        assert (await here.ask("GET", "/v1", headers=bearer(MASTER))).status_code == 200


async def test_every_answer_to_a_key_with_a_rate_tells_how_it_stands(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER, rate=50) as here:
        ours = await here.key("jobs:read", rate=0.5)
        first = await here.ask("GET", "/v1/jobs/x", headers=ours)
        usual = await here.ask("GET", "/v1", headers=bearer(MASTER))
        refused = await here.ask("GET", "/v1/keys", headers=ours)
        outside = await here.ask("GET", "/livez")

        assert (first.status_code, first.headers["ratelimit-policy"]) == (404, '"requests";q=1;w=2')
        assert first.headers["ratelimit"] == '"requests";r=0;t=2'
        assert usual.headers["ratelimit-policy"] == '"requests";q=50;w=1'
        assert "ratelimit" not in refused.headers, "it was not counted"
        assert "ratelimit" not in outside.headers


async def test_a_rate_allows_what_it_says_at_once_and_not_one_more(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        clock = ManualClock()
        ours = await here.key("jobs:read", rate=3)
        here.front.desk.door._rates = Buckets(clock)
        left = [(await here.ask("GET", "/v1", headers=ours)).headers["ratelimit"] for _ in range(4)]
        assert left == [f'"requests";r={n};t={1}' for n in (2, 1, 0, 0)]
        clock.advance(0.4)
        again = [(await here.ask("GET", "/v1", headers=ours)).status_code for _ in range(2)]
        assert again == [200, 429]


async def test_an_address_that_guesses_is_slowed_down_before_anything_is_looked_up(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER, guesses=0.5) as here:
        known, fresh = await here.key("jobs:read"), await here.key("jobs:read")
        assert (await here.ask("GET", "/v1", headers=known)).status_code == 200
        clock = ManualClock()
        here.front.desk.door._guesses = Buckets(clock)
        faulty = Faulty(here.app.backend)
        here.front.desk.keys._board = faulty

        async def guess(number: int) -> int:
            wrong = bearer("nor_" + "a" * 7 + "bcdefghijk"[number % 10] + "_" + "a" * 32)
            return (await here.ask("GET", "/v1", headers=wrong)).status_code

        assert await asyncio.gather(*map(guess, range(8))) == [401] * 5 + [429] * 3
        looked = faulty.calls["read"]
        slowed = await here.ask("GET", "/v1", headers=fresh)
        assert (slowed.status_code, slowed.json()["code"]) == (429, "rate_limited")
        assert (slowed.headers["retry-after"], faulty.calls["read"]) == ("2", looked)
        for good in (known, bearer(MASTER)):
            assert (await here.ask("GET", "/v1", headers=good)).status_code == 200
        clock.advance(4.0)
        for _ in range(3):
            assert (await here.ask("GET", "/v1", headers=fresh)).status_code == 200, (
                "a good key costs nothing"
            )
        assert [await guess(n) for n in range(3)] == [401, 401, 429]


def test_the_owner_of_an_address_is_who_is_counted() -> None:
    assert neighbourhood("192.0.2.7") == neighbourhood("::ffff:192.0.2.7") == "192.0.2.7"
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:1%eth0") == "2001:db8::/64"
    assert neighbourhood("2001:db8:0:1::1") != neighbourhood("2001:db8::1")
    assert neighbourhood("") == ""


# ---- pages of other origins


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "localhost:8080"}, 200),
        ({"host": "127.0.0.1"}, 200),
        ({"host": "[::1]:80"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "evil.example:localhost"}, 403),
        ({"host": ""}, 403),
        ({"origin": "http://localhost"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
    ],
)
async def test_a_page_in_a_browser_cannot_reach_an_open_front(
    short_tmp: Path, headers: dict[str, str], status: int
) -> None:
    async with place(short_tmp) as here:
        for method, path in (("GET", "/v1/jobs"), ("POST", "/v1/call/cube?wait=0")):
            body = {"a": 1} if method == "POST" else None
            answer = await here.ask(method, path, body, headers=headers)
            assert answer.status_code == (status if method == "GET" or status == 403 else 202), answer.text


async def test_origins_and_names_that_were_allowed_get_in(short_tmp: Path) -> None:
    async with place(short_tmp, hosts=("jobs.example",), origins=("https://app.example",)) as here:
        good = {"host": "jobs.example", "origin": "https://app.example"}
        assert (await here.ask("GET", "/v1/jobs", headers=good)).status_code == 200
        assert (await here.ask("GET", "/v1/jobs", headers={**good, "host": "localhost"})).status_code == 403


async def test_a_page_of_an_allowed_origin_may_ask_and_read(short_tmp: Path) -> None:
    origin = "https://app.example"
    async with place(short_tmp, origins=(origin,)) as here:
        question = {"origin": origin, "access-control-request-method": "POST"}
        asked = await here.ask("OPTIONS", "/v1/jobs", headers=question)
        answer = await here.ask("GET", "/v1/jobs", headers={"origin": origin})
        failed = await here.ask("GET", "/nowhere", headers={"origin": origin})

        assert asked.status_code == 204
        assert "POST" in asked.headers["access-control-allow-methods"]
        assert "idempotency-key" in asked.headers["access-control-allow-headers"]
        for each in (asked, answer, failed):
            assert each.headers["access-control-allow-origin"] == origin
            assert each.headers["vary"] == "Origin"
            assert "access-control-allow-credentials" not in each.headers
        assert "location" in answer.headers["access-control-expose-headers"]


async def test_a_page_of_any_other_origin_may_neither_ask_nor_read(short_tmp: Path) -> None:
    for settings in ({}, {"origins": ("https://app.example",)}):
        async with place(short_tmp, **settings) as here:
            question = {"origin": "https://evil.example", "access-control-request-method": "POST"}
            asked = await here.ask("OPTIONS", "/v1/jobs", headers=question)
            answer = await here.ask("GET", "/v1/jobs", headers={"origin": "https://evil.example"})

            assert (asked.status_code, answer.status_code) == (405, 403)
            for each in (asked, answer):
                assert "access-control-allow-origin" not in each.headers


async def test_bodies_are_json_and_nothing_a_form_could_send(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        body = json.dumps({"task": "cube", "args": {"a": 1}})
        for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = await here.ask("POST", "/v1/jobs", content=body, headers={"content-type": media})
            assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media"), media
        id = await here.enqueue("cube", {"a": 1})
        form = {"content-type": "application/x-www-form-urlencoded"}
        assert (await here.ask("POST", f"/v1/jobs/{id}/cancel", content=b"", headers=form)).status_code == 415
        assert (await here.ask("POST", f"/v1/jobs/{id}/cancel")).status_code == 200
