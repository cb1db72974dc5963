"""Jobs as people read them: one line in a list, and the whole story of one. Only text is made here."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from noria import ids
from noria.app.status import attempt_of
from noria.cli.escape import cut, lines, one_line
from noria.cli.quantities import age, count, duration
from noria.cli.traces import own_frame
from noria.clock import moment
from noria.front.resources import summary
from noria.model.job import Record, Start
from noria.model.mark import Progress
from noria.model.outcome import Outcome
from noria.model.state import RUNS, State, can

COLUMNS: Final = ("id", "state", "task", "age", "attempts", "error")
_STEP: Final = 38
"""Columns before what a step of the timeline says."""
MAX_CHILDREN: Final = 20
"""Follow-ups of a job that are shown."""
MAX_SHOWN: Final = 4_000
"""Characters of arguments and of a result that are shown; --json has all of them."""


class Children(NamedTuple):
    """Follow-ups of a job: the first of them, and whether there are more."""

    records: Sequence[Record] = ()
    more: bool = False


NO_CHILDREN: Final = Children()


def short(id: ids.Id) -> str:
    """The last 8 digits of an id: enough to tell the jobs on one screen apart."""
    return ids.to_text(id)[-8:]


def row(record: Record, now: float) -> tuple[str, ...]:
    """A job as one line of a list."""
    tally = record.tally
    return (
        short(record.id),
        record.state.word + (" (dead)" if record.dead else ""),
        one_line(record.task),
        age(record.created, now),
        f"{attempt_of(record)}/{tally.attempts}",
        cut(summary(record.failure), 60),
    )


def story(
    record: Record, now: float, explained: str, width: int | None = None, children: Children = NO_CHILDREN
) -> Iterator[str]:
    """Everything about a job, one line each: header, follow-ups, timeline, arguments, result, error, what can be done.

    Why a start ended is told whole; where it does not fit into `width` columns, it is wrapped.
    """
    yield f"{ids.to_text(record.id)}  {record.state.word}"
    yield one_line(explained)
    yield from _facts(record)
    yield from _follow_ups(record, children)
    yield ""
    yield from _timeline(record, now, width)
    yield from _value("arguments", record.body, record.codec)
    yield from _value("result", record.result, record.result_codec)
    yield from _error(record)
    yield from _past(record)
    yield ""
    yield from _choices(record)


def _facts(record: Record) -> Iterator[str]:
    extras = record.extras
    facts = {
        "task": record.task,
        "queue": f"{record.queue}, priority {record.priority}",
        "attempts": f"{attempt_of(record)} of {record.tally.attempts}" + _uncounted(record),
        "worker": record.worker,
        "unique": record.unique,
        "tags": ", ".join(extras.tags),
        "correlation": extras.correlation_id,
        "progress": _progress(record.progress),
        "asks": record.question,
        "items": str(record.items or ""),
        "schedule": f"{extras.schedule}, slot {moment(extras.slot)}" if extras.schedule else "",
        "follow-up of": ids.of_hex(extras.parent_id),
        "after": ", ".join(map(ids.of_hex, extras.after[:3])) + _others(len(extras.after) - 3),
        "start by": moment(record.expires),
        "finish by": moment(record.deadline),
    }
    for name, value in facts.items():
        if value:
            yield f"  {name:<12}{one_line(value)}"


def _others(more: int) -> str:
    return f" and {count(more, 'other')}" if more > 0 else ""


def _follow_ups(record: Record, children: Children) -> Iterator[str]:
    if children.records or record.linked:
        yield ""
        yield "follow-ups"
    for child in children.records:
        yield f"  {ids.to_text(child.id)}  {child.state.word:<10}  {one_line(child.task)}"
    for other in record.linked:
        yield f"  {ids.to_text(other)}  stood for one: it had its unique key, or its id"
    if children.more:
        yield f"  … more: noria jobs list parent:{ids.to_text(record.id)}"


def _progress(progress: Progress | None) -> str:
    if progress is None:
        return ""
    return f"{progress.fraction:.0%} {progress.note}".rstrip() + f", at {moment(progress.at)}"


def _uncounted(record: Record) -> str:
    tally = record.tally
    counts = {"crashes": tally.crashes, "released": tally.releases, "snoozed": tally.snoozes}
    return "".join(f", {name} {number}" for name, number in counts.items() if number)


def _timeline(record: Record, now: float, width: int | None) -> Iterator[str]:
    yield "timeline"
    yield _step(moment(record.created), "", "enqueued")
    running = record.state in RUNS
    missing = record.starts - len(record.log) - running
    if missing > 0:
        yield _step("", "", f"{count(missing, 'earlier start')}, no longer kept")
    for start in record.log:
        yield from _start(start, width)
    if running and record.began is not None:
        yield _step(moment(record.began), "", f"start {record.starts} on {one_line(record.worker)}")
        if record.cancelling_since is not None:
            yield _step(moment(record.cancelling_since), "", "its cancellation was asked for")
        what = "it asks a question" if record.state is State.ASKING else "it runs"
        yield _step("", duration(max(now - record.began, 0)), what)
    elif record.finished is not None:
        yield _step(
            moment(record.finished), duration(max(record.finished - record.created, 0)), record.state.word
        )
    elif record.due > now:
        yield _step(
            moment(record.due), "", f"may run again ({age(record.due, now)})" if record.log else "may run"
        )


def _start(start: Start, width: int | None) -> Iterator[str]:
    took = duration(max(start.ended - start.began, 0)) if start.began else "–"
    where = f" on {one_line(start.worker)}" if start.worker else ""
    what = f"start {start.number}{where} {start.outcome.word}"
    why = summary(start.failure) if start.outcome is not Outcome.SUCCEEDED else ""
    line = _step(moment(start.began or start.ended), took, f"{what}: {one_line(why)}" if why else what)
    if width is None or len(line) <= width:
        yield line
        return
    yield _step(moment(start.began or start.ended), took, f"{what}:")
    yield from _wrapped(why, width)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The whole text below a step. Words stay whole: half an id or path cannot be copied."""
    indent = " " * min(_STEP + 2, width // 4)
    yield from textwrap.wrap(
        one_line(text), max(width, len(indent) + 20), initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _step(at: str | None, took: str, what: str) -> str:
    return f"  {at or '':<26}{took:>8}  {what}"


def _value(name: str, data: bytes | None, codec: str) -> Iterator[str]:
    if data is None:
        return
    yield ""
    yield name
    text = _text(data, codec)
    for line in lines(text[:MAX_SHOWN]).split("\n"):
        yield "  " + line
    if len(text) > MAX_SHOWN:
        yield f"  … {count(len(text) - MAX_SHOWN, 'character')} more; see --json"


def _text(data: bytes, codec: str) -> str:
    if codec != "json":
        return f"{count(len(data), 'byte')} of {codec}"
    try:
        return msgspec.json.format(data, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return f"{count(len(data), 'byte')} of what is no JSON"


def _error(record: Record) -> Iterator[str]:
    failure = record.failure
    if failure is None or record.state is State.SUCCEEDED:
        return
    yield ""
    yield f"error  {one_line(failure.type or failure.reason)}"
    frame = own_frame(failure.traceback)
    if frame is not None:
        yield f"  {one_line(frame.file)}:{frame.line} in {one_line(frame.function)}"
        if frame.code:
            yield f"    {one_line(frame.code)}"
    for line in lines(failure.message).split("\n"):
        yield f"  {line}"
    if failure.traceback:
        yield ""
        yield from (f"  | {line}" for line in lines(failure.traceback.rstrip("\n")).split("\n"))


def _past(record: Record) -> Iterator[str]:
    """How it had ended each time before it was retried, and the arguments that it lost."""
    if not record.past:
        return
    yield ""
    yield f"retried {count(record.past[-1].number, 'time')}"
    for life in record.past:
        why = f": {one_line(summary(life.failure))}" if life.failure is not None else ""
        note = f" ({one_line(life.note)})" if life.note else ""
        yield _step(moment(life.retried), "", f"after it had {_ENDED[life.state]}{why}{note}")
        if life.body is not None:
            yield " " * _STEP + f"with other arguments than {cut(_flat(life.body, life.codec), 200)}"
        elif life.edited:
            yield " " * _STEP + "with other arguments; the old ones were too large to keep"


_ENDED: Final = {State.FAILED: "failed", State.CANCELLED: "been cancelled", State.EXPIRED: "expired"}


def _flat(data: bytes, codec: str) -> str:
    return one_line(data.decode(errors="replace")) if codec == "json" else _text(data, codec)


def _choices(record: Record) -> Iterator[str]:
    yield "what you can do"
    id = ids.to_text(record.id)
    choices = {
        f"noria jobs retry {id}": "run it again, with fresh attempts"
        if can(record.state, "operator retry")
        else "",
        f"noria jobs discard {id}": "keep the record, but count it as a dead letter no more"
        if record.dead
        else "",
        f"noria jobs cancel {id}": "end it as cancelled" if can(record.state, "cancel") else "",
        f"noria jobs explain {id}": "why it does not run" if not record.state.final else "",
    }
    able = {command: what for command, what in choices.items() if what}
    if not able:
        yield "  nothing: it is done"
    for command, what in able.items():
        yield f"  {command}   {what}"
