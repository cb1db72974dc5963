"""Exceptions as text, whatever they are made of."""

from __future__ import annotations

import traceback
from types import TracebackType

from noria.errors import Control
from noria.model.limits import MAX_MESSAGE
from noria.model.outcome import Failure, Reason

_OURS = ("/noria/worker/", "/noria/app/", "/asyncio/")
_LONGEST_LINE = MAX_MESSAGE


def describe(error: BaseException, reason: Reason = "exception") -> Failure:
    """The failure that an exception stands for. Never raises, however odd the exception."""
    return Failure.of(reason, _text(error), type=_name(type(error)), traceback=_trace(error))


def _name(kind: type[BaseException]) -> str:
    try:
        return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    except BaseException:  # noqa: BLE001 - a metaclass may break even this
        return type.__repr__(kind)


def _text(error: BaseException) -> str:
    try:
        # Joined, it is a plain text, whatever subclass of one __str__ gave.
        return "".join([str(error)])
    except BaseException as second:  # noqa: BLE001 - a broken __str__ must not break the worker
        return f"<its message cannot be read: {type(second).__name__}>"


def _trace(error: BaseException) -> str:
    if issubclass(type(error), Control):
        return ""
    try:
        lines = traceback.format_exception(type(error), error, _own_frames(error.__traceback__))
        # A line may be a message of megabytes, before which no frame would be kept.
        return "".join([line[:_LONGEST_LINE] for line in lines])
    except BaseException as second:  # noqa: BLE001 - as above, for exceptions that cannot be formatted
        return f"<its traceback cannot be formatted: {type(second).__name__}>"


def _own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Skip the worker's frames at the top, and the event loop's below it: people look for their own."""
    while trace is not None and trace.tb_next is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(file: str) -> bool:
    return any(each in file for each in _OURS)
