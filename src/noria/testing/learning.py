"""How knowledge of jobs and sessions grows with each event of a history."""

from __future__ import annotations

from copy import copy

from noria.model.state import State
from noria.testing.events import (
    AlterEnd,
    AlterInvoke,
    Effect,
    EndEnd,
    EndInvoke,
    Event,
    Leased,
    LeaseLost,
    OutcomeSeen,
    PushEnd,
    PushInvoke,
    Read,
    Recalled,
    Renewed,
    RunEnd,
    RunStart,
    SettleEnd,
    SettleInvoke,
)
from noria.testing.facts import COUNTED, FINALS, Handler, Job, Known

_WAITS = frozenset({int(State.RETRYING), int(State.SCHEDULED)})


class Learner:
    """Adds each event to what is known; the invariants look at an event before it is learned."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._shelved: dict[tuple[str, str], Job] = {}

    def handlers(self) -> dict[type, Handler]:
        return {
            PushInvoke: self._push_invoke,
            PushEnd: self._push_end,
            AlterInvoke: self._alter_invoke,
            AlterEnd: self._alter_end,
            Renewed: self._renewed,
            EndInvoke: self._end_invoke,
            EndEnd: self._end_end,
            Leased: self._leased,
            LeaseLost: self._lease_lost,
            Recalled: self._recalled,
            SettleInvoke: self._settle_invoke,
            SettleEnd: self._settle_end,
            RunStart: self._run_start,
            Effect: self._effect,
            RunEnd: self._run_end,
            Read: self._read,
            OutcomeSeen: self._seen,
        }

    # -- producers and operators

    def _push_invoke(self, event: Event, fact: PushInvoke) -> None:
        job = self._known.job(fact.id)
        if job.push is None:
            job.push = event
            job.due = event.mono + (fact.delay if fact.at is None else fact.at - event.wall)

    def _push_end(self, event: Event, fact: PushEnd) -> None:
        if fact.status == "created" or (fact.status == "existing" and fact.stands == fact.id):
            job = self._known.job(fact.id)
            job.created = job.created or event.mono

    def _alter_invoke(self, event: Event, fact: AlterInvoke) -> None:
        job = self._known.job(fact.id)
        if fact.change == "cancel":
            job.may_be_final, job.fresh, job.cancel_life = True, False, job.lives
        elif fact.change == "discard":
            job.discarded = True
        else:
            self._shelved[event.proc, job.id] = copy(job)
            job.lives += 1
            job.final, job.due, job.cancelled, job.fresh = None, None, 0.0, True
            job.counted, job.may_count = 0, job.counted + job.may_count

    def _alter_end(self, event: Event, fact: AlterEnd) -> None:
        job = self._known.job(fact.id)
        if fact.change == "retry":
            self._retried(event, job, fact)
        elif fact.change == "cancel" and fact.status == "done" and job.cancel_life == job.lives:
            job.final, job.final_at = int(State.CANCELLED), event.mono
            job.cancelled = job.cancelled or event.mono

    def _retried(self, event: Event, job: Job, fact: AlterEnd) -> None:
        before = self._shelved.pop((event.proc, job.id), None)
        if before is None or fact.end == "info":
            return
        if fact.status == "done":
            job.may_count -= before.counted + before.may_count
            job.discarded, job.may_be_final = False, job.may_be_final and not job.fresh
        else:
            self._went_on(job, before)

    def _went_on(self, job: Job, before: Job) -> None:
        """The job was not retried after all: what was told meanwhile belongs to the life that it had."""
        job.counted += before.counted
        job.may_count -= before.counted
        job.lives -= 1
        for grip in job.grips.values():
            grip.life = min(grip.life, job.lives)
        if job.final is None:
            job.final, job.final_at, job.cancelled = before.final, before.final_at, before.cancelled

    # -- sessions

    def _renewed(self, event: Event, fact: Renewed) -> None:
        if fact.lost:
            self._known.session(fact.session).lost = True

    def _end_invoke(self, event: Event, fact: EndInvoke) -> None:
        self._known.session(fact.session).ending += 1

    def _end_end(self, event: Event, fact: EndEnd) -> None:
        session = self._known.session(fact.session)
        if fact.end == "fail" or (fact.end == "ok" and not fact.ended):
            session.ending -= 1
        elif fact.end == "ok":
            session.ended = session.ended or event.mono

    # -- starts

    def _leased(self, event: Event, fact: Leased) -> None:
        job = self._known.job(fact.id)
        grip = job.grip(fact.session, fact.starts)
        grip.leased, grip.proc = event.mono, event.proc
        job.top = max(job.top, fact.starts)
        self._known.session(fact.session).grips.append((fact.id, fact.starts))

    def _lease_lost(self, event: Event, fact: LeaseLost) -> None:
        self._known.session(fact.session).unheard = True

    def _recalled(self, event: Event, fact: Recalled) -> None:
        known = set(fact.known)
        for job, grip in self._known.held(fact.session):
            grip.recalled = grip.recalled or job.id not in known

    def _settle_invoke(self, event: Event, fact: SettleInvoke) -> None:
        job = self._known.job(fact.id)
        grip = job.grip(fact.session, fact.starts)
        grip.life = job.lives
        grip.asked += 1
        grip.invoked += 1
        job.may_count += fact.outcome in COUNTED
        if fact.state in FINALS or fact.state == State.PARKED:
            job.may_be_final, job.fresh = True, False
        if fact.state == State.SUCCEEDED:
            grip.result = fact.result or None
        grip.asked_at, grip.asked_as = event.mono, fact.outcome
        # Until it is answered nobody knows whether it was done, and by which of the two the job is due.
        grip.again = event.mono + fact.delay if fact.state in _WAITS else None
        if grip.again is not None:
            job.due = None

    def _settle_end(self, event: Event, fact: SettleEnd) -> None:
        job = self._known.job(fact.id)
        grip = job.grip(fact.session, fact.starts)
        same_life = grip.life == job.lives
        counts = same_life and fact.outcome in COUNTED
        if fact.end == "info":
            job.due = None
            return
        job.may_count -= counts
        if fact.end == "fail" or fact.verdict == "stale":
            grip.asked -= 1
            job.due = None
        elif grip.accepted is None:
            grip.accepted = fact
            job.counted += counts
            if fact.starts == job.top:
                job.due = grip.again if grip.again is not None else job.due
            if same_life and fact.state in FINALS:
                job.final, job.final_at = fact.state, event.mono

    # -- handlers and readers

    def _run_start(self, event: Event, fact: RunStart) -> None:
        grip = self._known.job(fact.id).grip(fact.session, fact.starts)
        grip.ran, grip.proc = event.mono, event.proc

    def _effect(self, event: Event, fact: Effect) -> None:
        grip = self._known.job(fact.id).grip(fact.session, fact.starts)
        grip.effect = grip.effect or event.mono

    def _run_end(self, event: Event, fact: RunEnd) -> None:
        self._known.job(fact.id).grip(fact.session, fact.starts).ended = fact.outcome

    def _read(self, event: Event, fact: Read) -> None:
        if fact.state is not None:
            job = self._known.job(fact.id)
            job.created = job.created or event.mono
            self._announced(event, job, fact.state)

    def _seen(self, event: Event, fact: OutcomeSeen) -> None:
        self._announced(event, self._known.job(fact.id), fact.state)

    def _announced(self, event: Event, job: Job, state: int) -> None:
        """Somebody was told of an outcome: it stays, unless an operator may have undone it meanwhile."""
        if state in FINALS and job.final is None and not job.lives:
            job.final, job.final_at, job.may_be_final = state, event.mono, True
