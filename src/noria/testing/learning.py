"""How knowledge of jobs and sessions grows with each event of a history."""

from __future__ import annotations

from copy import copy

from noria.model.claim import NEW
from noria.model.state import State
from noria.testing.events import (
    AlterEnd,
    AlterInvoke,
    DocRead,
    Effect,
    EndEnd,
    EndInvoke,
    Event,
    Fault,
    Leased,
    LeaseLost,
    Opened,
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
    WriteEnd,
    WriteInvoke,
)
from noria.testing.facts import COUNTED, FINALS, Grip, Handler, Job, Known

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
            WriteInvoke: self._write_invoke,
            WriteEnd: self._write_end,
            DocRead: self._doc_read,
            Fault: self._fault,
            AlterInvoke: self._alter_invoke,
            AlterEnd: self._alter_end,
            Opened: self._opened,
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

    # -- producers

    def _push_invoke(self, event: Event, fact: PushInvoke) -> None:
        job = self._known.job(fact.id)
        job.asks += 1
        if job.push is None:
            job.push = event
            job.due = event.mono + (fact.delay if fact.at is None else fact.at - event.wall)

    def _push_end(self, event: Event, fact: PushEnd) -> None:
        job = self._known.job(fact.id)
        stored = fact.status in NEW or (fact.status == "existing" and fact.stands == fact.id)
        if stored:
            job.created = job.created or event.mono
        elif fact.end != "info":
            job.asks -= 1

    # -- documents

    def _write_invoke(self, event: Event, fact: WriteInvoke) -> None:
        for sheet in fact.sheets:
            self._known.along[sheet.address, sheet.content] = fact.jobs

    def _write_end(self, event: Event, fact: WriteEnd) -> None:
        if fact.end == "ok":
            self._stored_along(event, fact.jobs)

    def _doc_read(self, event: Event, fact: DocRead) -> None:
        """A document is there: so are the jobs that were to be stored in the same step, or others for them."""
        self._stored_along(event, self._known.along.get((fact.address, fact.content), ()))

    def _stored_along(self, event: Event, jobs: tuple[str, ...]) -> None:
        for job in map(self._known.job, jobs):
            if job.pushed is not None and job.pushed.unique is None:
                job.created = job.created or event.mono

    # -- the machine

    def _fault(self, event: Event, fact: Fault) -> None:
        """The clock jumps: by the time that it showed jobs may have ended, and nobody knows when they are due."""
        if fact.what != "clock":
            return
        for job in self._known.jobs.values():
            job.due = None
            for grip in job.grips.values():
                grip.again = None
            if self._known.may_be_final(job, event.wall):
                job.may_be_final, job.fresh = True, False

    # -- operators

    def _alter_invoke(self, event: Event, fact: AlterInvoke) -> None:
        job = self._known.job(fact.id)
        if fact.change == "cancel":
            job.may_be_final, job.fresh, job.cancel_life = True, False, job.lives
        elif fact.change == "discard":
            job.discarded = True
        elif fact.change == "erase":
            job.erased = True
        elif fact.change in ("run", "edit"):
            job.due = None if fact.timed else job.due
            job.bounds += () if fact.expires is None else (fact.expires,)
        elif fact.change == "retry":
            job.budget = max(job.budget, fact.attempts)
            job.retries += 1
            job.coming.add(job.retries)
            self._shelved[event.proc, job.id] = copy(job)
            job.lives += 1
            job.final, job.due, job.cancelled, job.fresh = None, None, 0.0, True
            job.counted, job.may_count = 0, job.counted + job.may_count

    def _alter_end(self, event: Event, fact: AlterEnd) -> None:
        job = self._known.job(fact.id)
        if fact.status == "done":
            job.created = job.created or event.mono
        if fact.change == "retry":
            self._retried(event, job, fact)
        elif fact.change == "cancel" and fact.status == "done" and job.cancel_life == job.lives:
            job.final, job.final_at = int(State.CANCELLED), event.mono
            job.cancelled = job.cancelled or event.mono

    def _retried(self, event: Event, job: Job, fact: AlterEnd) -> None:
        before = self._shelved.pop((event.proc, job.id), None)
        if before is None:
            return
        job.coming.discard(before.retries)
        if fact.end == "info":
            return
        if fact.status == "done":
            job.may_count -= before.counted + before.may_count
            job.discarded, job.may_be_final = False, job.may_be_final and not job.fresh
        else:
            self._went_on(job, before, event.mono)

    def _went_on(self, job: Job, before: Job, now: float) -> None:
        """The job was not retried after all: what was told meanwhile belongs to the life that it had."""
        job.counted += before.counted
        job.may_count -= before.counted
        job.lives -= 1
        if job.final is None:
            job.final, job.final_at, job.cancelled = before.final, before.final_at, before.cancelled
        for grip in job.grips.values():
            grip.life = min(grip.life, job.lives)
            if before.retries in grip.during:
                grip.during.discard(before.retries)
                self._count(job, grip, now)

    # -- sessions

    def _opened(self, event: Event, fact: Opened) -> None:
        self._known.session(fact.session).heard = fact.since

    def _renewed(self, event: Event, fact: Renewed) -> None:
        session = self._known.session(fact.session)
        if fact.lost:
            session.lost = True
        else:
            session.heard = fact.since

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
        grip.since, grip.leased, grip.proc = fact.since, event.mono, event.proc
        grip.recalled = self._known.session(fact.session).may_have_recalled(fact.id, fact.since)
        job.top = max(job.top, fact.starts)
        job.created = job.created or event.mono
        self._known.session(fact.session).grips.append((fact.id, fact.starts))

    def _lease_lost(self, event: Event, fact: LeaseLost) -> None:
        self._known.session(fact.session).unheard = True

    def _recalled(self, event: Event, fact: Recalled) -> None:
        known = set(fact.known)
        session = self._known.session(fact.session)
        if fact.over:
            session.recalling.clear()
            return
        session.recalls.append((event.mono, fact.known))
        session.recalling.append(fact.known)
        for job, grip in self._known.held(fact.session):
            grip.recalled = grip.recalled or job.id not in known

    def _settle_invoke(self, event: Event, fact: SettleInvoke) -> None:
        job = self._known.job(fact.id)
        grip = job.grip(fact.session, fact.starts)
        if not grip.invoked:
            # All settles of a start belong to the life in which it was handed out, however late they are repeated.
            grip.life, grip.during = job.lives, set(job.coming)
        repeats = grip.asked > 0
        grip.asked += 1
        grip.invoked += 1
        job.may_count += _counts(job, grip, fact)
        if fact.state in FINALS or fact.state == State.PARKED:
            job.may_be_final, job.fresh = True, False
        if fact.state == State.SUCCEEDED:
            grip.result = fact.result or None
        grip.asked_at, grip.asked_as = event.mono, fact.outcome
        # Until it is answered nobody knows whether it was done, and by which of the two the job is due.
        # If a call before this one may have been done, its delay has begun to run with that, on the clock of then.
        if not repeats:
            grip.again = event.mono + fact.delay if fact.state in _WAITS else None
        if grip.again is not None:
            job.due = None

    def _settle_end(self, event: Event, fact: SettleEnd) -> None:
        job = self._known.job(fact.id)
        grip = job.grip(fact.session, fact.starts)
        if fact.end == "info":
            job.due = None
        elif fact.end == "fail" or fact.verdict == "stale":
            grip.asked -= 1
            job.due = None
            job.may_count -= _counts(job, grip, fact)
        elif grip.accepted is not None:
            job.may_count -= _counts(job, grip, fact)
        else:
            grip.accepted = fact
            if fact.starts == job.top:
                job.due = grip.again if grip.again is not None else job.due
            self._count(job, grip, event.mono)

    def _count(self, job: Job, grip: Grip, now: float) -> None:
        """A start surely ended its job, or spent an attempt, if it is known to belong to the present life."""
        settle = grip.accepted
        if settle is None or grip.during or grip.life != job.lives:
            return
        job.may_count -= settle.outcome in COUNTED
        job.counted += settle.outcome in COUNTED
        if settle.state in FINALS:
            job.final, job.final_at = settle.state, now

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


def _counts(job: Job, grip: Grip, settle: SettleInvoke | SettleEnd) -> bool:
    """Whether this end of a start spends an attempt of the present life of the job."""
    return grip.life == job.lives and settle.outcome in COUNTED
