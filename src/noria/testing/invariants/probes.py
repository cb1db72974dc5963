"""V3: every worker that is alive works. V4: what is due is leased soon.

At the end each worker is given a job that only it can run, when it has nothing else to do.
"""

from __future__ import annotations

from noria.model.state import State
from noria.testing.events import Event, Leased, Probed, Read, RunStart
from noria.testing.facts import Handler
from noria.testing.inquiry import Inquiry, Invariant

PROMPT = 2.5
"""Seconds after it is due within which a worker that waits has leased a job: a poll, and the way there and back."""


class Working(Invariant):
    """V3, and V4 for jobs that wait for nothing but their time."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._probes: dict[str, str] = {}
        self._answered: set[str] = set()

    def handlers(self) -> dict[type, Handler]:
        return {Probed: self._probed, Leased: self._leased, RunStart: self._begun, Read: self._read}

    def finish(self, last: Event) -> None:
        for id, target in self._probes.items():
            if id not in self._answered:
                self._inquiry.found("V3", last, f"{target} is alive and has not done what it was given", id)

    def _probed(self, event: Event, fact: Probed) -> None:
        self._probes[fact.id] = fact.target

    def _leased(self, event: Event, fact: Leased) -> None:
        due = self._known.job(fact.id).due
        if fact.id in self._probes and due is not None and event.mono > due + PROMPT:
            late = event.mono - due
            self._inquiry.found("V4", event, f"it was leased {late:.3f} seconds after it was due", fact.id)

    def _begun(self, event: Event, fact: RunStart) -> None:
        target = self._probes.get(fact.id, event.proc)
        if event.proc != target:
            self._inquiry.found(
                "V3", event, f"a job that {target} alone can run runs in {event.proc}", fact.id
            )

    def _read(self, event: Event, fact: Read) -> None:
        if fact.state == State.SUCCEEDED:
            self._answered.add(fact.id)
