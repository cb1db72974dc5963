"""I3: success is what a handler reached. I13: what is announced can be read. I14: failed jobs are dead
letters."""

from __future__ import annotations

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.testing.events import Event, OutcomeSeen, Read
from noria.testing.facts import Grip, Handler
from noria.testing.inquiry import Inquiry, Invariant


class Earned(Invariant):
    """I3. A record that says "succeeded" names a start whose handler had its effect and said so."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._seen: set[tuple[str, int, int]] = set()

    def handlers(self) -> dict[type, Handler]:
        return {Read: self._read}

    def _read(self, event: Event, fact: Read) -> None:
        key = (fact.id, fact.session, fact.starts)
        if fact.state != State.SUCCEEDED or key in self._seen:
            return
        self._seen.add(key)
        grip = self._known.job(fact.id).grip(fact.session, fact.starts)
        text = self._missing(grip)
        if text:
            told = f"it succeeded by start {fact.starts} of session {fact.session}, {text}"
            self._inquiry.found("I3", event, told, fact.id, sessions=(fact.session,))

    def _missing(self, grip: Grip) -> str:
        rules = self._inquiry.rules
        if not grip.invoked:
            return "which nobody settled"
        if rules.runs and grip.ended != Outcome.SUCCEEDED.word:
            return f"whose handler ended as {grip.ended or 'nothing'}"
        if rules.effects and not grip.effect:
            return "which had no effect"
        return ""


class Readable(Invariant):
    """I13. After anybody was told of a success, everybody reads it, and one and the same value."""

    def handlers(self) -> dict[type, Handler]:
        return {Read: self._read, OutcomeSeen: self._hinted}

    def _read(self, event: Event, fact: Read) -> None:
        if fact.state != State.SUCCEEDED or not fact.whole:
            return
        wanted = self._known.job(fact.id).grip(fact.session, fact.starts).result
        if fact.result != wanted and not (fact.result is None and self._inquiry.rules.prunes):
            text = f"its result reads as {fact.result}, it was settled with {wanted}"
            self._inquiry.found("I13", event, text, fact.id)

    def _hinted(self, event: Event, fact: OutcomeSeen) -> None:
        job = self._known.job(fact.id)
        if job.lives:
            return  # it may tell of an earlier life
        if not self._known.may_be_final(job, event.wall) or (
            job.final is not None and job.final != fact.state
        ):
            text = f"a hint says that it is {State(fact.state).word}, which it is not"
            self._inquiry.found("I13", event, text, fact.id)
        elif fact.result is not None and fact.result not in {grip.result for grip in job.grips.values()}:
            self._inquiry.found(
                "I13", event, f"a hint told the result {fact.result}, nobody gave it", fact.id
            )


class DeadLetters(Invariant):
    """I14. Every failed job is a dead letter with a reason until somebody deals with it, and no other is."""

    def handlers(self) -> dict[type, Handler]:
        return {Read: self._read}

    def _read(self, event: Event, fact: Read) -> None:
        if fact.state is None:
            return
        text = ""
        if fact.state == State.FAILED and not fact.dead and not self._known.job(fact.id).discarded:
            text = "it failed, nobody discarded it, and it is no dead letter"
        elif fact.state != State.FAILED and fact.dead:
            text = f"it is {State(fact.state).word}, and a dead letter"
        elif fact.state == State.FAILED and not fact.reason:
            text = "it failed without a reason"
        if text:
            self._inquiry.found("I14", event, text, fact.id)
