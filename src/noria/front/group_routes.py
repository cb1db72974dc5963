"""The routes of groups and resources."""

from __future__ import annotations

from typing import Final

from noria.front import groups, limits, shapes
from noria.front.params import CURSOR, limit
from noria.front.requests import GroupWanted
from noria.front.route import Param, Route

_OK: Final = {200: "done"}

GROUPS: Final[tuple[Route, ...]] = (
    Route(
        method="GET", path="/v1/groups", role="manage", gives=shapes.Page[shapes.JobGroup],
        scope="jobs:read", handler=groups.show, about="List groups in use, by family and key",
        params=(Param("family", "only groups of this family"), limit(limits.PAGE), CURSOR),
        success=_OK, problems=("bad_cursor",),
    ),
    Route(
        method="POST", path="/v1/groups/close", role="manage", gives=shapes.JobGroup,
        scope="queues:manage", handler=groups.close, about="Have no jobs of a group begin",
        body=groups.CloseWanted, success=_OK, problems=("queue_not_allowed",),
    ),
    Route(
        method="POST", path="/v1/groups/open", role="manage", gives=shapes.JobGroup,
        scope="queues:manage", handler=groups.reopen, about="Have them begin again",
        body=GroupWanted, success=_OK, problems=("queue_not_allowed",),
    ),
    Route(
        method="GET", path="/v1/resources", role="manage", gives=shapes.Page[shapes.Resource],
        scope="jobs:read", handler=groups.resources, about="List resources, by name", success=_OK,
    ),
)  # fmt: skip
