"""Whether anybody would run a job that waits: its queue may be paused, no worker for it live, others before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from noria.app.scene import MOST_AHEAD, Scene, when
from noria.backends.contract import Paused, QueueCounts, WorkerLine
from noria.clock import moment
from noria.model.job import Record
from noria.model.limits import SUSPECT_AT
from noria.model.queue import NO_LIMITS, WAITS_TO_RUN, backs_up
from noria.model.reason import Field, Reason
from noria.model.state import EDITABLE, State
from noria.model.wording import count, ordinal


def paused(record: Record, scene: Scene) -> Iterator[Reason]:
    """Its queue is paused."""
    pause = _pause_of(record, scene)
    if pause is not None and record.state in EDITABLE:
        told = {"queue": record.queue, "by": pause.by, "reason": pause.reason}
        times = {"since": moment(pause.since), "until": moment(pause.until)}
        yield Reason("paused", pause_in_words(record.queue, pause, scene.now), {**told, **times})


def held(record: Record, scene: Scene) -> Iterator[Reason]:
    """Its queue is held while another backs up."""
    holder = holder_of(record.queue, scene.counts.queues)
    if holder is not None and record.state in EDITABLE:
        told: dict[str, Field] = {"queue": record.queue, "held_by": holder.queue, "waiting": holder.waiting}
        told["high_water"] = holder.most
        yield Reason("queue_held", held_in_words(record.queue, holder), told)


def short_of_workers(record: Record, scene: Scene) -> Iterator[Reason]:
    """No live worker is for it."""
    workers = scene.counts.workers
    if record.state not in EDITABLE or _knowing(record, workers):
        return
    if not workers:
        yield Reason("no_worker", "no worker is live")
    elif not any(record.queue in each.card.queues for each in workers):
        yield Reason("unserved", f"no live worker serves queue {record.queue!r}", {"queue": record.queue})
    else:
        text = f"no live worker of queue {record.queue!r} knows task {record.task!r}"
        if record.state is State.PARKED:
            text += "; start one of a version that has it"
        yield Reason("unknown_task", text, {"queue": record.queue, "task": record.task})


def full(record: Record, scene: Scene) -> Iterator[Reason]:
    """As many jobs of its queue run as may."""
    queue = scene.counts.queues.get(record.queue)
    most = None if queue is None else queue.limits.concurrency
    runs = 0 if queue is None else queue.states.get(State.RUNNING, 0)
    if most is not None and runs >= most and record.state in (State.QUEUED, State.PARKED):
        text = f"queue {record.queue!r} runs {count(most, 'job')} at most, and {runs:,} run"
        yield Reason("queue_busy", text, {"queue": record.queue, "concurrency": most, "running": runs})


def served(record: Record, scene: Scene) -> Iterator[Reason]:
    """Somebody would run it: what is before it."""
    if not _knowing(record, scene.counts.workers) or _pause_of(record, scene) is not None:
        return
    if holder_of(record.queue, scene.counts.queues) is not None:
        return
    if record.state is State.PARKED:
        text = f"a live worker knows task {record.task!r}, and will lease it next"
        yield Reason("next_lease", text, {"task": record.task})
    if record.state is not State.QUEUED:
        return
    if record.tally.crashes >= SUSPECT_AT:
        crashed = count(record.tally.crashes, "time")
        text = f"it has crashed its process {crashed}, so that it runs with no other such job"
        yield Reason("suspect", text, {"crashes": record.tally.crashes})
    yield _behind(record, scene)


def _behind(record: Record, scene: Scene) -> Reason:
    queue = scene.counts.queues.get(record.queue)
    waiting = queue.states.get(State.QUEUED, 0) if queue else 0
    busy = sum(each.vitals.running for each in scene.counts.workers)
    slots = sum(each.card.slots for each in scene.counts.workers)
    text = (
        f"{_place_in_words(scene.place, waiting)}, priority {record.priority}; "
        f"workers run {count(busy, 'job')} in {count(slots, 'slot')}"
    )
    told = {"waiting": waiting, "priority": record.priority, "running": busy, "slots": slots}
    place = None if scene.place is None else scene.place + 1
    return Reason("behind", text, {"place": place, "counted_to": MOST_AHEAD, **told})


def _place_in_words(place: int | None, waiting: int) -> str:
    """Where it stands; its place is as others left it a moment ago, and waiting ones may need another kind of slot."""
    if waiting <= 1:
        return "no other waits there"
    if place is None:
        return f"one of {waiting:,} that wait there"
    if place >= MOST_AHEAD:
        return f"behind at least {MOST_AHEAD:,} of the {waiting:,} that wait there"
    return (
        f"about the {ordinal(place + 1)} of {waiting:,} that wait there"
        if place
        else (f"the next of {waiting:,} that wait there")
    )


class Holder(NamedTuple):
    """A queue that holds another: so many jobs wait there, and from `most` on it backs up."""

    queue: str
    waiting: int
    most: int


def holder_of(queue: str, queues: Mapping[str, QueueCounts]) -> Holder | None:
    """The first queue that holds this one; None if none does."""
    limits = queues[queue].limits if queue in queues else NO_LIMITS
    for other, most in (limits.high_water or {}).items():
        states = queues[other].states if other in queues else {}
        if backs_up(states, most):
            return Holder(other, sum(states.get(state, 0) for state in WAITS_TO_RUN), most)
    return None


def held_in_words(queue: str, holder: Holder) -> str:
    """Why nothing of a queue begins."""
    waits = f"{count(holder.waiting, 'job')} {'waits' if holder.waiting == 1 else 'wait'}"
    return f"queue {queue!r} is held: {waits} in {holder.queue!r}, and the mark is {holder.most:,}"


def pause_in_words(queue: str, pause: Paused, now: float) -> str:
    """Who paused a queue, why, and until when."""
    by = f" by {pause.by}" if pause.by else ""
    because = f" because {' '.join(pause.reason.split())}" if pause.reason else ""
    until = "" if pause.until is None else f", until {when(pause.until, now)}"
    return f"queue {queue!r} is paused{by}{because}{until}"


def _pause_of(record: Record, scene: Scene) -> Paused | None:
    queue = scene.counts.queues.get(record.queue)
    return None if queue is None else queue.paused


def _knowing(record: Record, workers: Iterable[WorkerLine]) -> bool:
    """Whether a live worker serves its queue and knows its task."""
    return any(record.queue in each.card.queues and record.task in each.card.tasks for each in workers)
