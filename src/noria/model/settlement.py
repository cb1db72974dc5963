"""The end of a start, and the jobs that follow it: what a worker asks a backend to record in one step."""

from __future__ import annotations

from msgspec import Struct

from noria.ids import Id
from noria.model.job import NewJob
from noria.model.outcome import Failure, Outcome
from noria.model.state import State


class Settlement(Struct, frozen=True, gc=False):
    """The end of one start, as the worker asks the backend to record it.

    Attributes:
        id, starts: with the session, the fence: which start this ends.
        outcome: how the start ended.
        state: what the job becomes.
        delay: seconds until the job may run again; for RETRYING and SCHEDULED.
        result: the encoded value, for SUCCEEDED.
        codec: how `result` is encoded.
        failure: why, for everything but success.
        began: when the handler's first step ran, seconds since the epoch; 0 if it never ran.
        follow_ups: jobs to enqueue in the same step; only with SUCCEEDED.
        close: no further job of its group is started before this time, in seconds since the epoch; 0 closes nothing.
    """

    id: Id
    starts: int
    outcome: Outcome
    state: State
    delay: float = 0.0
    result: bytes | None = None
    codec: str = "json"
    failure: Failure | None = None
    began: float = 0.0
    follow_ups: tuple[NewJob, ...] = ()
    close: float = 0.0
