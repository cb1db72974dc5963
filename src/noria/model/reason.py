"""Why a job does not run: one thing that is true of it, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

Field = str | int | float | bool | None
"""What a reason tells of: times are text, as REST writes them."""


class Reason(Struct, frozen=True):
    """One reason.

    Attributes:
        code: which of `CODES` it is.
        text: the same as part of a sentence, without a full stop.
        fields: what it speaks of, by name; times are RFC 3339 in UTC, durations are seconds.
    """

    code: str
    text: str
    fields: Mapping[str, Field] = {}


STATES: Final[Mapping[str, str]] = {
    "scheduled": "it waits for its time: `run_at`",
    "queued": "it may run: `queue`, `seconds` for which it could have",
    "running": "it runs: `worker`, `since`, `attempt`, `attempts`",
    "asking": "it waits for the answer of a person: `question`, `until`",
    "waiting": "it waits for others to end: the first three `jobs`, how many are `pending`, and `on`; or in line for "
    "its group: `family`, `key`, `place`",
    "retrying": "its last attempt failed: `attempt`, `attempts`, `run_at`",
    "parked": "no worker that took it knew its task: `since`",
    "succeeded": "it has ended: `at`",
    "failed": "it has ended: `at`, and whether it is `dead`",
    "cancelled": "it has ended: `at`",
    "expired": "it has ended: `at`",
}
"""The first reason of each job is the state it is in."""

CODES: Final[Mapping[str, str]] = {
    **STATES,
    "lapsed": "its time is over: the next sweep ends it as expired",
    "paused": "its queue is paused: `queue`, `by`, `reason`, `since`, `until`",
    "queue_held": "its queue is held while another backs up: `queue`, `held_by`, so many `waiting` there, `high_water`",
    "group_closed": "its group is closed: `family`, `key`, `by`, `reason`, `until`",
    "group_full": "all places of its group are taken: `family`, `key`, `taken`, `limit`, `ordered`; `holders`, the "
    "ids of the first of those jobs",
    "group_rate": "the rate of its group: so many `times` in so many `seconds`, `next_at`; `family`, `key`",
    "resource_used": "all tokens of a `resource` are held: `used`, `capacity`",
    "resource_rate": "the rate of a `resource` allows no start before `next_at`",
    "no_worker": "no worker is live",
    "unserved": "no live worker serves its `queue`",
    "unknown_task": "no live worker of its `queue` knows its `task`",
    "queue_busy": "as many jobs of its queue run as may: `queue`, `concurrency`, `running`",
    "next_lease": "a live worker knows its task, and will lease it next",
    "suspect": "it has crashed its process before: a process runs one such job at a time: `crashes`",
    "behind": "others are before it: `place` in its line, counted to `counted_to`; `waiting` in its queue; `priority`; "
    "workers are `running` so many jobs in so many `slots`",
    "cancelling": "its worker was told to end it: `since`",
    "silent": "its worker gives no sign of life",
    "dead": "it is a dead letter until it is retried or discarded",
}
"""What each code means, and the fields that come with it; those of states come first, others by their weight."""
