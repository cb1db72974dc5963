"""Two tenants at one front: whatever one asks for, by any route, it learns and changes nothing of the other's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from noria.front.principal import SCOPES
from noria.front.routes import ROUTES
from tests.support.door import MASTER, Place, bearer, place

MARKS = ("oursqueue", "cube", "marker")
"""Words in everything that is ours; no answer to the others has one that they have not said themselves."""
NOBODYS = "01a22c52-24f3-77d5-802a-6309c183da88"


class Row(NamedTuple):
    """What the other tenant tries, and the status that it gets. `{job}` and such are ours."""

    path: str
    status: int
    body: Any = None


class Free(NamedTuple):
    """A route that tells nothing of any tenant, and why that is so."""

    why: str


ROWS: dict[str, list[Row] | Free] = {
    "POST /v1/jobs": [
        Row("/v1/jobs", 403, {"task": "cube", "args": [1], "queue": "other"}),
        Row("/v1/jobs", 403, {"task": "echo", "queue": "oursqueue"}),
        Row("/v1/jobs", 403, {"task": "cube", "queue": "other", "unique": {"key": "marker"}}),
    ],
    "POST /v1/jobs/batch": [
        Row("/v1/jobs/batch", 200, [{"task": "cube", "args": [1]}, {"task": "echo", "queue": "oursqueue"}]),
    ],
    "GET /v1/jobs": [
        Row("/v1/jobs", 200),
        Row("/v1/jobs?q=tag:marker&count=capped", 200),
        Row("/v1/jobs?queue=oursqueue&task=cube&fields=id", 200),
        Row("/v1/jobs?include=args,result,attempts", 200),
    ],
    "GET /v1/jobs/{id}": [Row("/v1/jobs/{job}", 404), Row("/v1/jobs/{job}?wait=1&include=args", 404)],
    "PATCH /v1/jobs/{id}": [
        Row("/v1/jobs/{job}", 404, {"priority": 9}),
        Row("/v1/jobs/{job}", 404, {"queue": "other"}),
    ],
    "DELETE /v1/jobs/{id}": [Row("/v1/jobs/{job}", 404)],
    "GET /v1/jobs/{id}/events": [Row("/v1/jobs/{job}/events?wait=1", 404)],
    "GET /v1/jobs/{id}/result": [Row("/v1/jobs/{job}/result?wait=1", 404)],
    "GET /v1/jobs/{id}/explain": [Row("/v1/jobs/{job}/explain", 404)],
    "POST /v1/jobs/{id}/cancel": [Row("/v1/jobs/{job}/cancel", 404, {"wait": 1})],
    "POST /v1/jobs/{id}/retry": [Row("/v1/jobs/{job}/retry", 404)],
    "POST /v1/jobs/{id}/run": [Row("/v1/jobs/{job}/run", 404)],
    "POST /v1/jobs/{id}/discard": [Row("/v1/jobs/{job}/discard", 404)],
    "POST /v1/jobs/{id}/copy": [Row("/v1/jobs/{job}/copy", 404, {"queue": "other"})],
    "GET /v1/call/{task}": [Row("/v1/call/cube?a=1", 403)],
    "POST /v1/call/{task}": [Row("/v1/call/cube", 403, {"a": 1})],
    "GET /v1/tasks": [Row("/v1/tasks", 200)],
    "GET /v1/tasks/{name}": [Row("/v1/tasks/cube", 404)],
    "GET /v1/queues": [Row("/v1/queues", 200)],
    "GET /v1/queues/{name}": [Row("/v1/queues/oursqueue", 404)],
    "PUT /v1/queues/{name}": [Row("/v1/queues/oursqueue", 403)],
    "PATCH /v1/queues/{name}": [Row("/v1/queues/oursqueue", 403, {"concurrency": 1})],
    "POST /v1/queues/{name}/pause": [Row("/v1/queues/oursqueue/pause", 403, {"reason": "x"})],
    "POST /v1/queues/{name}/resume": [Row("/v1/queues/oursqueue/resume", 403)],
    "GET /v1/groups": [Row("/v1/groups", 200)],
    "POST /v1/groups/close": [Row("/v1/groups/close", 403, {"family": "host", "key": "marker"})],
    "POST /v1/groups/open": [Row("/v1/groups/open", 403, {"family": "host", "key": "marker"})],
    "GET /v1/resources": [Row("/v1/resources", 200)],
    "GET /v1/dead": [
        Row("/v1/dead", 200),
        Row("/v1/dead?group=fingerprint", 200),
        Row("/v1/dead?count=capped", 200),
    ],
    "GET /v1/workers": [Row("/v1/workers", 200)],
    "GET /v1/workers/{id}": [Row("/v1/workers/{worker}", 404)],
    "POST /v1/workers/{id}/quiet": [Row("/v1/workers/{worker}/quiet", 403)],
    "POST /v1/workers/{id}/stop": [Row("/v1/workers/{worker}/stop", 403)],
    "POST /v1/workers/{id}/resume": [Row("/v1/workers/{worker}/resume", 403)],
    "GET /v1/stats": [Row("/v1/stats", 200), Row("/v1/stats?flat=true", 200)],
    "GET /v1/stats/series": [Row("/v1/stats/series", 200)],
    "POST /v1/operations": [
        Row("/v1/operations", 200, {"action": "cancel", "ids": ["{job}"], "preview": True}),
        Row("/v1/operations", 200, {"action": "cancel", "filter": {}, "all": True, "preview": True}),
        Row("/v1/operations", 202, {"action": "cancel", "ids": ["{job}"]}),
        Row("/v1/operations", 202, {"action": "cancel", "filter": {"tag": "marker"}}),
        Row("/v1/operations", 202, {"action": "move", "ids": ["{job}"], "params": {"queue": "other"}}),
        Row(
            "/v1/operations",
            403,
            {"action": "move", "filter": {}, "all": True, "params": {"queue": "oursqueue"}},
        ),
        Row("/v1/operations", 403, {"action": "delete", "ids": ["{job}"]}),
    ],
    "GET /v1/operations": [Row("/v1/operations?limit=200", 200)],
    "GET /v1/operations/{id}": [Row("/v1/operations/{operation}", 404)],
    "POST /v1/operations/{id}/cancel": [Row("/v1/operations/{operation}/cancel", 404)],
    "GET /v1/questions": [Row("/v1/questions", 200)],
    "GET /v1/questions/{id}": [Row("/v1/questions/{question}", 404)],
    "POST /v1/questions/{id}/answer": [
        Row("/v1/questions/{question}/answer", 404, {"action": "accept", "data": "mine"}),
        Row("/v1/questions/{question}/answer", 404, {"action": "cancel"}),
    ],
    "GET /v1/schedules": [Row("/v1/schedules", 200)],
    "POST /v1/schedules": [
        Row("/v1/schedules", 403, {"name": "mine", "task": "cube", "args": [1], "every": 60}),
        Row("/v1/schedules", 403, {"name": "mine", "task": "echo", "queue": "oursqueue", "every": 60}),
        Row("/v1/schedules", 409, {"name": "marker", "task": "echo", "every": 60}),
    ],
    "POST /v1/schedules/preview": [Row("/v1/schedules/preview", 404, {"name": "marker"})],
    "GET /v1/schedules/{name}": [Row("/v1/schedules/marker", 404)],
    "PUT /v1/schedules/{name}": [
        Row("/v1/schedules/marker", 403, {"task": "cube", "args": [1], "every": 60}),
        Row("/v1/schedules/marker", 409, {"task": "echo", "every": 60}),
    ],
    "DELETE /v1/schedules/{name}": [Row("/v1/schedules/marker", 404)],
    "POST /v1/schedules/{name}/pause": [Row("/v1/schedules/marker/pause", 404, {"reason": "x"})],
    "POST /v1/schedules/{name}/resume": [Row("/v1/schedules/marker/resume", 404)],
    "POST /v1/schedules/{name}/run": [Row("/v1/schedules/marker/run", 404)],
    "POST /v1/schedules/{name}/backfill": [
        Row(
            "/v1/schedules/marker/backfill",
            404,
            {"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z"},
        )
    ],
    "GET /v1/keys": [Row("/v1/keys", 403)],
    "POST /v1/keys": [Row("/v1/keys", 403, {"name": "k", "scopes": ["jobs:read"]})],
    "DELETE /v1/keys/{id}": [Row("/v1/keys/{key}", 403)],
    "GET /v1": [Row("/v1", 200)],
    "GET /openapi.json": [Row("/openapi.json", 200)],
    "GET /answer/{token}": Free("who has the link of a question may answer it, whose ever it is"),
    "POST /answer/{token}": Free("who has the link of a question may answer it, whose ever it is"),
    "GET /livez": Free("it says that the process turns"),
    "GET /readyz": Free("it says that the backend answers"),
    "GET /docs": Free("a page that asks for a key"),
    "GET /docs/docs.css": Free("a file of the program"),
    "GET /docs/docs.js": Free("a file of the program"),
}


def test_every_route_has_a_row() -> None:
    assert {f"{route.method} {route.path}" for route in ROUTES} == set(ROWS)
    assert {row for row, tried in ROWS.items() if isinstance(tried, Free)} == {
        f"{route.method} {route.path}" for route in ROUTES if route.scope is None
    }


class Ours(NamedTuple):
    """What one tenant has, by what the rows call it."""

    headers: dict[str, str]
    job: str
    operation: str
    worker: str
    key: str
    question: str

    def put(self, value: Any) -> Any:
        """A row with our names in it."""
        match value:
            case str():
                names = {name: getattr(self, name) for name in self._fields if name != "headers"}
                for name, text in names.items():
                    value = value.replace("{" + name + "}", text)
                return value
            case list():
                return [self.put(each) for each in value]
            case dict():
                return {name: self.put(each) for name, each in value.items()}
            case _:
                return value


async def ours_at(here: Place) -> Ours:
    scopes = [scope for scope in SCOPES if scope != "admin"]
    headers = await here.key(*scopes, queues=["oursqueue"], tasks=["cube", "fail", "wonder"])

    async def ask(method: str, path: str, body: Any = None, by: dict[str, str] = headers) -> Any:
        answer = await here.ask(method, path, body, headers=by)
        assert answer.status_code < 300, answer.text
        return answer.json()

    question = await here.question("marker?", queue="oursqueue", name="marker-worker")
    dead = await ask("POST", "/v1/jobs", {"task": "fail", "args": ["marker"], "queue": "oursqueue"})
    await ask("GET", f"/v1/jobs/{dead['id']}?wait=10")
    wanted = {"task": "cube", "args": [1], "queue": "oursqueue", "tags": ["marker"], "delay": 600}
    job = await ask("POST", "/v1/jobs", {**wanted, "correlation_id": "marker", "unique": {"key": "marker"}})
    slow = {"action": "set_priority", "params": {"priority": 1}, "ids": [job["id"]], "note": "marker"}
    operation = await ask("POST", "/v1/operations", slow)
    async with here.patience():
        while (await ask("GET", f"/v1/operations/{operation['id']}"))["state"] != "done":
            pass
    await ask("POST", "/v1/queues/oursqueue/pause", {"reason": "marker"})
    timer = {"name": "marker", "task": "cube", "args": [1], "queue": "oursqueue", "cron": "0 0 1 1 *"}
    await ask("POST", "/v1/schedules", timer)
    keys = await ask("GET", "/v1/keys", by=bearer(MASTER))
    [worker] = (await ask("GET", "/v1/workers"))["items"]
    return Ours(headers, job["id"], operation["id"], worker["id"], keys["items"][0]["id"], question)


@pytest.mark.parametrize("row", [row for row, tried in ROWS.items() if not isinstance(tried, Free)])
async def test_one_tenant_learns_and_changes_nothing_of_another(short_tmp: Path, row: str) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        ours = await ours_at(here)
        scopes = [scope for scope in SCOPES if scope != "admin"]
        theirs = await here.key(*scopes, queues=["other"], tasks=["echo"])
        before = [await here.ask("GET", path, headers=bearer(MASTER)) for path in looks(ours)]
        tried = ROWS[row]
        assert not isinstance(tried, Free)
        for path, status, body in tried:
            path, body = ours.put(path), ours.put(body)
            answer = await here.ask(row.split()[0], path, body, headers=theirs)
            said = f"{path} {body}"
            assert answer.status_code == status, (said, answer.text)
            for mark in (*MARKS, ours.job, ours.operation, ours.worker, ours.question):
                assert mark in said or mark not in answer.text, (said, mark, answer.text)
            if status == 404:
                await is_as_if_it_were_not_there(here, row, path, body, theirs, ours, answer.json())
        operations = here.front.desk.operator
        async with here.patience():
            while operations._running:
                await here.breathe()
        after = [await here.ask("GET", path, headers=bearer(MASTER)) for path in looks(ours)]
        assert [each.json() for each in after] == [each.json() for each in before]


def looks(ours: Ours) -> list[str]:
    """Where a change of what is ours would be seen."""
    return [
        f"/v1/jobs/{ours.job}",
        f"/v1/operations/{ours.operation}",
        "/v1/jobs?queue=oursqueue",
        "/v1/schedules/marker",
        f"/v1/questions/{ours.question}",
    ]


async def is_as_if_it_were_not_there(
    here: Place, row: str, path: str, body: Any, theirs: dict[str, str], ours: Ours, seen: Any
) -> None:
    """What they may not see is answered as what is not there."""
    nobodys = path.replace("cube", "nosuch").replace("oursqueue", "nosuch").replace("marker", "nosuch")
    for id in (ours.job, ours.operation, ours.question):
        nobodys = nobodys.replace(id, NOBODYS)
    nobodys = nobodys.replace(ours.worker, "f" * 16)
    unseen = (await here.ask(row.split()[0], nobodys, body, headers=theirs)).json()
    assert {**seen, "instance": "", "detail": ""} == {**unseen, "instance": "", "detail": ""}, row
