"""Waits for a job that a command has enqueued: prints its states, if wanted, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Any

import msgspec

from noria import aio, ids
from noria.app.status import attempt_of
from noria.cli.escape import cut, lines, one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.output import Output, to_json
from noria.cli.producer import Emitted, Missed, Producer
from noria.clock import SystemClock, moment
from noria.errors import BackendError, JobError, ResultGone, WaitTimeout
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
    """Print how a job stands whenever that changes, and what it emits, and then its value, as `wait` does.

    Args:
        seconds: so long at most; None is as long as it takes.
        patience: seconds within which its end is told, once it has ended.
    """
    out.note(f"following job {id}")
    clock = SystemClock()
    began = clock.monotonic()
    scope = aio.bounded(seconds)
    try:
        async with scope, aclosing(producer.events(id)) as events:
            told: dict[str, Any] = {}
            async for event in events:
                if not isinstance(event, Record):
                    _tell_item(out, id, event, clock.wall())
                elif (news := _standing(event)) != told:
                    told = news
                    _tell(out, event, news, clock.wall())
    except BackendError:
        out.note(f"the job goes on: noria jobs show {id}")
        raise
    except TimeoutError:
        if not scope.expired():
            raise
        _print_id(out, id)
        raise WaitTimeout(f"job {id} had not ended after {seconds:.3g} s; it goes on") from None
    await _end(out, producer, id, clock.monotonic() - began + patience)


def _standing(record: Record) -> dict[str, Any]:
    """How a job stands, as far as it is told."""
    found: dict[str, Any] = {
        "id": ids.to_text(record.id),
        "state": record.state.word,
        "attempt": attempt_of(record),
        "max_attempts": record.tally.attempts,
        "run_at": moment(record.due),
        "worker": record.worker or None,
    }
    if record.progress is not None and not record.state.final:
        found["progress"] = {"fraction": record.progress.fraction, "note": record.progress.note}
    if record.question:
        found["question_id"] = record.question
    return found


def _tell(out: Output, record: Record, news: Mapping[str, Any], now: float) -> None:
    """One line; for programs the end is told with the result."""
    if out.json:
        if not record.state.final:
            out.record(news)
        return
    parts = [f"{record.state.word:<9}", f"{news['attempt']}/{news['max_attempts']}"]
    if record.worker:
        parts.append(f"on {one_line(record.worker)}")
    if record.question:
        parts.append(f"question {record.question}")
    elif "progress" in news and record.progress is not None:
        parts.append(f"{record.progress.fraction:.0%} {cut(one_line(record.progress.note), 60)}".rstrip())
    if record.failure is not None:
        parts.append(cut(summary(record.failure), 60))
    out.line(out.paint("  ".join((_time(now), *parts)), record.state.word))


def _tell_item(out: Output, id: str, event: Emitted | Missed, now: float) -> None:
    if isinstance(event, Missed):
        out.warn(f"partial results before {event.offset} were dropped before they could be read")
    elif out.json:
        out.record({"id": id, "offset": event.offset, "item": event.item})
    else:
        out.line(f"{_time(now)}  item {event.offset}  {lines(to_json(event.item))}")


def _time(now: float) -> str:
    return datetime.fromtimestamp(now).astimezone().strftime("%H:%M:%S")


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
