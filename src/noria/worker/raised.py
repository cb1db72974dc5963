"""What a handler raised, as data: the same whether it ran in this process or in another."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from noria.errors import Cancel, Fail, InvalidArguments, Retry, Snooze
from noria.model.backoff import Backoff
from noria.model.limits import MAX_DELAY
from noria.model.outcome import Failure
from noria.worker.describe import describe

How = Literal["fail", "final", "snooze", "cancel", "crash", "unknown"]

_Delay = Annotated[float, Meta(ge=0, le=MAX_DELAY)]


class Raised(Struct, frozen=True):
    """How a start that returned no value ended.

    Attributes:
        how: "fail": the attempt counts; "final": it counts, and none follows; "snooze", "cancel": as the
            handler said; "crash": its process died; "unknown": its process does not know the task.
        failure: why.
        delay: seconds until it runs again, if the handler said so.
    """

    how: How
    failure: Failure
    delay: _Delay | None = None


class Unpackable(Exception):
    """Wraps what the encoder raised, to tell it from what the handler raised."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


_NO_RETRY: Final = Backoff()


def raised(error: BaseException, retry: Backoff = _NO_RETRY) -> Raised:
    """What an exception of a handler means. Never raises, however odd the exception.

    Args:
        retry: the task's own, which may name exceptions after which it is not tried again.
    """
    try:
        return _read(error, retry)
    except BaseException as second:  # noqa: BLE001 - odd enough to break judging, still only data
        return Raised("fail", describe(second))


def refused(error: BaseException) -> Raised:
    """What it means that the arguments could not be decoded: nobody expects that another try would help."""
    if isinstance(error, InvalidArguments):
        return Raised("final", describe(error, "arguments"))
    return Raised("fail", describe(error))


def _read(error: BaseException, retry: Backoff) -> Raised:
    match error:
        case Snooze():
            # Made anew, since its attributes may have been set to anything since it was made.
            return Raised("snooze", describe(error, "snoozed"), Snooze(error.delay).delay)
        case Cancel():
            return Raised("cancel", describe(error, "cancelled"))
        case Fail():
            return Raised("final", describe(error, "fail"))
        case Retry():
            return Raised("fail", describe(error, "retry"), Retry(after=error.after).after)
        case Unpackable():
            return Raised("final", describe(error.cause, "result"))
        case _:
            return Raised("final" if retry.refuses(error) else "fail", describe(error))
