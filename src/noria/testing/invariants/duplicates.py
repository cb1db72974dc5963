"""Repeated effects: reported with what explains them; without an explanation, an error."""

from __future__ import annotations

from noria.model.outcome import Outcome
from noria.testing.events import Effect, Event
from noria.testing.facts import Grip, Handler
from noria.testing.inquiry import Inquiry


class Explained:
    """Execution is at least once; each time beyond the first needs a cause that the history shows."""

    def __init__(self, inquiry: Inquiry) -> None:
        self._inquiry = inquiry
        self._known = inquiry.known

    def handlers(self) -> dict[type, Handler]:
        return {Effect: self._effect}

    def finish(self, last: Event) -> None:
        pass

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
        begin = older.leased or older.ran or older.effect
        fault = self._inquiry.fault_between(begin, event.mono, older.proc)
        if fault is not None:
            return f"{fault.what} {fault.target}".strip()
        return "refused renewal" if self._known.session(older.session).lost else ""
