"""How a start of a job ends, and what that makes of the job: decisions only, no I/O."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Literal

from msgspec import Struct

from noria.model.backoff import Backoff, Chance
from noria.model.limits import MAX_MESSAGE, MAX_RELEASES, MAX_SNOOZES, MAX_TRACEBACK, SUSPECT_AT
from noria.model.state import State


class Outcome(IntEnum):
    """How one start ended. Only FAILED and TIMED_OUT spend an attempt; only CRASHED spends crash budget."""

    SUCCEEDED = 1
    FAILED = 2
    TIMED_OUT = 3
    CRASHED = 4
    RELEASED = 5
    SNOOZED = 6
    CANCELLED = 7

    @property
    def word(self) -> str:
        """The outcome as code, REST, CLI and docs write it."""
        return self.name.lower()


_MAX_TYPE: Final = 200

Reason = Literal[
    "exception",
    "retry",
    "fail",
    "timeout",
    "crash",
    "arguments",
    "result",
    "cancelled",
    "expired",
    "deadline",
    "max_age",
    "unknown_task",
    "released",
    "snoozed",
    "loop",
    "parent",
]


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why a start or a job did not succeed, as text.

    Attributes:
        reason: a stable word for programs.
        message: for people; bounded.
        type: the qualified name of the exception, if there was one.
        traceback: the formatted traceback, if there was one; bounded, its end kept.
    """

    reason: Reason
    message: str = ""
    type: str = ""
    traceback: str = ""

    @staticmethod
    def of(reason: Reason, message: str, *, type: str = "", traceback: str = "") -> Failure:
        """A failure whose texts are cut to what is kept, and can be stored whatever they hold."""
        # Cut before and after: a message may have megabytes, and escapes make it longer.
        return Failure(
            reason,
            _fit(message[:MAX_MESSAGE])[:MAX_MESSAGE],
            _fit(type[:_MAX_TYPE])[:_MAX_TYPE],
            _fit(traceback[-MAX_TRACEBACK:])[-MAX_TRACEBACK:],
        )


def _fit(text: str) -> str:
    # Lone surrogates cannot be written as UTF-8 and NUL ends a text in SQL; both appear in real messages.
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


class Tally(Struct, frozen=True, gc=False):
    """What a job has used up so far, and what it may use.

    Attributes:
        spent: attempts that counted and ended; the running start is attempt spent + 1.
        attempts: how many may count.
        crashes: starts that ended because the process died.
        crash_budget: at this many crashes the job fails.
        releases: starts given back before they ran.
        snoozes: starts that the handler put off.
    """

    spent: int = 0
    attempts: int = 1
    crashes: int = 0
    crash_budget: int = 1
    releases: int = 0
    snoozes: int = 0

    @property
    def suspect(self) -> bool:
        """Whether the job has crashed so often that it must run apart from other suspects."""
        return self.crashes >= SUSPECT_AT


class End(Struct, frozen=True, gc=False):
    """What a start amounts to, decided before it is tied to a job."""

    outcome: Outcome
    state: State
    delay: float = 0.0
    failure: Failure | None = None


def after_success() -> End:
    """The handler returned and its value could be encoded."""
    return End(Outcome.SUCCEEDED, State.SUCCEEDED)


def after_failure(
    tally: Tally,
    failure: Failure,
    backoff: Backoff,
    chance: Chance,
    *,
    outcome: Outcome = Outcome.FAILED,
    after: float | None = None,
    final: bool = False,
) -> End:
    """The attempt counts: retry it, or fail for good when no attempt is left or `final` says so.

    Args:
        after: seconds to wait, if the handler chose them; else the backoff decides.
        final: no further attempt, whatever is left (`raise Fail`, `Backoff.never`, bad arguments).
    """
    spent = tally.spent + 1
    if final or spent >= tally.attempts:
        return End(outcome, State.FAILED, failure=failure)
    wait = backoff.wait(spent, chance) if after is None else after
    return End(outcome, State.RETRYING, wait, failure)


def after_snooze(tally: Tally, delay: float, failure: Failure) -> End:
    """The handler put the job off; only the cap on snoozes can make that a failure."""
    if tally.snoozes + 1 > MAX_SNOOZES:
        return End(Outcome.SNOOZED, State.FAILED, failure=_looped("put off", MAX_SNOOZES))
    return End(Outcome.SNOOZED, State.SCHEDULED, delay, failure)


def after_release(tally: Tally, failure: Failure) -> End:
    """The start was given back; only the cap on releases can make that a failure."""
    if tally.releases + 1 > MAX_RELEASES:
        return End(Outcome.RELEASED, State.FAILED, failure=_looped("given back", MAX_RELEASES))
    return End(Outcome.RELEASED, State.QUEUED, failure=failure)


def after_crash(tally: Tally, failure: Failure) -> End:
    """The process died while the job ran."""
    crashes = tally.crashes + 1
    state = State.FAILED if crashes >= tally.crash_budget else State.QUEUED
    return End(Outcome.CRASHED, state, failure=failure)


def after_park(failure: Failure) -> End:
    """This worker does not know the task; the job waits for one that does."""
    return End(Outcome.RELEASED, State.PARKED, failure=failure)


def after_cancel(failure: Failure) -> End:
    """The job was cancelled while it ran, by its handler or from outside."""
    return End(Outcome.CANCELLED, State.CANCELLED, failure=failure)


def after_deadline(failure: Failure) -> End:
    """The job's deadline passed while it ran."""
    return End(Outcome.TIMED_OUT, State.EXPIRED, failure=failure)


def _looped(what: str, times: int) -> Failure:
    return Failure.of(
        "loop", f"the job was {what} {times} times without ending; look for a loop, then retry it"
    )
