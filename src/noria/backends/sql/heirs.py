"""Jobs that wait for others: whom they wait for, and what becomes of them when those have ended.

An end is noted in the step that makes it, and passed on in the same step to the first thousand that wait; a sweep tells
the rest. A job that is cancelled by this has ended too, so that its own heirs follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from noria.backends.meeting import orphaned
from noria.backends.sql.drafts import Drafts
from noria.backends.sql.passage import finish
from noria.backends.sql.rows import Waiter, Waiting, decode, encode
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis
from noria.model.after import refused
from noria.model.outcome import Failure
from noria.model.state import State

Told = tuple[str, int, str]
"""Who has ended, in which state, and who waits for it; ids as hex."""

_DONE: Final = int(State.SUCCEEDED)


# ---- waiting begins


def admit(work: Transaction, drafts: Drafts, *, strict: bool) -> None:
    """Before new jobs are stored: see that those are there whom some of them wait for.

    Args:
        strict: a job that waits for one that is not there is rejected; else that counts as one that was cancelled.
    """
    asked = sorted({parent for place in drafts.waiting for parent in drafts.jobs[place].extras.after})
    states = decode(work.row("parents_look", encode(asked))[0], list[int])
    drafts.parents = dict(zip(asked, states, strict=True))
    places = {job.id.hex(): place for place, job in reversed(list(enumerate(drafts.jobs)))}
    for place in drafts.waiting if strict else ():
        missing = _missing(drafts, places, place)
        if missing is not None and drafts.rows[place] is not None:
            drafts.drop(place, orphaned(drafts.jobs[place], missing))


def _missing(drafts: Drafts, places: Mapping[str, int], place: int) -> str | None:
    """The first parent that is neither stored, nor to be stored before the job itself."""
    for parent in drafts.jobs[place].extras.after:
        before = places.get(parent, place)
        if not drafts.parents[parent] and (before >= place or drafts.rows[before] is None):
            return parent
    return None


def enter(work: Transaction, drafts: Drafts) -> None:
    """After new jobs are stored: have them wait; whom they wait for may have ended already."""
    stands = {
        job.id.hex(): receipt.id.hex()
        for job, receipt in zip(drafts.jobs, drafts.receipts, strict=True)
        if receipt.status != "rejected"
    }
    pairs: list[tuple[str, str]] = []
    rows: list[tuple[object, ...]] = []
    for place in drafts.waiting:
        job, row = drafts.jobs[place], drafts.rows[place]
        if row is None or drafts.given_up.get(place) is not None:
            continue  # it is not stored, or has ended already
        parents = dict.fromkeys(
            parent if drafts.parents[parent] else stands.get(parent, parent) for parent in job.extras.after
        )
        pairs += [(parent, job.id.hex()) for parent in parents]
        rows.append((job.id.hex(), State.WAITING, len(parents), 0, row[5], row[7]))
    if not rows:
        return
    work.run("await_add", encode(pairs))
    work.run("await_write", encode(rows))
    _inherit(work, {parent for parent, _ in pairs})


def _inherit(work: Transaction, parents: Iterable[str]) -> None:
    """Mark those that live; the others have ended."""
    asked = sorted(parents)
    states = dict(zip(asked, decode(work.row("parents_hold", encode(asked))[0], list[int]), strict=True))
    live = [parent for parent, state in states.items() if 0 < state < _DONE]
    if live:
        work.run("await_mark", encode(live))
    for parent, state in states.items():
        if not 0 < state < _DONE:
            work.ended_parents.setdefault(parent, state or State.CANCELLED)


# ---- and ends


def pass_on(work: Transaction, limit: int) -> int:
    """Tell those who wait that others have ended, `limit` of them at most; says how many were told."""
    left = limit
    while left > 0:
        if work.ended_parents:
            work.run("ended_add", encode(list(work.ended_parents.items())))
            work.ended_parents.clear()
        told = decode(work.row("ended_pick", left)[0], list[Told])
        if not told:
            break
        work.run("ended_told", encode(told))
        _tell(work, told)
        left -= len(told)
    if work.ended_parents:
        work.run("ended_add", encode(list(work.ended_parents.items())))
        work.ended_parents.clear()
    work.run("ended_drop")
    return limit - left


def _tell(work: Transaction, told: Sequence[Told]) -> None:
    news: dict[str, list[Told]] = {}
    for each in told:
        news.setdefault(each[2], []).append(each)
    waiters = decode(work.row("await_look", encode(sorted(news)))[0], list[Waiter])
    rows: list[tuple[object, ...]] = []
    cancelled: dict[str, Failure] = {}
    for waiter in waiters:
        heard = news[waiter.id]
        bad = next((each for each in heard if each[1] != _DONE), None)
        pending, spoiled = max(0, waiter.pending - len(heard)), bool(waiter.spoiled or bad)
        why = refused(waiter.on, bad and bad[:2], pending, spoiled=spoiled)
        if why is not None:
            cancelled[waiter.id] = Failure.of("parent", why)
        elif pending:
            rows.append((waiter.id, State.WAITING, pending, spoiled, waiter.due, waiter.due))
        else:
            rows.append(_released(work, waiter))
    if rows:
        work.run("await_write", encode(rows))
    ending = [
        Waiting(each.id, each.queue, each.task, State.WAITING, each.reply, 0, each.awaited)
        for each in waiters
        if each.id in cancelled
    ]
    finish(work, ending, State.CANCELLED, lambda job: cancelled[job.id])


def _released(work: Transaction, waiter: Waiter) -> tuple[object, ...]:
    """It waits no more; its place in the queue is that of a job which comes now."""
    due = max(waiter.due, work.now)
    state = _after_waiting(work, waiter)
    work.moved(waiter.queue, State.WAITING, state)
    if state is not State.WAITING and due <= work.now + millis(work.settings.poll):
        work.has_work(waiter.queue, waiter.lane)
    return (waiter.id, state, 0, 0, work.bounds_of(waiter.queue).rank(due, waiter.priority), due)


def _after_waiting(work: Transaction, waiter: Waiter) -> State:
    """Where it goes on: one that has a group gets in line there, once its time has come."""
    if waiter.due > work.now:
        return State.SCHEDULED
    if waiter.family is None or waiter.group_key is None:
        return State.QUEUED
    work.groups.come(waiter.family, waiter.group_key)
    return State.WAITING
