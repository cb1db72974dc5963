"""Why a job is not running: the reasons, the weightiest first, and all of them in one line.

The first reason is how the job stands. Then come those that `_PARTS` find, in that order; a further capability adds
its own there, and what it has to know to `Scene`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from noria import ids
from noria.app.hindered import closed, in_line, needing, places, slowed
from noria.app.scene import Scene, because, span, when
from noria.app.service import full, held, paused, served, short_of_workers
from noria.app.status import attempt_of
from noria.clock import moment
from noria.model.job import Record
from noria.model.reason import Field, Reason
from noria.model.state import EDITABLE, RUNS, State
from noria.model.wording import count


def explain(record: Record, scene: Scene) -> str:
    """Say in one line what a job waits for, where it runs, or how it ended.

    Args:
        record: the job, with its log.
        scene: what is around it, read at about the same time.
    """
    return in_one_line(reasons_of(record, scene))


def in_one_line(reasons: list[Reason]) -> str:
    """These reasons as one sentence."""
    return "; ".join(reason.text for reason in reasons)


def reasons_of(record: Record, scene: Scene) -> list[Reason]:
    """How a job stands, and then why it does not run, the weightiest reason first.

    Args:
        record: the job, with its log.
        scene: what is around it, read at about the same time.
    """
    if lapsed(record, scene.now):
        text = f"{record.state.word}: its time is over; the next sweep, or wait for it, ends it as expired"
        return [Reason("lapsed", text)]
    found = [_STANDING[record.state](record, scene)]
    for part in _PARTS:
        found += part(record, scene)
    return found


def lapsed(record: Record, now: float) -> bool:
    """Whether the time of a job that does not run is over, so that the next sweep ends it as expired."""
    if record.state not in EDITABLE:
        return False
    tally = record.tally
    begun = tally.spent + tally.crashes + tally.snoozes > 0
    ends = (record.deadline, None if begun else record.expires)
    return any(end is not None and end <= now for end in ends)


def _scheduled(record: Record, scene: Scene) -> Reason:
    off = record.tally.snoozes and record.failure
    snoozed = f"put off by its handler{because(record.failure)}, " if off else ""
    text = f"scheduled: {snoozed}may run at {when(record.due, scene.now)}"
    return Reason("scheduled", text, {"run_at": moment(record.due)})


def _retrying(record: Record, scene: Scene) -> Reason:
    tally = record.tally
    spent = f"attempt {tally.spent} of {tally.attempts} failed{because(record.failure)}"
    text = f"retrying: {spent}, and the next is at {when(record.due, scene.now)}"
    told = {"attempt": tally.spent, "attempts": tally.attempts}
    return Reason("retrying", text, {**told, "run_at": moment(record.due)})


def _queued(record: Record, scene: Scene) -> Reason:
    seconds = scene.now - record.due
    text = f"queued in {record.queue!r} for {span(seconds)}"
    return Reason("queued", text, {"queue": record.queue, "seconds": max(0.0, round(seconds, 3))})


def _waiting(record: Record, scene: Scene) -> Reason:
    return _in_line(record, scene) if record.group is not None and not record.awaits else _following(record)


def _in_line(record: Record, scene: Scene) -> Reason:
    """Where it stands in the line of its group."""
    family, key = ("", "") if record.group is None else (record.group.family, record.group.key)
    place = None if scene.place is None else scene.place + 1
    where = "" if scene.place is None else f", {in_line(scene.place)}"
    text = f"waiting in line for its group {family}={key} for {span(scene.now - record.due)}{where}"
    return Reason("waiting", text, {"family": family, "key": key, "place": place})


def _following(record: Record) -> Reason:
    """Which jobs it waits for, and how they must end."""
    extras, awaits = record.extras, [ids.to_text(each) for each in record.awaits]
    more = f" and {count(len(awaits) - 3, 'other')}" if len(awaits) > 3 else ""
    how = {"success": "to succeed", "complete": "to end", "failure": "to end, one of them without success"}
    ended = len(extras.after) - len(awaits)
    done = f"; {count(ended, 'other')} ended" if ended > 0 and len(awaits) < 100 else ""
    named = f"{'job' if len(awaits) == 1 else 'jobs'} {', '.join(awaits[:3])}{more}"
    told: dict[str, Field] = {"jobs": ", ".join(awaits[:3]), "pending": len(awaits), "on": extras.on}
    return Reason("waiting", f"waiting for {named} {how[extras.on]}{done}", told)


def _parked(record: Record, scene: Scene) -> Reason:
    since = record.began if record.began is not None else record.due
    lasts = f" for {span(scene.now - since)}" if scene.now > since else ""
    return Reason("parked", f"parked{lasts}", {"since": moment(since)})


def _running(record: Record, scene: Scene) -> Reason:
    began = record.began if record.began is not None else scene.now
    attempt, attempts = attempt_of(record), record.tally.attempts
    where = record.worker or "a worker"
    text = f"running on {where} since {when(began, scene.now)}, attempt {attempt} of {attempts}"
    told = {"attempt": attempt, "attempts": attempts}
    return Reason("running", text, {"worker": record.worker, "since": moment(began), **told})


def _asking(record: Record, scene: Scene) -> Reason:
    question = scene.question
    if question is None:
        return Reason("asking", "asking: its question was just closed", {"question": record.question})
    message = " ".join(question.message.split())[:200]
    until = when(question.expires, scene.now)
    text = f"asking: {message}, until {until}: answer question {question.id}"
    return Reason("asking", text, {"question": question.id, "until": moment(question.expires)})


def _ended(record: Record, scene: Scene) -> Reason:
    at = f" at {when(record.finished, scene.now)}" if record.finished is not None else ""
    why = "" if record.state is State.SUCCEEDED else because(record.failure)
    return Reason(record.state.word, f"{record.state.word}{at}{why}", {"at": moment(record.finished)})


_STANDING: Final[dict[State, Callable[[Record, Scene], Reason]]] = {
    State.SCHEDULED: _scheduled,
    State.QUEUED: _queued,
    State.RUNNING: _running,
    State.ASKING: _asking,
    State.RETRYING: _retrying,
    State.PARKED: _parked,
    State.WAITING: _waiting,
    State.SUCCEEDED: _ended,
    State.FAILED: _ended,
    State.CANCELLED: _ended,
    State.EXPIRED: _ended,
}


def _cancelling(record: Record, scene: Scene) -> Iterator[Reason]:
    if record.state in RUNS and record.cancelling:
        since = record.cancelling_since
        asked = "" if since is None else f" {when(since, scene.now)}"
        yield Reason("cancelling", f"its worker was told{asked} to cancel it", {"since": moment(since)})


def _silent(record: Record, scene: Scene) -> Iterator[Reason]:
    alive = any(each.session == record.session for each in scene.counts.workers)
    if record.state in RUNS and not alive:
        text = "that worker gives no sign of life: the next sweep of a live one gives the job back"
        yield Reason("silent", text)


def _dead(record: Record, scene: Scene) -> Iterator[Reason]:
    if record.dead:
        yield Reason("dead", "it is a dead letter until it is retried or discarded")


_PARTS: Final[tuple[Callable[[Record, Scene], Iterator[Reason]], ...]] = (
    paused,
    held,
    closed,
    places,
    slowed,
    needing,
    short_of_workers,
    full,
    served,
    _cancelling,
    _silent,
    _dead,
)
"""In order of weight; each gives nothing for a job whose state it does not concern."""
