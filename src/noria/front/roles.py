"""The roles of a front: which routes it has. A front for everybody may have fewer than one for its own people."""

from __future__ import annotations

from typing import Final, Literal, get_args

Role = Literal["jobs", "answers", "manage", "metrics", "docs"]
"""`jobs`: jobs one by one, what they ask, calls, and the tasks there are. `answers`: links by which persons
answer. `manage`: queues, timers, workers, dead letters, operations, keys. `metrics`: numbers. `docs`: the OpenAPI
document, and the page that shows it."""

ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""All of them, which a front has unless told otherwise. What has no role, every front has: the probes and `GET /v1`."""
