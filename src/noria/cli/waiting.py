"""Waits for a job that a command has enqueued: prints its states, if wanted, and how it ended."""

from __future__ import annotations

from contextlib import aclosing
from datetime import datetime
from typing import Any

import msgspec

from noria import aio, ids
from noria.app.status import attempt_of
from noria.cli.escape import cut, lines, one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.output import Output, to_json
from noria.cli.producer import Producer
from noria.clock import SystemClock, moment
from noria.errors import JobError, ResultGone, WaitTimeout
from noria.front.resources import summary
from noria.model.job import Record


async def wait(out: Output, producer: Producer[Any], id: str, seconds: float) -> None:
    """Print the value of a job, or the id of one that has not ended in time.

    Raises:
        JobError, Stop: it ended without one.
        WaitTimeout: it has not ended.
    """
    out.note(f"waiting for job {id}")
    try:
        await _end(out, producer, id, seconds)
    except WaitTimeout:
        _print_id(out, id)
        raise


async def follow(
    out: Output, producer: Producer[Any], id: str, seconds: float | None, patience: float
) -> None:
    """Print how a job stands whenever that changes, and then its value, as `wait` does.

    Args:
        seconds: so long at most; None is as long as it takes.
        patience: seconds within which its end is told, once it has ended.
    """
    out.note(f"following job {id}")
    clock = SystemClock()
    began = clock.monotonic()
    scope = aio.bounded(seconds)
    try:
        async with scope, aclosing(producer.states(id)) as states:
            async for record in states:
                _tell(out, record, clock.wall())
    except TimeoutError:
        if not scope.expired():
            raise
        _print_id(out, id)
        raise WaitTimeout(f"job {id} had not ended after {seconds:g} s; it goes on") from None
    await _end(out, producer, id, clock.monotonic() - began + patience)


def _tell(out: Output, record: Record, now: float) -> None:
    """One line; for programs the end is told with the result."""
    tally = record.tally
    if not out.json:
        at = datetime.fromtimestamp(now).astimezone().strftime("%H:%M:%S")
        where = f"  on {one_line(record.worker)}" if record.worker else ""
        why = f"  {cut(summary(record.failure), 60)}" if record.failure is not None else ""
        attempt = f"{attempt_of(record)}/{tally.attempts}"
        out.line(out.paint(f"{at}  {record.state.word:<9}  {attempt}{where}{why}", record.state.word))
    elif not record.state.final:
        out.record(
            {
                "id": ids.to_text(record.id),
                "state": record.state.word,
                "attempt": attempt_of(record),
                "max_attempts": tally.attempts,
                "run_at": moment(record.due),
                "worker": record.worker or None,
            }
        )


async def _end(out: Output, producer: Producer[Any], id: str, seconds: float) -> None:
    try:
        value = await producer.value(id, seconds)
    except ResultGone as error:
        out.note(str(error))
        if out.json:  # no null, which is a value that a task may return
            out.record({"id": id, "state": error.state or None, "gone": True})
        return
    except JobError as error:
        if not out.json:
            raise
        out.record({"id": id, "state": error.state, "error": {"message": str(error)}})
        raise Stop(ExitCode.FAILED) from error
    if out.json:
        out.record({"id": id, "state": "succeeded", "result": value})
    else:
        out.line(_plain(value))


def _plain(value: msgspec.Raw) -> str:
    """A value as a shell wants it: text without its quotes."""
    try:
        return lines(msgspec.json.decode(value, type=str))
    except msgspec.ValidationError:
        return to_json(value)


def _print_id(out: Output, id: str) -> None:
    if out.json:
        out.record({"id": id, "state": None})
    else:
        out.line(id)
    out.note(f"the job goes on: noria jobs show {id}")
