"""I1 and V1: every job arrives at an outcome. I18: the numbers agree. V2: nothing is left. V4: due jobs
start."""

from __future__ import annotations

from collections import Counter

from noria.model.state import State
from noria.model.wording import count
from noria.testing.events import CountsRead, Event, Leased, Left, PushEnd, Read, SteerInvoke
from noria.testing.facts import FINALS, Handler
from noria.testing.inquiry import Inquiry, Invariant


class Arrival(Invariant):
    """I1, V1 and I18, judged by the last look, if the history has one."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._wanted: dict[str, None] = {}
        self._final: dict[str, Read] = {}
        self._counts: CountsRead | None = None

    def handlers(self) -> dict[type, Handler]:
        return {PushEnd: self._pushed, Read: self._read, CountsRead: self._counted}

    def finish(self, last: Event) -> None:
        self._inquiry.verdict.looked = bool(self._final)
        if self._final:
            stored = {id: None for id, job in self._known.jobs.items() if job.created and job.push}
            for id in {**self._wanted, **stored}:
                self._arrived(last, id)
        if self._final and self._counts is not None:
            self._agree(last, self._counts)

    def _pushed(self, event: Event, fact: PushEnd) -> None:
        if fact.end == "ok" and fact.stands and fact.status != "rejected":
            self._wanted[fact.stands] = None

    def _read(self, event: Event, fact: Read) -> None:
        if fact.final:
            self._final[fact.id] = fact

    def _counted(self, event: Event, fact: CountsRead) -> None:
        if fact.final:
            self._counts = fact

    def _arrived(self, last: Event, id: str) -> None:
        read = self._final.get(id)
        if read is None:
            self._inquiry.found("I1", last, "it was stored, and the last look left it out", id)
        elif read.state is not None and read.state not in FINALS:
            self._inquiry.found("V1", last, f"it is still {State(read.state).word} at the end", id)

    def _agree(self, last: Event, counts: CountsRead) -> None:
        there = Counter(read.state for read in self._final.values() if read.state is not None)
        told = Counter({state: number for state, number in counts.states.items() if number})
        if there != told:
            text = f"the counts say {_words(told)}, the records {_words(there)}"
            self._inquiry.found("I18", last, text)
        dead = sum(read.dead for read in self._final.values())
        if dead != counts.dead:
            self._inquiry.found(
                "I18", last, f"the counts say {count(counts.dead, 'dead letter')}, the records {dead}"
            )
        gone = sum(
            read.state is None and bool(self._known.job(id).created) for id, read in self._final.items()
        )
        if gone != counts.erased and not self._inquiry.rules.prunes:
            self._inquiry.found(
                "I18", last, f"{gone} records are gone, {counts.erased} are counted as erased"
            )


class NothingLeft(Invariant):
    """V2."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)

    def handlers(self) -> dict[type, Handler]:
        return {Left: self._left}

    def _left(self, event: Event, fact: Left) -> None:
        if fact.count > 0:
            self._inquiry.found("V2", event, f"{fact.count} more {fact.what} than at the beginning")


class OnTime(Invariant):
    """V4. A delayed job that is due is leased soon, unless a fault was at work in between."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._paused: set[str] = set()

    def handlers(self) -> dict[type, Handler]:
        return {Leased: self._leased, SteerInvoke: self._steered}

    def _leased(self, event: Event, fact: Leased) -> None:
        allowed = self._inquiry.rules.lateness
        job = self._known.job(fact.id)
        delayed = job.due is not None and job.push is not None and job.due > job.push.mono
        if fact.queue in self._paused:
            return
        if allowed is None or not delayed or fact.starts < job.top or job.due is None:
            return
        late = event.mono - job.due
        waited = not any(grip.leased > job.due for grip in job.grips.values())
        if late > allowed and waited and self._inquiry.fault_between(job.due, event.mono) is None:
            self._inquiry.found("V4", event, f"it was leased {late:.3f} seconds after it was due", fact.id)

    def _steered(self, event: Event, fact: SteerInvoke) -> None:
        """Nobody promises when a job of a queue starts that is paused now and then."""
        self._paused.add(fact.queue)


def _words(states: Counter[int]) -> str:
    return ", ".join(f"{number} {State(state).word}" for state, number in sorted(states.items())) or "nothing"
