"""One example of each route for the document: what is sent, if anything, and what a success looks like."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

_ID: Final = "019e7a5c-24f3-77d5-802a-6309c183da88"
_AT: Final = "2026-11-30T08:00:00.000Z"
_LATER: Final = "2026-11-30T08:00:01.250Z"
_PATH: Final = f"/v1/jobs/{_ID}"
_FINGERPRINT: Final = "6f1c0d0f7a5b2e9c"

_QUEUED: Final[dict[str, Any]] = {
    "id": _ID, "task": "add", "queue": "default", "state": "queued", "final": False, "dead": False, "priority": 0,
    "attempt": 1, "max_attempts": 5, "starts": 0, "crashes": 0, "releases": 0, "snoozes": 0, "created_at": _AT,
    "run_at": _AT, "started_at": None, "finished_at": None, "expires_at": None, "deadline_at": None, "timeout": None,
    "tags": ["vip"], "correlation_id": "order-881", "unique_key": None, "group": None, "needs": [], "copy_of": None,
    "schedule": None, "slot_at": None, "parent_id": None, "root_id": None, "after": [], "awaits": [], "linked": [],
    "worker": None, "cancelling": False, "cancelling_since": None, "progress": None, "question_id": None, "items": 0,
    "error": None,
    "args": {"a": 1, "b": 2},
    "links": {"self": _PATH, **{verb: f"{_PATH}/{verb}" for verb in ("result", "events", "explain", "cancel")}},
}  # fmt: skip
_DONE: Final = {
    **_QUEUED, "state": "succeeded", "final": True, "starts": 1, "started_at": _AT, "finished_at": _LATER, "result": 3
}  # fmt: skip
_ERROR: Final = {
    "reason": "error", "type": "builtins.ValueError", "message": "out of paper", "traceback": None,
    "fingerprint": _FINGERPRINT, "attempt": 5,
}  # fmt: skip
_FAILED: Final = {
    **_QUEUED, "state": "failed", "final": True, "dead": True, "attempt": 5, "starts": 5, "started_at": _AT,
    "finished_at": _LATER, "error": _ERROR,
}  # fmt: skip
_CANCELLED: Final = {
    **_QUEUED, "state": "cancelled", "final": True, "finished_at": _LATER,
    "error": {**_ERROR, "reason": "cancelled", "type": None, "message": "not needed", "attempt": 1},
}  # fmt: skip
_TASK: Final = {
    "name": "add", "description": "The sum of two numbers.",
    "args_schema": {
        "type": "object", "required": ["a", "b"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    },
    "result_schema": {"type": "integer"}, "positional": ["a", "b"], "queue": "default", "priority": 0, "attempts": 5,
    "crashes": 3, "timeout": None, "keep": None, "tags": [],
    "retry": {"base": 1.0, "cap": 600.0, "factor": 2.0, "jitter": "full"}, "executor": "async", "safe": False,
    "workers_serving": 2, "rate": 4.2, "failed_1h": 0,
}  # fmt: skip
_QUEUE: Final = {
    "name": "default", "counts": {"queued": 12, "running": 3, "succeeded": 4_213}, "dead": 1,
    "oldest_ready_seconds": 0.4, "consumers": 2, "paused": None, "held_by": None, "order": "oldest",
    "ageing": 3_600.0, "max_age": None, "max_length": 100_000, "concurrency": None, "high_water": None,
    "in_rate": 4.5, "out_rate": 4.2, "seconds_to_empty": None,
}  # fmt: skip
_GROUP: Final = {
    "family": "host", "key": "shop.example", "limit": 2, "rate": {"times": 1, "seconds": 1.0, "burst": 1},
    "ordered": False, "taken": 2, "waiting": 40, "holders": [_ID], "closed": None, "next_at": _LATER,
}  # fmt: skip
_CLOSED: Final = {**_GROUP, "closed": {"by": "k7nq2b5d", "reason": "they asked us to stop", "until": None}}
_RESOURCE: Final = {
    "name": "tunnel", "capacity": 4, "rate": None, "used": 1, "holders": [_ID], "next_at": None
}  # fmt: skip
_PAUSED: Final = {**_QUEUE, "paused": {"by": "k7nq2b5d", "reason": "deploy", "since": _AT, "until": None}}
_WORKER: Final = {
    "id": "000000000000002a", "name": "w7", "host": "shop-1", "pid": 4_213, "version": "0.1.0", "language": "python",
    "queues": ["default"], "tasks": ["add"], "slots": {"async": {"busy": 3, "size": 100}}, "state": "active",
    "command": None, "started_at": _AT, "beat_at": _LATER, "rss": 61_000_000, "load": 0.4, "loop_lag": 0.001,
    "buffered": 2, "unsettled": 0, "settled": 4_213, "held": 1, "jobs": [_ID],
}  # fmt: skip
_QUIET: Final = {**_WORKER, "state": "quiet", "command": "quiet"}
_OPERATION: Final = {
    "id": _ID, "action": "retry", "target": "jobs", "filter": {"q": "task:add error:paper"},
    "params": {"delay": 60}, "state": "running", "matched": 4_213, "done": 500, "skipped": 2, "failed": 0,
    "errors": [], "rate": 50.0, "by": "k7nq2b5d", "note": "paper is back", "created_at": _AT, "finished_at": None,
}  # fmt: skip
_KEY: Final = {
    "id": "k7nq2b5d", "prefix": "nor_k7nq2b5d_", "name": "shop", "scopes": ["jobs:enqueue", "jobs:read"],
    "queues": ["shop.*"], "tasks": [], "rate": 50.0, "depth": 10_000, "created_at": _AT, "expires_at": None,
    "last_used_at": None,
}  # fmt: skip
_RULE: Final = {
    "words": "At 03:00 every day (Europe/Berlin)", "every": None, "cron": "0 3 * * *", "tz": "Europe/Berlin",
    "next_at": ["2026-12-01T02:00:00.000Z", "2026-12-02T02:00:00.000Z"],
}  # fmt: skip
_TIMER: Final = {
    **_RULE, "name": "nightly", "task": "add", "queue": "default", "args": {"a": 1, "b": 2}, "overlap": "skip",
    "catch_up": "latest", "window": 0.0, "jitter": 0.0, "priority": 0, "attempts": 5, "crashes": 3, "source": "api",
    "paused": None,
    "last_slot_at": "2026-11-30T02:00:00.000Z", "last_job_id": _ID, "waiting_at": [], "backlog": 0, "ran": 12,
    "skipped": 1, "missed": 0,
    "log": [
        {
            "first_at": "2026-11-30T02:00:00.000Z", "last_at": "2026-11-30T02:00:00.000Z", "what": "ran", "count": 1,
            "job_id": _ID,
        },
    ],
}  # fmt: skip
_RESTING: Final = {
    **_TIMER,
    "paused": {"by": "k7nq2b5d", "reason": "stocktaking", "since": _AT},
    "next_at": [],
}
_TIMED: Final = {"task": "add", "args": {"a": 1, "b": 2}, "cron": "0 3 * * *", "tz": "Europe/Berlin"}
_WORDS: Final = {
    "arrived": 40, "succeeded": 38, "failed": 1, "cancelled": 0, "expired": 0, "retried": 3, "crashed": 0
}  # fmt: skip

_INVITATION: Final = {
    "id": _ID.replace("24f3", "24f4"), "name": "code", "message": "The code that was sent to 555",
    "schema": {"type": "string", "pattern": "^[0-9]{6}$"}, "secret": False, "state": "open",
    "expires_at": "2026-11-30T08:05:00.000Z",
}  # fmt: skip
_QUESTION: Final = {
    "id": _ID.replace("24f3", "24f4"), "job_id": _ID, "task": "login", "queue": "default", "name": "code",
    "message": "The code that was sent to 555", "schema": {"type": "string", "pattern": "^[0-9]{6}$"}, "secret": False,
    "state": "open", "created_at": _AT, "expires_at": "2026-11-30T08:05:00.000Z", "on_expiry": "fail",
    "answered_by": None, "supersedes": None, "following": None,
    "answer_url": "https://jobs.example.com/answer/AaIsUiT0d9WAKmMJwYPaiCJ8pUcKXBTS0cpxZkF1vG8",
    "links": {
        "self": "/v1/questions/" + _ID.replace("24f3", "24f4"),
        "answer": "/v1/questions/" + _ID.replace("24f3", "24f4") + "/answer", "job": _PATH,
    },
}  # fmt: skip


def _page(*items: Any, **more: Any) -> dict[str, Any]:
    return {"items": list(items), "next": None, **more}


class Example(NamedTuple):
    """What is sent, and what is answered; None is nothing."""

    answer: Any = None
    body: Any = None


EXAMPLES: Final[dict[str, Example]] = {
    "POST /v1/jobs": Example(
        _QUEUED, {"task": "add", "args": {"a": 1, "b": 2}, "tags": ["vip"], "correlation_id": "order-881"}
    ),
    "GET /v1/jobs": Example(_page(_QUEUED)),
    "GET /v1/jobs/{id}": Example(_DONE),
    "PATCH /v1/jobs/{id}": Example({**_QUEUED, "priority": 5}, {"priority": 5}),
    "DELETE /v1/jobs/{id}": Example(),
    "POST /v1/jobs/batch": Example(
        {"items": [{"index": 0, "status": 202, "job_id": _ID}]},
        [{"task": "add", "args": {"a": 1, "b": 2}, "idempotency_key": "order-881"}],
    ),
    "GET /v1/jobs/{id}/events": Example(_page({"id": "4", "event": "job", "data": _DONE}, final=True) | {"next": "4"}),
    "GET /v1/jobs/{id}/result": Example(3),
    "GET /v1/jobs/{id}/explain": Example(
        {
            "id": _ID,
            "state": "queued",
            "explain": "queued in 'default' for 2.0 s; no worker is live",
            "reasons": [
                {
                    "code": "queued",
                    "text": "queued in 'default' for 2.0 s",
                    "fields": {"queue": "default", "seconds": 2.0},
                },
                {"code": "no_worker", "text": "no worker is live", "fields": {}},
            ],
        }
    ),
    "POST /v1/jobs/{id}/cancel": Example(_CANCELLED, {"reason": "not needed", "wait": 5}),
    "POST /v1/jobs/{id}/retry": Example(_QUEUED, {"delay": 60, "attempts": 3}),
    "POST /v1/jobs/{id}/run": Example(_QUEUED, {}),
    "POST /v1/jobs/{id}/discard": Example({**_FAILED, "dead": False}, {"reason": "known fault"}),
    "POST /v1/jobs/{id}/copy": Example({**_QUEUED, "copy_of": _ID}, {"priority": 5}),
    "GET /v1/call/{task}": Example(3),
    "POST /v1/call/{task}": Example(3, {"a": 1, "b": 2}),
    "GET /v1/tasks": Example(_page(_TASK)),
    "GET /v1/tasks/{name}": Example(_TASK),
    "GET /v1/queues": Example(_page(_QUEUE)),
    "GET /v1/queues/{name}": Example(_QUEUE),
    "PUT /v1/queues/{name}": Example(_QUEUE, {"max_length": 100_000}),
    "PATCH /v1/queues/{name}": Example({**_QUEUE, "concurrency": 10}, {"concurrency": 10}),
    "POST /v1/queues/{name}/pause": Example(_PAUSED, {"reason": "deploy"}),
    "POST /v1/queues/{name}/resume": Example(_QUEUE, {}),
    "GET /v1/groups": Example(_page(_GROUP)),
    "POST /v1/groups/close": Example(
        _CLOSED, {"family": "host", "key": "shop.example", "reason": "they asked us to stop"}
    ),
    "POST /v1/groups/open": Example(_GROUP, {"family": "host", "key": "shop.example"}),
    "GET /v1/resources": Example(_page(_RESOURCE)),
    "GET /v1/dead": Example(_page(_FAILED)),
    "GET /v1/stats/series": Example(_page({"at": _AT, "queue": "default", "task": "add", **_WORDS}, step=60)),
    "GET /v1/workers": Example(_page(_WORKER)),
    "GET /v1/workers/{id}": Example(_WORKER),
    "POST /v1/workers/{id}/quiet": Example(_QUIET, {}),
    "POST /v1/workers/{id}/stop": Example({**_QUIET, "command": "stop"}, {}),
    "POST /v1/workers/{id}/resume": Example(_WORKER, {}),
    "GET /v1/stats": Example(
        {
            "totals": {"queued": 12, "running": 3}, "dead": 1, "workers": 2, "slots": {"busy": 3, "size": 200},
            "queues": [{name: _QUEUE[name] for name in ("name", "counts", "dead", "oldest_ready_seconds")}],
            "since_start": _WORDS, "tasks": [{"name": "add", **_WORDS}],
        }
    ),
    "POST /v1/operations": Example(
        _OPERATION,
        {
            "action": "retry", "filter": {"q": "task:add error:paper"}, "params": {"delay": 60}, "expected": 4_213,
            "rate": 50, "note": "paper is back",
        },
    ),
    "GET /v1/operations": Example(_page(_OPERATION)),
    "GET /v1/operations/{id}": Example(_OPERATION),
    "POST /v1/operations/{id}/cancel": Example({**_OPERATION, "state": "cancelled", "finished_at": _LATER}, {}),
    "GET /v1/questions": Example(_page(_QUESTION)),
    "GET /v1/questions/{id}": Example(_QUESTION),
    "GET /answer/{token}": Example(_INVITATION),
    "POST /answer/{token}": Example(
        {**_INVITATION, "state": "answered", "answer": "120964"}, {"action": "accept", "data": "120964"}
    ),
    "POST /v1/questions/{id}/answer": Example(
        {**_QUESTION, "state": "answered", "answered_by": "k7nq2b5d", "answer": "120964"},
        {"action": "accept", "data": "120964"},
    ),
    "GET /v1/schedules": Example(_page(_TIMER)),
    "POST /v1/schedules": Example(_TIMER, {"name": "nightly", **_TIMED}),
    "POST /v1/schedules/preview": Example(_RULE, {"cron": "0 3 * * *", "tz": "Europe/Berlin", "count": 2}),
    "GET /v1/schedules/{name}": Example(_TIMER),
    "PUT /v1/schedules/{name}": Example(_TIMER, _TIMED),
    "DELETE /v1/schedules/{name}": Example(),
    "POST /v1/schedules/{name}/pause": Example(_RESTING, {"reason": "stocktaking"}),
    "POST /v1/schedules/{name}/resume": Example(_TIMER, {}),
    "POST /v1/schedules/{name}/run": Example(_TIMER, {}),
    "POST /v1/schedules/{name}/backfill": Example(
        {**_TIMER, "backlog": 2, "slots": 2}, {"since": "2026-11-27T12:00:00Z", "until": "2026-11-29T12:00:00Z"}
    ),
    "GET /v1/keys": Example(_page(_KEY)),
    "POST /v1/keys": Example(
        {**_KEY, "key": "nor_k7nq2b5d_abcdefghijklmnopqrstuvwxyz234567"},
        {"name": "shop", "scopes": ["jobs:enqueue", "jobs:read"], "queues": ["shop.*"], "rate": 50, "depth": 10_000},
    ),
    "DELETE /v1/keys/{id}": Example(),
    "GET /v1": Example(
        {
            "version": "0.1.0", "time": _AT, "expose": ["jobs", "manage", "metrics", "docs"],
            "backend": {"kind": "sqlite", "durability": "to disk, before it is said"},
            "capabilities": {"delay": True, "priority": True, "browse": True, "stream": True},
            "limits": {"wait_seconds": 60, "batch_items": 1_000},
            "key": {"id": "k7nq2b5d", "scopes": ["jobs:enqueue", "jobs:read"]},
        }
    ),
    "GET /livez": Example({"status": "alive"}),
    "GET /readyz": Example({"status": "ready"}),
    "GET /openapi.json": Example({"openapi": "3.1.0", "info": {"title": "Noria", "version": "0.1.0"}, "paths": {}}),
    "GET /docs": Example("<!doctype html>"),
    "GET /docs/docs.css": Example("body { margin: 0 }"),
    "GET /docs/docs.js": Example('"use strict";'),
}  # fmt: skip
"""By method and path. The suite holds them against the schemas of the document, and against what is answered."""
