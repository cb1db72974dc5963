"""The one table of everything that the front answers: method, path, scope, handler, and what it says of itself."""

from __future__ import annotations

from typing import Any, Final

from noria.front import (
    administration,
    batch,
    call,
    changes,
    dead,
    definitions,
    events,
    fleet,
    jobs,
    limits,
    listing,
    openapi,
    operations,
    pages,
    probes,
    queues,
    shapes,
    stats,
)
from noria.front.group_routes import GROUPS
from noria.front.params import CURSOR, INCLUDE, KEY, PREFER, WAIT, limit
from noria.front.query import PARAMETERS
from noria.front.question_routes import QUESTIONS
from noria.front.requests import ItemWanted, JobWanted, Nothing
from noria.front.route import Param, Route
from noria.front.schedule_routes import SCHEDULES

_FILTERS: Final = tuple(Param(name, "see the query words") for name in PARAMETERS)
_FIELDS: Final = Param("fields", "`id`: ids only")
_COUNT: Final = Param("count", f"`capped`: count to {limits.COUNT:,}")
_OK: Final = {200: "done"}
_JOB: Final = ("job_not_found",)

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="POST", path="/v1/jobs", role="jobs", gives=shapes.Job,
        scope="jobs:enqueue", handler=jobs.create, about="Enqueue a job",
        body=JobWanted, params=(WAIT, PREFER, KEY),
        success={202: "accepted", 200: "it has ended, or another job with its unique key stands for it"},
        problems=(
            "task_unknown", "invalid_args", "unique_conflict", "id_conflict", "id_not_allowed", "idempotency_mismatch",
            "queue_full",
        ),
    ),
    Route(
        method="GET", path="/v1/jobs", role="jobs", scope="jobs:read", handler=listing.show,
        about="List jobs, newest first",
        params=(
            *_FILTERS, limit(limits.PAGE), CURSOR, INCLUDE, _FIELDS, _COUNT,
            Param("order", "`-created_at`, newest first, or `created_at`"),
        ),
        success=_OK, problems=("bad_filter", "bad_cursor"),
    ),
    Route(
        method="GET", path="/v1/jobs/{id}", role="jobs", gives=shapes.Job,
        scope="jobs:read", handler=jobs.show, about="Read a job",
        params=(WAIT, PREFER, INCLUDE), success={200: "as it stands"}, problems=_JOB,
    ),
    Route(
        method="PATCH", path="/v1/jobs/{id}", role="jobs", gives=shapes.Job,
        scope="jobs:manage", handler=changes.edit,
        about="Change a job that waits", body=changes.EditWanted, success=_OK, problems=(*_JOB, "wrong_state"),
    ),
    Route(
        method="DELETE", path="/v1/jobs/{id}", role="jobs", scope="jobs:manage", handler=changes.erase,
        about="Erase what is kept of a job that has ended", success={204: "erased"},
        problems=(*_JOB, "wrong_state"),
    ),
    Route(
        method="POST", path="/v1/jobs/batch", role="jobs", gives=shapes.Items,
        scope="jobs:enqueue", handler=batch.create,
        about="Enqueue many jobs", body=list[ItemWanted], success={200: "one answer an item, in order"},
    ),
    Route(
        method="GET", path="/v1/jobs/{id}/events", role="jobs", scope="jobs:read", handler=events.show,
        about="What happens to a job: server-sent events, or a list", media=("application/json", "text/event-stream"),
        params=(WAIT, PREFER, Param("after", "the `next` of the list before")),
        success={200: "events", 204: "it has ended, and the client knows"},
        problems=(*_JOB, "too_many_streams", "too_many_waiters"),
    ),
    Route(
        method="GET", path="/v1/jobs/{id}/result", role="jobs", scope="jobs:read", handler=jobs.result,
        about="The bare result of a job", params=(WAIT, PREFER), media=("*/*",), success={200: "the result"},
        problems=(*_JOB, "not_finished", "no_result", "result_expired"),
    ),
    Route(
        method="GET", path="/v1/jobs/{id}/explain", role="jobs", gives=shapes.Explained,
        scope="jobs:read", handler=jobs.why,
        about="Why a job is not running", success=_OK, problems=_JOB,
    ),
    Route(
        method="POST", path="/v1/jobs/{id}/cancel", role="jobs", gives=shapes.Job,
        scope="jobs:manage", handler=changes.cancel,
        about="Cancel a job", body=changes.CancelWanted, success=_OK, problems=_JOB,
    ),
    Route(
        method="POST", path="/v1/jobs/{id}/retry", role="jobs", gives=shapes.Job,
        scope="jobs:manage", handler=changes.retry,
        about="Try a failed, cancelled or expired job again", body=changes.RetryWanted, success=_OK,
        problems=(*_JOB, "wrong_state", "unique_conflict"),
    ),
    Route(
        method="POST", path="/v1/jobs/{id}/run", role="jobs", gives=shapes.Job,
        scope="jobs:manage", handler=changes.run,
        about="Run a scheduled job now", body=Nothing, success=_OK, problems=(*_JOB, "wrong_state"),
    ),
    Route(
        method="POST", path="/v1/jobs/{id}/discard", role="jobs", gives=shapes.Job,
        scope="jobs:manage", handler=changes.discard,
        about="Count a failed job as a dead letter no more", body=changes.DiscardWanted, success=_OK,
        problems=(*_JOB, "wrong_state"),
    ),
    Route(
        method="POST", path="/v1/jobs/{id}/copy", role="jobs", gives=shapes.Job,
        scope="jobs:enqueue", handler=changes.copy,
        about="Enqueue a job like this one", body=changes.CopyWanted, params=(KEY,), success={201: "the new job"},
        problems=(*_JOB, "invalid_args", "idempotency_mismatch"),
    ),
    Route(
        method="GET", path="/v1/call/{task}", role="jobs", scope="jobs:enqueue", handler=call.get,
        about="Call a safe task with the arguments in the query", params=(WAIT, PREFER), open_query=True,
        media=("*/*",),
        success={200: "what the task returned", 202: "it has not ended yet"},
        problems=("task_unknown", "not_safe", "invalid_args", "task_failed"),
    ),
    Route(
        method="POST", path="/v1/call/{task}", role="jobs", scope="jobs:enqueue", handler=call.post,
        about="Call a task with the arguments in the body", body=dict[str, Any], params=(WAIT, PREFER, KEY),
        media=("*/*",),
        success={200: "what the task returned", 202: "it has not ended yet"},
        problems=("task_unknown", "invalid_args", "task_failed", "idempotency_mismatch"),
    ),
    Route(
        method="GET", path="/v1/tasks", role="jobs", gives=shapes.Page[shapes.Task],
        scope="jobs:read", handler=definitions.show, about="List tasks", success=_OK
    ),
    Route(
        method="GET", path="/v1/tasks/{name}", role="jobs", gives=shapes.Task,
        scope="jobs:read", handler=definitions.one, about="Read a task",
        success=_OK, problems=("task_unknown",),
    ),
    Route(
        method="GET", path="/v1/queues", role="manage", gives=shapes.Page[shapes.Queue],
        scope="jobs:read", handler=queues.show, about="List queues", success=_OK
    ),
    Route(
        method="GET", path="/v1/queues/{name}", role="manage", gives=shapes.Queue,
        scope="jobs:read", handler=queues.one, about="Read a queue",
        success=_OK, problems=("queue_unknown",),
    ),
    Route(
        method="PUT", path="/v1/queues/{name}", role="manage", gives=shapes.Queue,
        scope="queues:manage", handler=queues.put,
        about="Be sure that a queue can be used, and say what limits it has", body=queues.QueueWanted, success=_OK,
        problems=("queue_unknown", "queue_not_allowed"),
    ),
    Route(
        method="PATCH", path="/v1/queues/{name}", role="manage", gives=shapes.Queue,
        scope="queues:manage", handler=queues.patch,
        about="Change some limits of a queue", body=queues.LimitsWanted, success=_OK,
        problems=("queue_unknown", "queue_not_allowed"),
    ),
    Route(
        method="POST", path="/v1/queues/{name}/pause", role="manage", gives=shapes.Queue,
        scope="queues:manage", handler=queues.pause,
        about="Have no jobs of a queue begin", body=queues.PauseWanted, success=_OK,
        problems=("queue_unknown", "queue_not_allowed"),
    ),
    Route(
        method="POST", path="/v1/queues/{name}/resume", role="manage", gives=shapes.Queue,
        scope="queues:manage", handler=queues.resume,
        about="Have them begin again", body=Nothing, success=_OK, problems=("queue_unknown", "queue_not_allowed"),
    ),
    Route(
        method="GET", path="/v1/dead", role="manage", scope="jobs:read", handler=dead.show,
        about="List dead letters, or what is probably one fault",
        params=(*_FILTERS, limit(limits.PAGE), CURSOR, INCLUDE, _FIELDS, _COUNT, Param("group", "`fingerprint`")),
        success=_OK, problems=("bad_filter", "bad_cursor"),
    ),
    Route(
        method="GET", path="/v1/stats/series", role="metrics", scope="metrics", handler=stats.series,
        about="What came and went, by time",
        params=(
            Param("since", "a time, or an age such as `2h`; an hour ago if left out"), Param("until", "the same; now"),
            Param(
                "step", "seconds of one span",
                {"type": "integer", "minimum": 60, "maximum": 86_400, "multipleOf": 60},
            ),
        ),
        success=_OK, problems=("bad_filter",),
    ),
    Route(
        method="GET", path="/v1/workers", role="manage", gives=shapes.Page[shapes.Worker],
        scope="jobs:read", handler=fleet.show, about="List workers", success=_OK
    ),
    Route(
        method="GET", path="/v1/workers/{id}", role="manage", gives=shapes.Worker,
        scope="jobs:read", handler=fleet.one, about="Read a worker",
        success=_OK, problems=("worker_unknown",),
    ),
    Route(
        method="POST", path="/v1/workers/{id}/quiet", role="manage", gives=shapes.Worker,
        scope="admin", handler=fleet.quiet,
        about="Have a worker finish what it has, and take no more",
        body=Nothing, success=_OK, problems=("worker_unknown",),
    ),
    Route(
        method="POST", path="/v1/workers/{id}/stop", role="manage", gives=shapes.Worker,
        scope="admin", handler=fleet.stop,
        about="Have a worker finish what it has, and end",
        body=Nothing, success=_OK, problems=("worker_unknown",),
    ),
    Route(
        method="POST", path="/v1/workers/{id}/resume", role="manage", gives=shapes.Worker,
        scope="admin", handler=fleet.resume,
        about="Have a quiet worker go on",
        body=Nothing, success=_OK, problems=("worker_unknown",),
    ),
    Route(
        method="GET", path="/v1/stats", role="metrics", scope="metrics", handler=stats.show,
        about="The whole in numbers",
        params=(Param("flat", "`true`: one object of numbers"),), success=_OK,
    ),
    Route(
        method="POST", path="/v1/operations", role="manage", scope="jobs:manage", handler=operations.create,
        about="Do something to many jobs, or preview it", body=operations.OperationWanted, params=(KEY,),
        success={202: "begun", 200: "a preview"},
        problems=("count_changed", "idempotency_mismatch", "queue_not_allowed", "queue_full"),
    ),
    Route(
        method="GET", path="/v1/operations", role="manage", gives=shapes.Page[shapes.Operation],
        scope="jobs:read", handler=operations.show,
        about="List operations, newest first", params=(limit(limits.PAGE), CURSOR), success=_OK,
        problems=("bad_cursor",),
    ),
    Route(
        method="GET", path="/v1/operations/{id}", role="manage", gives=shapes.Operation,
        scope="jobs:read", handler=operations.one,
        about="How far an operation has come", success=_OK, problems=("operation_unknown",),
    ),
    Route(
        method="POST", path="/v1/operations/{id}/cancel", role="manage", gives=shapes.Operation,
        scope="jobs:manage", handler=operations.cancel,
        about="Stop an operation", body=Nothing, success=_OK, problems=("operation_unknown",),
    ),
    *QUESTIONS,
    *GROUPS,
    *SCHEDULES,
    Route(
        method="GET", path="/v1/keys", role="manage", gives=shapes.Page[shapes.Key],
        scope="admin", handler=administration.show, about="List keys",
        params=(limit(limits.PAGE), CURSOR), success=_OK, problems=("bad_cursor",),
    ),
    Route(
        method="POST", path="/v1/keys", role="manage", gives=shapes.Key,
        scope="admin", handler=administration.create,
        about="Make a key; it is shown only now", body=administration.KeyWanted, success={201: "the key"},
    ),
    Route(
        method="DELETE", path="/v1/keys/{id}", role="manage", scope="admin", handler=administration.revoke,
        about="Revoke a key", success={204: "revoked"}, problems=("key_unknown",),
    ),
    Route(
        method="GET", path="/v1", role=None, scope="jobs:read", handler=probes.about,
        about="What this front is, can, and allows", success=_OK,
    ),
    Route(
        method="GET", path="/livez", role=None, scope=None, handler=probes.alive,
        about="The process turns", success=_OK,
    ),
    Route(
        method="GET", path="/readyz", role=None, scope=None, handler=probes.ready,
        about="The front can serve", success=_OK,
        problems=("backend_down", "draining"),
    ),
    Route(
        method="GET", path="/openapi.json", role="docs", scope="jobs:read", handler=openapi.show,
        about="This document: OpenAPI 3.1", success=_OK,
    ),
    Route(
        method="GET", path="/docs", role="docs", scope=None, handler=pages.docs, media=("text/html",),
        about="This document, to read", success=_OK,
    ),
    Route(
        method="GET", path="/docs/docs.css", role="docs", scope=None, handler=pages.style, media=("text/css",),
        about="Its style", success=_OK,
    ),
    Route(
        method="GET", path="/docs/docs.js", role="docs", scope=None, handler=pages.script, media=("text/javascript",),
        about="Its script", success=_OK,
    ),
)  # fmt: skip
"""Without a scope a route is for everybody, without a role it is at every front. `tests/front` has a
row for each that says the same."""
