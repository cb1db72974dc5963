"""What is known of each job and session at one point of a history.

Everything here is one-sided, since a history tells when calls were asked and answered, not when they
happened: "surely" needs an answer, "may" needs only that somebody asked and was not told that it certainly
did not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.testing.events import Event, PushInvoke, SettleEnd

Handler = Callable[[Event, Any], None]
COUNTED = frozenset({Outcome.FAILED, Outcome.TIMED_OUT})
"""Outcomes that spend an attempt."""
SKEW = 1.0
"""Seconds by which the clocks of a producer and of a backend may disagree."""
FINALS = frozenset(int(state) for state in State if state.final)


class Grip(Struct):
    """One start of a job, in the hands of one session.

    Attributes:
        since, leased: when its worker asked for it, and when it learned of it; 0 if it never did.
        asked: settles of it that may have been done.
        invoked: settles of it, all of them.
        accepted: the settle that was done, as it was answered.
        superseded: another start was handed out while nobody knew that this one was over.
        recalled: its session may have given it back unheard.
        ran, effect, ended: what its handler told, and when it began.
        result: the digest that it was last settled with as succeeded.
        again: if it was last settled as to be run again, the time before which that must not be.
        life: the life of the job that it belongs to.
        asked_at, asked_as: when its end was last asked for, and with which outcome.
        during: retries that were on their way when its end was first asked for, and were not refused: nobody knows
            whether it ended before them, so that it says nothing of the life that they began.
    """

    session: int
    starts: int
    proc: str = ""
    since: float = 0.0
    leased: float = 0.0
    asked: int = 0
    invoked: int = 0
    accepted: SettleEnd | None = None
    superseded: bool = False
    recalled: bool = False
    ran: float = 0.0
    effect: float = 0.0
    ended: str = ""
    result: str | None = None
    again: float | None = None
    life: int = 0
    asked_at: float = 0.0
    asked_as: int = 0
    during: set[int] = field(default_factory=set)


class Job(Struct):
    """What is known of one job.

    Attributes:
        push: the event that first asked for it.
        asks: calls to enqueue it that may have stored it.
        created: when it was surely stored; 0 if nobody knows that it was.
        due: the monotonic time before which it may not start; None if nobody knows.
        final, final_at: the outcome that is surely recorded, and since when.
        may_be_final: whether it may have reached an outcome in this life.
        lives: how often an operator may have retried it.
        retries, coming: how often an operator asked for that, and those times (their numbers) without an end so far.
        fresh: nothing was done to it since an operator last asked for a retry.
        cancel_life: the life in which a cancel was last asked for.
        counted, may_count: settles in this life that spent an attempt, surely and perhaps.
        discarded: an operator may have discarded it.
        cancelled: when it was surely cancelled while it did not run; 0 if it was not.
        erased: a person may have erased its record.
        budget: the most attempts that it may have, if a person may have changed their number.
        bounds: times by which it may have had to start, since a person changed them.
    """

    id: str
    push: Event | None = None
    asks: int = 0
    created: float = 0.0
    due: float | None = None
    grips: dict[tuple[int, int], Grip] = field(default_factory=dict)
    top: int = 0
    final: int | None = None
    final_at: float = 0.0
    may_be_final: bool = False
    lives: int = 0
    retries: int = 0
    coming: set[int] = field(default_factory=set)
    fresh: bool = False
    cancel_life: int = 0
    counted: int = 0
    may_count: int = 0
    discarded: bool = False
    cancelled: float = 0.0
    erased: bool = False
    budget: int = 0
    bounds: tuple[float, ...] = ()

    @property
    def attempts(self) -> int:
        """How many attempts it may have, at most; 0 if nobody knows."""
        asked = self.pushed
        return 0 if asked is None else max(asked.attempts, self.budget)

    @property
    def pushed(self) -> PushInvoke | None:
        """How it was first enqueued."""
        return self.push.fact if self.push and isinstance(self.push.fact, PushInvoke) else None

    def grip(self, session: int, starts: int) -> Grip:
        """What is known of this start in the hands of this session."""
        key = (session, starts)
        found = self.grips.get(key)
        if found is None:
            found = self.grips[key] = Grip(session, starts, life=self.lives)
        return found


class Session(Struct):
    """What is known of one session.

    Attributes:
        ending: calls to end it that may have been done.
        ended: when it was surely over; 0 if nobody knows that it is.
        lost: one of its renewals was refused.
        heard: since when it may have been silent: the call that the backend last answered it was made then; None if
            nobody knows.
        unheard: it may hold jobs that its worker never heard of.
        grips: the starts that it was given.
        recalls: when it gave back what it held, and beside which jobs.
        recalling: the same of recalls that are not known to be over: the keeper's goes on while others lease.
    """

    ending: int = 0
    ended: float = 0.0
    lost: bool = False
    heard: float | None = None
    unheard: bool = False
    grips: list[tuple[str, int]] = field(default_factory=list)
    recalls: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)
    recalling: list[tuple[str, ...]] = field(default_factory=list)

    def may_have_recalled(self, id: str, since: float) -> bool:
        """Whether a lease asked for at that time may have been given back before its answer was heard."""
        before = any(at > since and id not in known for at, known in self.recalls)
        return before or any(id not in known for known in self.recalling)

    @property
    def may_be_over(self) -> bool:
        return self.ending > 0 or self.ended > 0


class Known:
    """All jobs and sessions, as far as the events so far tell; `learning` adds to it, event by event."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.sessions: dict[int, Session] = {}
        self.along: dict[tuple[str, str], tuple[str, ...]] = {}
        """The jobs that were to be enqueued along with a document, by its address and content."""

    def job(self, id: str) -> Job:
        found = self.jobs.get(id)
        if found is None:
            found = self.jobs[id] = Job(id)
        return found

    def session(self, session: int) -> Session:
        found = self.sessions.get(session)
        if found is None:
            found = self.sessions[session] = Session()
        return found

    def may_be_over(self, grip: Grip) -> bool:
        """Whether the start may no longer be its session's."""
        if grip.asked or grip.accepted is not None or grip.recalled:
            return True
        return self.session(grip.session).may_be_over

    def may_be_final(self, job: Job, wall: float) -> bool:
        """Whether the job may have reached an outcome by now, by anybody's doing."""
        if job.may_be_final or job.final is not None:
            return True
        asked = job.pushed
        ends = [] if asked is None else [end for end in (asked.expires, asked.deadline) if end is not None]
        return (
            any(wall + SKEW >= end for end in (*ends, *job.bounds))
            or any(
                self.session(grip.session).may_be_over
                for grip in job.grips.values()
                if grip.life == job.lives
            )
            or (asked is not None and any(self.may_have_ended(each, wall) for each in asked.after))
        )

    def may_have_ended(self, id: str, wall: float) -> bool:
        """Whether a job that others wait for may have ended, in this life or an earlier one, or may not be there."""
        job = self.jobs.get(id)
        if job is None or job.pushed is None or job.pushed.unique is not None:
            return True
        return job.lives > 0 or self.may_be_final(job, wall)

    def held(self, session: int) -> Iterator[tuple[Job, Grip]]:
        """The starts that a session was given."""
        for id, starts in self.session(session).grips:
            job = self.job(id)
            yield job, job.grip(session, starts)
