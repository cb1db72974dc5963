"""Jobs that are to run again, or sooner than they would: retry and run."""

from __future__ import annotations

from collections.abc import Sequence

from noria.backends.contract import Altered, Change
from noria.backends.sql import blobs, past, waiting
from noria.backends.sql.answers import Answers, changed, done, refused
from noria.backends.sql.passage import line_up
from noria.backends.sql.rows import Altering, encode
from noria.backends.sql.transaction import DEAD, Transaction
from noria.backends.units import millis
from noria.model.state import State, can

_WAITS = (State.QUEUED, State.WAITING, State.SCHEDULED)


def retry(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    """Queue ended jobs again, unless a live job has taken their key meanwhile."""
    answers: Answers = {}
    again: dict[str, Altering] = {}
    keys: set[tuple[str, str]] = set()
    after = State.SCHEDULED if change.delay > 0 else State.QUEUED
    asked = changed(change)
    free = _release(work, rows)
    for row in rows:
        if row.id in answers:
            continue
        key = None if row.unique_key is None else (row.task, row.unique_key)
        if row.state in _WAITS and row.changed == asked:
            answers[row.id] = done(row.state)
        elif row.state and not can(State(row.state), "operator retry"):
            answers[row.id] = refused(row)
        elif row.state and ((row.holder is not None and row.holder[0] not in free) or key in keys):
            answers[row.id] = Altered("conflict", State(row.state))
        elif row.state:
            again[row.id] = row
            answers[row.id] = done(after)
            keys |= set() if key is None else {key}
    _queue_again(work, list(again.values()), after, change)
    return answers


def _release(work: Transaction, rows: Sequence[Altering]) -> set[str]:
    """Have jobs whose time with a key is over hold it no more; says which."""
    free = {
        holder for row in rows if row.holder for holder, until in (row.holder,) if until and until <= work.now
    }
    if free:
        work.run("push_release", encode(sorted(free)))
    return free


def _queue_again(work: Transaction, rows: Sequence[Altering], after: State, change: Change) -> None:
    if not rows:
        return
    due = work.now + millis(change.delay)
    bounds = {row.queue: work.bounds_of(row.queue) for row in rows}
    ranked = [
        (row.id, bounds[row.queue].rank(due, row.priority), bounds[row.queue].lapse(due, None, None))
        for row in rows
    ]
    blobs.drop(work, [row.id for row in rows], bodies=False)
    past.remember(work, rows, change)
    work.run("alter_retry", encode(ranked), after, due, change.attempts, changed(change))
    waiting.replace_bodies(work, [row.id for row in rows], change)
    for row in rows:
        if after is not State.QUEUED or not line_up(work, row, row.state):
            work.moved(row.queue, row.state, after)
        if row.dead:
            work.moved(row.queue, DEAD, None)
    for queue in {row.queue for row in rows}:
        work.has_work(queue)


def run(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    """Let jobs run now that wait for their time."""
    answers: Answers = {}
    early: dict[str, Altering] = {}
    for row in rows:
        if row.state in (State.QUEUED, State.RUNNING) or (row.state == State.WAITING and not row.pending):
            answers[row.id] = done(row.state)
        elif row.state and can(State(row.state), "operator run"):
            early[row.id] = row
            answers[row.id] = done(State.QUEUED)
        elif row.state:
            answers[row.id] = refused(row)
    waiting.write(work, [waiting.Stand.of(row).due_at(work.now, work.now) for row in early.values()], change)
    return answers
