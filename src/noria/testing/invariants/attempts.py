"""I2: only what was enqueued is there, and runs. I5: attempts are counted and bounded. I12: nothing runs early. I17:
what was cancelled does not run."""

from __future__ import annotations

from noria.model.wording import count
from noria.testing.events import Effect, Event, Leased, PushEnd, Read, RunStart, SettleEnd
from noria.testing.facts import COUNTED, Handler
from noria.testing.inquiry import Inquiry, Invariant


class OnlyEnqueued(Invariant):
    """I2. A job is there if a call that enqueued it may have been done: no failed call leaves one."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._told: set[str] = set()

    def handlers(self) -> dict[type, Handler]:
        seen = (Leased, RunStart, Effect, Read)
        return {PushEnd: self._pushed, **dict.fromkeys(seen, self._seen)}

    def _seen(self, event: Event, fact: Leased | RunStart | Effect | Read) -> None:
        if not self._known.job(fact.id).asks and not (isinstance(fact, Read) and fact.state is None):
            self._ghost(event, fact.id, "a job that nobody enqueued is there")

    def _pushed(self, event: Event, fact: PushEnd) -> None:
        """A call that might have enqueued it did not, after all."""
        job = self._known.job(fact.id)
        if fact.end == "fail" and job.asks == 1 and (job.created or job.grips):
            self._ghost(event, fact.id, "it is there although every call to enqueue it has failed")

    def _ghost(self, event: Event, id: str, text: str) -> None:
        if id not in self._told:
            self._told.add(id)
            self._inquiry.found("I2", event, text, id)


class Attempts(Invariant):
    """I5. Within one life of a job, attempts are 1, 2, 3, ... and end at its budget."""

    def handlers(self) -> dict[type, Handler]:
        return {Leased: self._leased, RunStart: self._run, SettleEnd: self._settled, Read: self._read}

    def _leased(self, event: Event, fact: Leased) -> None:
        self._number(event, fact.id, fact.starts, fact.spent + 1)
        asked = self._known.job(fact.id).pushed
        if asked and fact.crashes >= asked.crash_budget:
            text = f"leased after crash number {fact.crashes}, its budget is {asked.crash_budget}"
            self._inquiry.found("I5", event, text, fact.id)

    def _run(self, event: Event, fact: RunStart) -> None:
        self._number(event, fact.id, fact.starts, fact.attempt)

    def _number(self, event: Event, id: str, starts: int, attempt: int) -> None:
        job = self._known.job(id)
        asked = job.pushed
        if starts < job.top or asked is None:
            return  # a start that others have overtaken tells what was true of it once
        most = job.counted + job.may_count + 1
        if not job.counted + 1 <= attempt <= most:
            wanted = str(most) if most == job.counted + 1 else f"{job.counted + 1} to {most}"
            self._inquiry.found("I5", event, f"this is attempt {attempt}, it should be {wanted}", id)
        elif attempt > job.attempts:
            self._inquiry.found("I5", event, f"this is attempt {attempt} of {job.attempts}", id)

    def _settled(self, event: Event, fact: SettleEnd) -> None:
        job = self._known.job(fact.id)
        accepted = fact.verdict == "ok" and fact.outcome in COUNTED
        if accepted and job.pushed and job.counted + 1 > job.pushed.attempts and not job.lives:
            text = f"{count(job.counted + 1, 'attempt')} counted, {job.pushed.attempts} allowed"
            self._inquiry.found("I5", event, text, fact.id)

    def _read(self, event: Event, fact: Read) -> None:
        job = self._known.job(fact.id)
        asked = job.pushed
        if fact.state is None or asked is None:
            return
        if fact.spent > job.attempts or fact.crashes > asked.crash_budget:
            text = (
                f"the record counts attempt {fact.spent} of {job.attempts} and crash {fact.crashes} of "
                f"{asked.crash_budget}"
            )
            self._inquiry.found("I5", event, text, fact.id)


class NotEarly(Invariant):
    """I12. By the monotonic clock, from the moment at which the delay was asked for."""

    def handlers(self) -> dict[type, Handler]:
        return {Leased: self._seen, RunStart: self._seen}

    def _seen(self, event: Event, fact: Leased | RunStart) -> None:
        job = self._known.job(fact.id)
        if job.due is None or fact.starts < job.top:
            return
        early = job.due - event.mono
        if early > self._inquiry.rules.tolerance:
            self._inquiry.found("I12", event, f"it runs {early:.3f} seconds before it is due", fact.id)
            job.due = None


class CancelledStays(Invariant):
    """I17. Once a job that did not run was cancelled, no valid start of it begins."""

    def handlers(self) -> dict[type, Handler]:
        return {Leased: self._seen, RunStart: self._seen}

    def _seen(self, event: Event, fact: Leased | RunStart) -> None:
        job = self._known.job(fact.id)
        if job.cancelled and not self._known.session(fact.session).may_be_over:
            text = f"start {fact.starts} begins after the job was cancelled"
            self._inquiry.found("I17", event, text, fact.id, sessions=(fact.session,))
