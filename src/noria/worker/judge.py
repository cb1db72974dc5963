"""What the end of a handler makes of its job: told to end, or by its own fault."""

from __future__ import annotations

from enum import Enum

from noria.model import outcome as ends
from noria.model.backoff import Backoff, Chance
from noria.model.job import Lease
from noria.model.outcome import End, Failure, Outcome
from noria.model.task import TaskDef
from noria.worker.raised import Raised


class Doom(Enum):
    """Why a run was told to end."""

    TIMEOUT = "timeout"
    DEADLINE = "deadline"
    CANCEL = "cancelled"
    DRAIN = "released"
    LOST = "lost"


def after_raised(what: Raised, lease: Lease, task: TaskDef, chance: Chance) -> End:
    """The handler raised, or its process died."""
    match what.how:
        case "snooze":
            return ends.after_snooze(lease.tally, what.delay or 0.0, what.failure)
        case "cancel":
            return ends.after_cancel(what.failure)
        case "crash":
            return ends.after_crash(lease.tally, what.failure)
        case "unknown":
            return ends.after_park(what.failure)
        case how:
            retry, final = _retry(lease, task), how == "final"
            return ends.after_failure(lease.tally, what.failure, retry, chance, after=what.delay, final=final)


def after_doom(doom: Doom | None, lease: Lease, task: TaskDef, chance: Chance, why: str = "") -> End:
    """The handler was told to end, and has ended or is not waited for; `why` is what a cancellation says."""
    match doom:
        case Doom.CANCEL:
            return ends.after_cancel(
                Failure.of("cancelled", why or f"{task.name} was cancelled while it ran")
            )
        case Doom.DEADLINE:
            return deadline_passed()
        case Doom.TIMEOUT:
            failure = Failure.of("timeout", f"{task.name} ran longer than its time limit")
            retry = _retry(lease, task)
            return ends.after_failure(lease.tally, failure, retry, chance, outcome=Outcome.TIMED_OUT)
        case _:
            failure = Failure.of("released", "the worker was stopped while it ran")
            return ends.after_release(lease.tally, failure)


def deadline_passed() -> End:
    """The job has no time left."""
    return ends.after_deadline(Failure.of("deadline", "the job's deadline passed before it had ended"))


def _retry(lease: Lease, task: TaskDef) -> Backoff:
    """The waits that the job brings along, or else its task's."""
    return lease.extras.retry or task.retry
