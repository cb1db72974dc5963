"""The routes of timers."""

from __future__ import annotations

from typing import Final

from noria.front import limits, schedule_requests, schedule_shapes, schedules, shapes
from noria.front.params import CURSOR, limit
from noria.front.requests import Nothing
from noria.front.route import Route

_OK: Final = {200: "done"}
_THERE: Final = ("schedule_not_found",)
_MADE: Final = (
    "wrong_state", "task_unknown", "task_not_allowed", "queue_not_allowed", "invalid_args", "too_large"
)  # fmt: skip

SCHEDULES: Final[tuple[Route, ...]] = (
    Route(
        method="GET", path="/v1/schedules", role="manage", gives=shapes.Page[schedule_shapes.Schedule],
        scope="jobs:read", handler=schedules.show, about="List timers, by name",
        params=(limit(limits.PAGE), CURSOR), success=_OK, problems=("bad_cursor",),
    ),
    Route(
        method="POST", path="/v1/schedules", role="manage", gives=schedule_shapes.Schedule,
        scope="schedules:manage", handler=schedules.create, about="Make a timer",
        body=schedule_requests.ScheduleWanted, success={201: "it is there"}, problems=_MADE,
    ),
    Route(
        method="POST", path="/v1/schedules/preview", role="manage", gives=schedule_shapes.Preview,
        scope="jobs:read", handler=schedules.preview, about="When a rule is due, in words and times",
        body=schedule_requests.PreviewWanted, success=_OK, problems=_THERE,
    ),
    Route(
        method="GET", path="/v1/schedules/{name}", role="manage", gives=schedule_shapes.Schedule,
        scope="jobs:read", handler=schedules.one, about="Read a timer", success=_OK, problems=_THERE,
    ),
    Route(
        method="PUT", path="/v1/schedules/{name}", role="manage", gives=schedule_shapes.Schedule,
        scope="schedules:manage", handler=schedules.put, about="Make a timer, or change one that was made here",
        body=schedule_requests.TimerPut, success=_OK, problems=(*_THERE, *_MADE),
    ),
    Route(
        method="DELETE", path="/v1/schedules/{name}", role="manage", scope="schedules:manage",
        handler=schedules.delete, about="Delete a timer; its jobs stay", success={204: "deleted"}, problems=_THERE,
    ),
    Route(
        method="POST", path="/v1/schedules/{name}/pause", role="manage", gives=schedule_shapes.Schedule,
        scope="schedules:manage", handler=schedules.pause, about="Let no slot of a timer run",
        body=schedule_requests.RestWanted, success=_OK, problems=_THERE,
    ),
    Route(
        method="POST", path="/v1/schedules/{name}/resume", role="manage", gives=schedule_shapes.Schedule,
        scope="schedules:manage", handler=schedules.resume, about="Go on with the next slot",
        body=Nothing, success=_OK, problems=_THERE,
    ),
    Route(
        method="POST", path="/v1/schedules/{name}/run", role="manage", gives=schedule_shapes.Schedule,
        scope="schedules:manage", handler=schedules.run, about="Run a timer now, out of turn",
        body=Nothing, success=_OK, problems=(*_THERE, "wrong_state", "queue_full"),
    ),
    Route(
        method="POST", path="/v1/schedules/{name}/backfill", role="manage", gives=schedule_shapes.Backfilled,
        scope="schedules:manage", handler=schedules.backfill, about="Run the slots of a time in the past once more",
        body=schedule_requests.BackfillWanted, success=_OK, problems=_THERE,
    ),
)  # fmt: skip
