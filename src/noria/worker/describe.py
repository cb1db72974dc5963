"""Exceptions as text, whatever they are made of; and what a handler meant by raising them."""

from __future__ import annotations

import traceback
from types import TracebackType

from noria.errors import Cancel, Control, Fail, InvalidArguments, Retry, Snooze
from noria.model.outcome import Failure, Reason

_OURS = "/noria/worker/"


def describe(error: BaseException, reason: Reason = "exception") -> Failure:
    """The failure that an exception stands for. Never raises, however odd the exception."""
    kind = type(error)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return Failure.of(reason, _text(error), type=name, traceback=_trace(error))


def reason_of(error: BaseException) -> Reason:
    """The stable word for what a handler raised."""
    match error:
        case Retry():
            return "retry"
        case Fail():
            return "fail"
        case Cancel():
            return "cancelled"
        case Snooze():
            return "snoozed"
        case InvalidArguments():
            return "arguments"
        case _:
            return "exception"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as second:  # noqa: BLE001 - a broken __str__ must not break the worker
        return f"<its message cannot be read: {type(second).__name__}>"


def _trace(error: BaseException) -> str:
    if isinstance(error, Control):
        return ""
    try:
        return "".join(traceback.format_exception(type(error), error, _own_frames(error.__traceback__)))
    except BaseException as second:  # noqa: BLE001 - as above, for exceptions that cannot be formatted
        return f"<its traceback cannot be formatted: {type(second).__name__}>"


def _own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Skip the worker's frames at the top: people look for their own."""
    while trace is not None and _OURS in trace.tb_frame.f_code.co_filename and trace.tb_next is not None:
        trace = trace.tb_next
    return trace
