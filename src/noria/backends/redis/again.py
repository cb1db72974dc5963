"""Jobs that are to run again, or sooner than they would: retry and run."""

from __future__ import annotations

from msgspec import structs

from noria.backends.lives import remembered
from noria.backends.redis import waiting
from noria.backends.redis.answers import Answer, Case, changed, same_change, with_past
from noria.backends.redis.heads import FOLLOWS, NEVER
from noria.backends.units import millis
from noria.model.job import rank
from noria.model.past import write_past
from noria.model.state import State, can

_WAITS = (State.QUEUED, State.WAITING, State.SCHEDULED)


def retry(case: Case) -> Answer:
    """Queue an ended job again, unless a live job has taken its key meanwhile; that is seen when it is written."""
    if case.state in _WAITS and case.head.untouched and same_change(case.seen.change, case.change):
        return case.done()
    if not can(case.state, "operator retry"):
        return case.refused()
    head, change = case.head, case.change
    due = case.now + millis(change.delay)
    fresh = structs.replace(
        head,
        state=int(State.SCHEDULED if change.delay > 0 else State.QUEUED),
        dead=0,
        cancelling=0,
        finished=NEVER,
        due=float(due),
        rank=float(rank(due / 1000, head.priority)),
        expires=NEVER,
        deadline=NEVER,
        attempts=head.attempts if change.attempts is None else change.attempts,
        spent=0,
        crashes=0,
        releases=0,
        snoozes=0,
    )
    parts = {"why": False, "result": False, "change": _noted(case), **waiting.new_body(case)}
    return case.done(case.write(fresh, parts, wake=True))


def _noted(case: Case) -> bytes:
    """The change for the record, with what the job remembers from now on."""
    change, record = changed(case.change), case.record
    if record is None:  # it was erased meanwhile, so that nothing is written
        return change
    return with_past(change, write_past(remembered(record, case.change, case.now)))


def run(case: Case) -> Answer:
    """Let a job run now that waits for its time."""
    in_line = case.state is State.WAITING and not case.head.kin & FOLLOWS
    if in_line or case.state in (State.QUEUED, State.RUNNING):
        return case.done()
    if not can(case.state, "operator run"):
        return case.refused()
    return case.done(case.write(waiting.due_at(case.head, case.now, case.now), wake=True))
