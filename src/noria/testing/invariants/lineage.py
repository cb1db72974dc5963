"""C1: follow-ups are there with the success of the start that asked for them, and only then. C2: what the ends of jobs
mean for those that wait for them. C3: deadlines and values are handed on."""

from __future__ import annotations

from collections.abc import Iterator

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.model.wording import count
from noria.testing.events import Begot, Effect, Event, Fed, Leased, PushInvoke, Read, RunStart
from noria.testing.facts import FINALS, Grip, Handler, Job
from noria.testing.history import digest
from noria.testing.inquiry import Inquiry, Invariant

_NOTHING = digest("json", b"null")
_UNIT = 0.001
"""Seconds to which backends round deadlines."""


class Children(Invariant):
    """C1."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._begot: dict[str, Begot] = {}
        self._seen: set[str] = set()
        self._gone: dict[str, Event] = {}

    def handlers(self) -> dict[type, Handler]:
        seen = (Leased, RunStart, Effect)
        return {Begot: self._asked, Read: self._read, **dict.fromkeys(seen, self._there)}

    def _asked(self, event: Event, fact: Begot) -> None:
        self._begot[fact.id] = fact

    def _read(self, event: Event, fact: Read) -> None:
        if fact.state is not None:
            self._there(event, fact)
        elif fact.final:
            self._gone[fact.id] = event

    def _there(self, event: Event, fact: Leased | RunStart | Effect | Read) -> None:
        begot = self._begot.get(fact.id)
        if begot is None or fact.id in self._seen:
            return
        self._seen.add(fact.id)
        if not _succeeded(self._start(begot)):
            text = f"a follow-up is there, and start {begot.starts}, which asked for it, did not succeed"
            self._inquiry.found("C1", event, text, begot.parent, fact.id, sessions=(begot.session,))

    def _start(self, begot: Begot) -> Grip:
        return self._known.job(begot.parent).grip(begot.session, begot.starts)

    def finish(self, last: Event) -> None:
        """All that the start which succeeded had asked for were there, if nobody has erased them since."""
        for id in sorted(self._gone.keys() - self._seen):
            begot = self._begot.get(id)
            if begot is None or self._known.job(id).erased or not self._surely(begot):
                continue
            asked = self._known.job(id).pushed
            if asked is None or (asked.unique is None and asked.keep is None):
                text = f"start {begot.starts} succeeded, and a follow-up that it asked for is not there"
                self._inquiry.found("C1", last, text, begot.parent, id, sessions=(begot.session,))

    def _surely(self, begot: Begot) -> bool:
        accepted = self._start(begot).accepted
        return accepted is not None and accepted.outcome == Outcome.SUCCEEDED


def _succeeded(grip: Grip) -> bool:
    """Whether the success of a start may be recorded."""
    if grip.accepted is not None:
        return grip.accepted.outcome == Outcome.SUCCEEDED
    return grip.asked > 0 and grip.asked_as == Outcome.SUCCEEDED


class Heirs(Invariant):
    """C2. Only of those that nobody has had run again, since a person's retry asks no parent."""

    def handlers(self) -> dict[type, Handler]:
        return {Leased: self._leased, Read: self._read}

    def _leased(self, event: Event, fact: Leased) -> None:
        asked = self._of(fact.id)
        if asked is None:
            return
        text = ""
        if not all(self._known.may_have_ended(each, event.wall) for each in asked.after):
            text = "it runs although one that it waits for has not ended"
        elif asked.on == "success" and (bad := self._surely(asked, succeeded=False)):
            text = f"it runs although {bad} that it waits for did not succeed"
        elif asked.on == "failure" and self._all_succeeded(asked):
            text = "it runs although all that it waits for succeeded"
        if text:
            self._inquiry.found("C2", event, text, fact.id, *asked.after)

    def _read(self, event: Event, fact: Read) -> None:
        asked = self._of(fact.id)
        if asked is None or fact.state is None:
            return
        text = ""
        if fact.state == State.WAITING and self._all_ended_before(asked, fact.since):
            text = "it still waits although all that it waits for have ended"
        elif fact.state == State.CANCELLED and fact.reason == "parent":
            text = self._why_not_cancelled(asked)
        if text:
            self._inquiry.found("C2", event, text, fact.id, *asked.after)

    def _of(self, id: str) -> PushInvoke | None:
        """How a job was enqueued that waits for others, and that nobody has retried."""
        job = self._known.job(id)
        asked = job.pushed
        return None if asked is None or not asked.after or job.lives else asked

    def _why_not_cancelled(self, asked: PushInvoke) -> str:
        if asked.on == "complete":
            return "it was cancelled because of one that it waits for, however that was to end"
        if asked.on == "success" and self._all_succeeded(asked):
            return "it was cancelled although all that it waits for succeeded"
        if asked.on == "failure" and (bad := self._surely(asked, succeeded=False)):
            return f"it was cancelled although {bad} that it waits for did not succeed, as it was to be"
        return ""

    def _all_succeeded(self, asked: PushInvoke) -> bool:
        return len(list(self._ends(asked, succeeded=True))) == len(asked.after)

    def _surely(self, asked: PushInvoke, *, succeeded: bool) -> str:
        ends = list(self._ends(asked, succeeded=succeeded))
        return count(len(ends), "job") if ends else ""

    def _all_ended_before(self, asked: PushInvoke, since: float) -> bool:
        ends = [*self._ends(asked, succeeded=True), *self._ends(asked, succeeded=False)]
        return len(ends) == len(asked.after) and all(job.final_at < since for job in ends)

    def _ends(self, asked: PushInvoke, *, succeeded: bool) -> Iterator[Job]:
        """Those that surely ended so, once and for all."""
        for job in map(self._known.job, asked.after):
            plain = job.pushed is not None and job.pushed.unique is None and not job.lives
            if plain and job.final in FINALS and (job.final == State.SUCCEEDED) is succeeded:
                yield job


class Handed(Invariant):
    """C3."""

    def handlers(self) -> dict[type, Handler]:
        return {PushInvoke: self._pushed, Fed: self._fed}

    def _pushed(self, event: Event, fact: PushInvoke) -> None:
        parent = self._known.job(fact.parent).pushed if fact.parent else None
        if parent is None or parent.deadline is None:
            return
        if fact.deadline is None or fact.deadline > parent.deadline + _UNIT:
            text = "a follow-up has more time than the job that asked for it"
            self._inquiry.found("C3", event, text, fact.id, fact.parent)

    def _fed(self, event: Event, fact: Fed) -> None:
        asked = self._known.job(fact.id).pushed
        if asked is None or not asked.fed:
            return
        if len(fact.values) != len(asked.after):
            text = f"it waited for {count(len(asked.after), 'job')}, and was given {count(len(fact.values), 'value')}"
            self._inquiry.found("C3", event, text, fact.id)
            return
        for id, value in zip(asked.after, fact.values, strict=True):
            if not self._may_be(self._known.job(id), value):
                text = "it was given a value that is not that of the job which it waited for"
                self._inquiry.found("C3", event, text, fact.id, id)

    def _may_be(self, job: Job, value: str) -> bool:
        if job.pushed is None or job.pushed.unique is not None or job.lives:
            return True
        if value == _NOTHING:
            return job.final != State.SUCCEEDED
        results = [grip.result for grip in job.grips.values() if _succeeded(grip)]
        return value in results
