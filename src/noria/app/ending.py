"""How a job ended, and what that is for who waits for it: a value, or an error that tells the story."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from msgspec import Struct

from noria import ids
from noria.backends.contract import Outline
from noria.codecs import Misfit
from noria.errors import InvalidResult, JobCancelled, JobExpired, JobFailed, ResultGone
from noria.ids import Id
from noria.model.job import Record
from noria.model.outcome import Failure
from noria.model.state import State
from noria.model.wording import count

DecodeResult = Callable[[bytes, str], Any]
"""Turns (encoded value, codec) into the value. Raises `Misfit`."""


class Ending(Struct, frozen=True):
    """The outcome of a job, as far as a waiter needs it.

    Attributes:
        state: its final state.
        task: its task, if that was read.
        result, codec: the encoded value; None if it is no longer kept, or there is none.
        failure: why it has no value.
        spent: attempts that counted.
    """

    state: State
    task: str = ""
    result: bytes | None = None
    codec: str = "json"
    failure: Failure | None = None
    spent: int = 0


def ending_of(record: Record) -> Ending | None:
    """The ending that a record tells; None if the job has not ended."""
    if not record.state.final:
        return None
    return Ending(
        record.state, record.task, record.result, record.result_codec, record.failure, record.tally.spent
    )


def ending_in(outline: Outline) -> Ending | None:
    """The ending that a hint tells; None if the record must be read to know it."""
    if outline.state != State.SUCCEEDED or outline.result is None:
        return None
    return Ending(State.SUCCEEDED, result=outline.result.encode(), codec=outline.codec)


def value_of(ending: Ending, id: Id, decode: DecodeResult) -> Any:
    """The value with which a job ended.

    Args:
        decode: reads the value as the task declares it.

    Raises:
        JobFailed, JobCancelled, JobExpired: it ended without a value.
        ResultGone: its value is no longer kept.
        InvalidResult: its value is not of the type that the task declares.
    """
    job = ids.to_text(id)
    if ending.state is not State.SUCCEEDED:
        _raise(ending, job)
    if ending.result is None:
        raise ResultGone(f"job {job} succeeded, but its result is no longer kept; see `keep`", job_id=job)
    try:
        return decode(ending.result, ending.codec)
    except Misfit as misfit:
        raise InvalidResult(
            f"job {job} succeeded, but not with what its task declares to return: {misfit.of('the result')}",
            job_id=job,
        ) from misfit.__cause__


def _raise(ending: Ending, job: str) -> NoReturn:
    failure = ending.failure or Failure("exception", "no reason is recorded")
    what = f"job {job}" + (f" ({ending.task})" if ending.task else "")
    why = f"{failure.type}: {failure.message}" if failure.type else failure.message or failure.reason
    match ending.state:
        case State.CANCELLED:
            raise JobCancelled(f"{what} was cancelled: {why}", job_id=job)
        case State.EXPIRED:
            raise JobExpired(f"{what} expired: {why}", job_id=job)
        case _:
            raise JobFailed(
                f"{what} failed after {count(ending.spent, 'counted attempt')}: {why}",
                job_id=job,
                type=failure.type,
                text=failure.message,
                traceback=failure.traceback,
            )
