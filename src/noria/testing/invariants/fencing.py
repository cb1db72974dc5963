"""I4: a write is accepted from the valid holder and from nobody else. I6: a job never has two valid
holders."""

from __future__ import annotations

from noria.testing.events import EndEnd, Event, Leased, SettleEnd, SettleInvoke
from noria.testing.facts import Grip, Handler, Job
from noria.testing.inquiry import Inquiry, Invariant


class OneHolder(Invariant):
    """I6. Holding lasts from a lease that was heard to the first call that may have ended it."""

    def handlers(self) -> dict[type, Handler]:
        return {Leased: self._leased, SettleEnd: self._settle_end, EndEnd: self._end_end}

    def _leased(self, event: Event, fact: Leased) -> None:
        job = self._known.job(fact.id)
        recalled = self._known.session(fact.session).may_have_recalled(fact.id, fact.since)
        new = Grip(fact.session, fact.starts, recalled=recalled)
        for other in job.grips.values():
            if not other.leased:
                continue
            if other.starts == fact.starts:
                if not forgotten(self._inquiry, other, event):
                    self._overlap(event, job, other, new)
                continue
            older = other if other.starts < fact.starts else new
            if not self._known.may_be_over(older):
                self._overlap(event, job, other, new)
            other.superseded = other.superseded or older is other

    def _settle_end(self, event: Event, fact: SettleEnd) -> None:
        """A settle that might have ended a superseded start did not, after all."""
        if fact.end == "ok" and fact.verdict != "stale":
            return
        job = self._known.job(fact.id)
        grip = job.grip(fact.session, fact.starts)
        only_reason = fact.end != "info" and grip.asked == 1 and grip.accepted is None and not grip.recalled
        if grip.superseded and only_reason and not self._known.session(grip.session).may_be_over:
            self._overlap(event, job, grip, self._next(job, grip))

    def _end_end(self, event: Event, fact: EndEnd) -> None:
        """A call that might have ended a session did not, after all."""
        session = self._known.session(fact.session)
        failed = fact.end == "fail" or (fact.end == "ok" and not fact.ended)
        if not failed or session.ending > 1 or session.ended:
            return
        for job, grip in self._known.held(fact.session):
            if grip.superseded and not grip.asked and grip.accepted is None and not grip.recalled:
                self._overlap(event, job, grip, self._next(job, grip))

    def _next(self, job: Job, grip: Grip) -> Grip:
        return min(
            (each for each in job.grips.values() if each.starts > grip.starts), key=lambda each: each.starts
        )

    def _overlap(self, event: Event, job: Job, one: Grip, other: Grip) -> None:
        text = (
            f"start {one.starts} of session {one.session} and start {other.starts} of session "
            f"{other.session} hold the job at once"
        )
        self._inquiry.found("I6", event, text, job.id, sessions=(one.session, other.session))


def forgotten(inquiry: Inquiry, grip: Grip, now: Event) -> bool:
    """Whether the server has been started anew since a lease, which need not have survived that: see the contract."""
    return inquiry.fault_between(grip.since, now.mono, fits=lambda fault: fault.what == "restart") is not None


class Fenced(Invariant):
    """I4. What was known when a settle was asked for decides what may be answered."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._asked: dict[tuple[str, int, str, int], str] = {}

    def handlers(self) -> dict[type, Handler]:
        return {SettleInvoke: self._invoke, SettleEnd: self._end}

    def _invoke(self, event: Event, fact: SettleInvoke) -> None:
        self._asked[event.proc, fact.session, fact.id, fact.starts] = self._why_stale(fact)

    def _why_stale(self, fact: SettleInvoke) -> str:
        session, job = self._known.session(fact.session), self._known.job(fact.id)
        if session.ended:
            return "its session was over"
        if job.top > fact.starts:
            return f"start {job.top} had been handed out"
        if not job.grip(fact.session, fact.starts).leased and not session.unheard:
            return "that session was never given this start"
        return ""

    def _end(self, event: Event, fact: SettleEnd) -> None:
        why = self._asked.pop((event.proc, fact.session, fact.id, fact.starts), "")
        grip = self._known.job(fact.id).grip(fact.session, fact.starts)
        start = f"start {fact.starts} of session {fact.session}"
        text = ""
        if fact.verdict == "ok" and why:
            text = f"a settle of {start} was accepted although {why}"
        elif fact.verdict == "ok" and grip.accepted is not None and grip.accepted.verdict == "ok":
            text = f"two settles of {start} were accepted"
        elif fact.verdict == "already" and grip.asked <= 1 and grip.accepted is None:
            text = f"the first settle of {start} was told that it had been done already"
        elif fact.verdict == "stale" and not why and not self._may_be_stale(event, fact, grip):
            text = f"{start} was valid, and its settle was refused"
        if text:
            self._inquiry.found("I4", event, text, fact.id, sessions=(fact.session,))

    def _may_be_stale(self, event: Event, fact: SettleEnd, grip: Grip) -> bool:
        job = self._known.job(fact.id)
        over = self._known.session(fact.session).may_be_over or grip.recalled or grip.invoked > 1
        return over or job.top > fact.starts or not grip.leased or forgotten(self._inquiry, grip, event)
