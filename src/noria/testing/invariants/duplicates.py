"""Repeated effects: reported with what explains them; without an explanation, an error."""

from __future__ import annotations

from noria.model.outcome import Outcome
from noria.testing.events import Effect, Event, Fault
from noria.testing.facts import Grip, Handler
from noria.testing.inquiry import Invariant


class Explained(Invariant):
    """Execution is at least once; each time beyond the first needs a cause that the history shows."""

    def handlers(self) -> dict[type, Handler]:
        return {Effect: self._effect}

    def _effect(self, event: Event, fact: Effect) -> None:
        job = self._known.job(fact.id)
        new = job.grip(fact.session, fact.starts)
        if new.effect:
            return  # one run may have several
        earlier = [grip for grip in job.grips.values() if grip.effect and grip is not new]
        if not earlier:
            return
        other = min(earlier, key=lambda grip: abs(grip.starts - new.starts))
        # What has to be explained is why the older of the two was not the only one.
        older = min(other, new, key=lambda grip: grip.starts)
        cause = self._cause(event, older, life=max(other.life, new.life))
        if cause:
            self._inquiry.explained(fact.id, fact.starts, cause)
        else:
            text = f"start {fact.starts} repeats the effect of start {other.starts}, and nothing explains it"
            self._inquiry.found("D", event, text, fact.id, sessions=(other.session, new.session))

    def _cause(self, event: Event, older: Grip, *, life: int) -> str:
        settle = older.accepted
        if older.life != life:
            return "operator"
        if settle is not None and settle.outcome != Outcome.SUCCEEDED:
            return Outcome(settle.outcome).word
        if settle is not None:
            return ""
        if older.asked and older.asked_as != Outcome.SUCCEEDED:
            return Outcome(older.asked_as).word  # nobody told yet that it was done
        # Its session may have ended while the answer was on its way: what was at work then explains it too. So does
        # what kept the session silent before, if it has not been heard of since.
        begin = older.since or older.leased or older.ran or older.effect
        heard = self._known.session(older.session).heard
        begin = begin if heard is None else min(begin, heard)
        fault = self._inquiry.fault_between(begin, event.mono, older.proc, _may_repeat)
        if fault is not None:
            return f"{fault.what} {fault.target}".strip()
        return "refused renewal" if self._known.session(older.session).lost else ""


def _may_repeat(fault: Fault) -> bool:
    """Of faults of single calls, those that may cost a worker its job: an end unheard, a session not heard of."""
    return fault.call in ("", "open", "settle", "renew") or fault.what == "cancelled"
