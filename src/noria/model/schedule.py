"""A timer as the store holds it, and what becomes of each of its slots: decided here, written elsewhere in one step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from noria.ids import Id
from noria.model.claim import Claim
from noria.model.groups import Grouped, Need
from noria.model.job import NO_EXTRAS, Extras, Lane, NewJob
from noria.model.limits import ATTEMPTS, CRASH_BUDGET
from noria.model.timetable import Rule, between, following

KIND: Final = "schedule"
"""The kind of the documents; their names are the schedules'."""

CHUNK: Final = 1_000
"""Slots that are dealt with in one step, and slots that may wait for a job to end."""
ON_TIME: Final = 15.0
"""Seconds after which a slot counts as missed: within these a worker that died is replaced."""
FAR_AHEAD: Final = 3_600.0
"""Seconds: slots dealt with so long before their time were dealt with by a clock that was wrong."""
REMEMBERED: Final = 50
"""Entries of a schedule's log."""

Overlap = Literal["skip", "queue_one", "queue_all", "cancel_old"]
CatchUp = Literal["none", "latest", "all"]
What = Literal["ran", "skipped", "missed", "paused"]
Source = Literal["code", "api"]


class Template(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the jobs of a schedule have in common; the fields are those of `NewJob`.

    Attributes:
        expires, deadline: seconds after the slot.
    """

    task: str
    queue: str
    body: bytes
    codec: str = "json"
    lane: Lane = Lane.LOOP
    priority: int = 0
    expires: float | None = None
    deadline: float | None = None
    attempts: int = ATTEMPTS
    crash_budget: int = CRASH_BUDGET
    keep: float | None = None
    unique: str | None = None
    claim: Claim | None = None
    extras: Extras = NO_EXTRAS
    group: Grouped | None = None
    needs: tuple[Need, ...] = ()


class Entry(Struct, frozen=True, omit_defaults=True):
    """What became of a slot, or of several in a row to which the same happened.

    Attributes:
        first, last: the slots, seconds since the epoch.
        what: "ran": its job was enqueued; "skipped": another run stood in its way; "missed": nobody was there;
            "paused": a person had paused the schedule.
        count: how many they are.
        job: the id of the job.
    """

    first: float
    last: float
    what: What
    count: int = 1
    job: str = ""


class Standing(Struct, frozen=True, omit_defaults=True):
    """How far a schedule has got.

    Attributes:
        last: slots up to this one have been dealt with.
        job: the id of its newest job.
        waiting: slots whose jobs will be enqueued, one after another, when that job has ended.
        backlog: slots of the past that a person asked for; they run one after another when nothing else waits.
        ran, skipped, missed: how many slots; those of a pause were skipped.
        log: what became of the latest ones, newest first.
    """

    last: float
    job: str = ""
    waiting: tuple[float, ...] = ()
    backlog: tuple[float, ...] = ()
    ran: int = 0
    skipped: int = 0
    missed: int = 0
    log: tuple[Entry, ...] = ()


class Rest(Struct, frozen=True):
    """A pause: why, by whom, and since when."""

    reason: str
    by: str
    since: float


class Schedule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A timer: a rule, what it makes, and how far it has got.

    Attributes:
        source: "code": an application declares it; "api": a person made it, and may change it.
        rule: when it is due.
        template: what its jobs have in common.
        overlap: what a slot does while the job of an earlier one is live.
        catch_up: which slots run late, when nobody was there in time: none, the latest, or all of `window` seconds.
        jitter: a job may start up to so many seconds after its slot; how many is drawn from name and slot.
        paused: the pause that holds.
        standing: how far it has got.
    """

    source: Source = "code"
    rule: Rule
    template: Template
    overlap: Overlap = "skip"
    catch_up: CatchUp = "latest"
    window: float = 0.0
    jitter: float = 0.0
    paused: Rest | None = None
    standing: Standing


class Step(NamedTuple):
    """One step of a schedule.

    Attributes:
        standing: what to write.
        run: the slot whose job is enqueued in the same step.
        cancel: whether its newest job is in the way and has to end.
    """

    standing: Standing
    run: float | None = None
    cancel: bool = False


def renewed(stored: Schedule | None, declared: Schedule) -> Schedule:
    """A schedule as it is said now, as far as the stored one has got, and paused as that; a new rule begins now."""
    if stored is None:
        return declared
    standing = stored.standing
    if stored.rule != declared.rule:
        standing = replace(standing, last=max(standing.last, declared.standing.last))
    return replace(declared, standing=standing, paused=stored.paused)


def coming(schedule: Schedule, now: float, count: int) -> list[float]:
    """Its next slots; none while it is paused."""
    if schedule.paused is not None:
        return []
    return list(islice(schedule.rule.slots(max(schedule.standing.last, now)), count))


def waits(schedule: Schedule) -> bool:
    """Whether something runs when its newest job has ended."""
    return bool(schedule.standing.waiting or (schedule.standing.backlog and schedule.paused is None))


def wakes(schedule: Schedule, now: float, patience: float) -> float | None:
    """When to look at it again: at its next slot, or after `patience` seconds if something waits for a job's end."""
    standing = schedule.standing
    if _is_far_ahead(standing, now):
        return now
    slot = following(schedule.rule, standing.last)
    if waits(schedule):
        return now + patience if slot is None else min(slot, now + patience)
    return slot


def step(schedule: Schedule, now: float, *, live: bool) -> Step | None:
    """What to do now; None if there is nothing.

    Args:
        now: seconds since the epoch.
        live: whether the schedule's newest job has not ended.
    """
    standing = schedule.standing
    if _is_far_ahead(standing, now):
        return Step(replace(standing, last=now))  # begin again here; the log says what has been run already
    slots = between(schedule.rule, standing.last, now, CHUNK)
    if schedule.paused is not None:
        return Step(_noted(replace(standing, last=slots[-1]), "paused", slots)) if slots else None
    if not slots and (live or not (standing.waiting or standing.backlog)):
        return None
    due, missed = _caught_up(schedule, slots, now)
    due = [slot for slot in due if not _ran_before(standing, slot)]
    standing = _noted(replace(standing, last=slots[-1]), "missed", missed) if slots else standing
    return _next(schedule, standing, due, live=live)


def asked(schedule: Schedule, now: float, *, live: bool) -> Step | None:
    """What to do where a person wants a run now; None if the last one has not ended and may not be overlapped."""
    if live and schedule.overlap == "skip":
        return None
    return _next(schedule, schedule.standing, [now], live=live)


def _next(schedule: Schedule, standing: Standing, due: list[float], *, live: bool) -> Step:
    """Let slots in, and take the next one if nothing stands in its way."""
    waiting, left_out = _admitted(schedule.overlap, standing.waiting, due, live=live)
    backlog, run = list(standing.backlog), None
    if not live and (waiting or backlog):
        run = waiting.pop(0) if waiting else backlog.pop(0)
    standing = _noted(standing, "skipped", left_out)
    standing = replace(standing, waiting=tuple(waiting), backlog=tuple(backlog))
    return Step(standing, run, cancel=bool(live and due and schedule.overlap == "cancel_old"))


def _is_far_ahead(standing: Standing, now: float) -> bool:
    """Whether a clock that was wrong has dealt with slots that are still to come."""
    return standing.last > now + FAR_AHEAD


def _ran_before(standing: Standing, slot: float) -> bool:
    return any(each.what == "ran" and each.first == slot for each in standing.log)


def _caught_up(schedule: Schedule, slots: list[float], now: float) -> tuple[list[float], list[float]]:
    """Which slots run, and which were missed."""
    if schedule.catch_up == "all":
        since = now - max(schedule.window, ON_TIME)
        return [slot for slot in slots if slot >= since], [slot for slot in slots if slot < since]
    newest = slots[-1:] if len(slots) < CHUNK else []  # of a full chunk the newest are still to come
    if schedule.catch_up == "none" and newest and now - newest[0] > ON_TIME:
        newest = []
    return newest, slots[: len(slots) - len(newest)]


def _admitted(
    overlap: Overlap, waiting: Sequence[float], due: Sequence[float], *, live: bool
) -> tuple[list[float], list[float]]:
    """Which slots wait now, and which are skipped for others."""
    if not due:
        return list(waiting), []
    if overlap == "skip":
        return (list(waiting), list(due)) if live or waiting else ([due[-1]], list(due[:-1]))
    everyone = [*waiting, *due]
    if overlap == "queue_all":
        return everyone[:CHUNK], everyone[CHUNK:]
    return everyone[-1:], everyone[:-1]


def _noted(
    standing: Standing, what: Literal["skipped", "missed", "paused"], slots: Sequence[float]
) -> Standing:
    """The same with these slots counted and logged; what happened again goes into the newest entry."""
    if not slots:
        return standing
    entry, log = Entry(slots[0], slots[-1], what, len(slots)), standing.log
    if log and log[0].what == what:
        entry, log = Entry(log[0].first, slots[-1], what, log[0].count + len(slots)), log[1:]
    counted = "missed" if what == "missed" else "skipped"
    counts: dict[str, Any] = {counted: getattr(standing, counted) + len(slots)}
    return replace(standing, **counts, log=(entry, *log)[:REMEMBERED])


def ran(standing: Standing, slot: float, job: str) -> Standing:
    """The same once the job of a slot is enqueued."""
    log = (Entry(slot, slot, "ran", job=job), *standing.log)[:REMEMBERED]
    return replace(standing, job=job, ran=standing.ran + 1, log=log)


def skipped(standing: Standing, slot: float) -> Standing:
    """The same where a slot gets no job."""
    return _noted(standing, "skipped", [slot])


def job_of(template: Template, id: Id, name: str, slot: float, at: float) -> NewJob:
    """The job of a slot, which may not start before `at`."""
    return NewJob(
        id=id,
        task=template.task,
        queue=template.queue,
        body=template.body,
        codec=template.codec,
        lane=template.lane,
        priority=template.priority,
        at=at,
        expires=None if template.expires is None else slot + template.expires,
        deadline=None if template.deadline is None else slot + template.deadline,
        attempts=template.attempts,
        crash_budget=template.crash_budget,
        keep=template.keep,
        group=template.group,
        needs=template.needs,
        unique=template.unique,
        claim=template.claim,
        # A full queue must not silence a timer: its overlap rule already bounds how many of its jobs wait.
        admitted=True,
        extras=replace(template.extras, schedule=name, slot=slot),
    )
