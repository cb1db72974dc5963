"""Histories made by hand: each call is one step of some process, a tenth of a second after the one before."""

from __future__ import annotations

from typing import Any

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.testing.checker import Rules, Verdict, check
from noria.testing.events import (
    AlterEnd,
    AlterInvoke,
    CountsRead,
    Effect,
    EndEnd,
    EndInvoke,
    Event,
    Fact,
    Fault,
    Followed,
    Leased,
    OutcomeSeen,
    PushEnd,
    PushInvoke,
    Read,
    RunEnd,
    RunStart,
    Seen,
    SettleEnd,
    SettleInvoke,
    Unfollowed,
)

STEP = 0.1
EPOCH = 1_800_000_000.0
TASK = "work"
_OUTCOME = {
    State.SUCCEEDED: Outcome.SUCCEEDED,
    State.FAILED: Outcome.FAILED,
    State.RETRYING: Outcome.FAILED,
    State.SCHEDULED: Outcome.SNOOZED,
    State.QUEUED: Outcome.RELEASED,
    State.PARKED: Outcome.RELEASED,
    State.CANCELLED: Outcome.CANCELLED,
    State.EXPIRED: Outcome.TIMED_OUT,
}


class Tape:
    """A history in the making. Job ids are short words, sessions small numbers; session n lives in "worker-n"."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.mono = 100.0

    def check(self, **rules: Any) -> Verdict:
        return check(self.events, Rules(**rules))

    def codes(self, **rules: Any) -> set[str]:
        """The invariants that this history breaks."""
        return {finding.code for finding in self.check(**rules).findings}

    def tell(self, fact: Fact, proc: str = "app") -> None:
        self.mono = round(self.mono + STEP, 6)
        self.events.append(Event(self.mono, EPOCH + self.mono, proc, len(self.events) + 1, fact))

    def pause(self, seconds: float) -> None:
        self.mono += seconds

    # -- producers and operators

    def push(self, id: str, *, end: Any = "ok", stands: str = "", **job: Any) -> None:
        """Enqueue; `stands` names the job that had the unique key already."""
        self.ask_push(id, **job)
        self.answer_push(id, end=end, stands=stands)

    def ask_push(self, id: str, **job: Any) -> None:
        given = {"task": TASK, "attempts": 3, "crash_budget": 3, **job}
        self.tell(PushInvoke(id=id, **given))

    def answer_push(self, id: str, *, end: Any = "ok", stands: str = "") -> None:
        status: Any = "" if end != "ok" else "existing" if stands else "created"
        self.tell(PushEnd(id=id, end=end, status=status, stands=stands or (id if end == "ok" else "")))

    def alter(self, id: str, change: Any, status: Any = "done", end: Any = "ok") -> None:
        self.tell(AlterInvoke(id=id, change=change), "operator")
        self.tell(AlterEnd(id=id, change=change, end=end, status=status), "operator")

    # -- workers

    def lease(self, id: str, session: int = 1, starts: int = 1, **tally: Any) -> None:
        self.tell(Leased(id=id, session=session, starts=starts, **tally), f"worker-{session}")

    def begin(self, id: str, session: int = 1, starts: int = 1, attempt: int = 1) -> None:
        self.tell(RunStart(id=id, session=session, starts=starts, attempt=attempt), f"worker-{session}")

    def effect(self, id: str, session: int = 1, starts: int = 1) -> None:
        self.tell(Effect(id=id, session=session, starts=starts), f"worker-{session}")

    def finish(self, id: str, session: int = 1, starts: int = 1, outcome: str = "succeeded") -> None:
        self.tell(RunEnd(id=id, session=session, starts=starts, outcome=outcome), f"worker-{session}")

    def run(
        self, id: str, session: int = 1, starts: int = 1, attempt: int = 1, how: str = "succeeded"
    ) -> None:
        """A handler from its first step to its last, with its effect."""
        self.begin(id, session, starts, attempt)
        self.effect(id, session, starts)
        self.finish(id, session, starts, how)

    def settle(
        self,
        id: str,
        session: int = 1,
        starts: int = 1,
        state: State = State.SUCCEEDED,
        *,
        verdict: Any = "ok",
        end: Any = "ok",
        outcome: Outcome | None = None,
        delay: float = 0.0,
        result: str = "",
    ) -> None:
        """End a start; its outcome is the usual one of the state that it leads to."""
        self.ask_settle(id, session, starts, state, outcome=outcome, delay=delay, result=result)
        self.answer_settle(id, session, starts, state, outcome=outcome, verdict=verdict, end=end)

    def ask_settle(
        self,
        id: str,
        session: int = 1,
        starts: int = 1,
        state: State = State.SUCCEEDED,
        *,
        outcome: Outcome | None = None,
        delay: float = 0.0,
        result: str = "",
    ) -> None:
        asked = SettleInvoke(
            id=id,
            session=session,
            starts=starts,
            outcome=_outcome(state, outcome),
            state=int(state),
            delay=delay,
            result=result or ("r" if state is State.SUCCEEDED else ""),
        )
        self.tell(asked, f"worker-{session}")

    def answer_settle(
        self,
        id: str,
        session: int = 1,
        starts: int = 1,
        state: State = State.SUCCEEDED,
        *,
        outcome: Outcome | None = None,
        verdict: Any = "ok",
        end: Any = "ok",
    ) -> None:
        answered = SettleEnd(
            id=id,
            session=session,
            starts=starts,
            outcome=_outcome(state, outcome),
            state=int(state),
            end=end,
            verdict=verdict if end == "ok" else "",
        )
        self.tell(answered, f"worker-{session}")

    def end(self, session: int, *, ended: bool = True, end: Any = "ok") -> None:
        self.tell(EndInvoke(session=session), "sweeper")
        self.tell(EndEnd(session=session, end=end, ended=ended and end == "ok"), "sweeper")

    def done(self, id: str, session: int = 1, starts: int = 1, attempt: int = 1) -> None:
        """The usual life of a leased job: it runs, and it is settled as succeeded."""
        self.run(id, session, starts, attempt)
        self.settle(id, session, starts)

    # -- readers and faults

    def read(
        self, id: str, state: State | None = State.SUCCEEDED, *, ago: float = 0.0, **record: Any
    ) -> None:
        if state is State.SUCCEEDED:
            record = {"session": 1, "starts": 1, "version": 3, "result": "r", "whole": True, **record}
        if state is State.FAILED:
            record = {"dead": True, "reason": "exception", **record}
        told = None if state is None else int(state)
        self.tell(Read(id=id, since=self.mono + STEP - ago, state=told, **record), "reader")

    def follow(self, id: str, stream: int = 1, *, after: int = 0) -> None:
        self.tell(Followed(id=id, stream=stream, reader="reader", after=after), "reader")

    def see(
        self,
        id: str,
        version: int,
        state: State | None,
        *,
        stream: int = 1,
        event: str = "",
        read: bool = True,
    ) -> None:
        """An event of a stream, of a record that its front has just read; the first one is "job"."""
        first = not any(isinstance(each.fact, Seen) and each.fact.stream == stream for each in self.events)
        name = event or ("job" if first else "state")
        if read and state is not None:
            self.read(id, state, version=version)
        told = None if state is None else int(state)
        self.tell(Seen(id=id, stream=stream, event=name, version=version, state=told), "reader")

    def unfollow(self, id: str, how: Any = "closed", stream: int = 1) -> None:
        self.tell(Unfollowed(id=id, stream=stream, how=how), "reader")

    def look(self, **states: State | None) -> None:
        """The last look: every job by name, and counts that agree."""
        there = [state for state in states.values() if state is not None]
        counts = {int(state): there.count(state) for state in there}
        dead = there.count(State.FAILED)
        gone = len(states) - len(there)
        self.tell(CountsRead(since=self.mono, states=counts, dead=dead, erased=gone, final=True), "reader")
        for id, state in states.items():
            self.read(id, state, final=True)

    def hint(self, id: str, state: State = State.SUCCEEDED, result: str | None = "r") -> None:
        self.tell(OutcomeSeen(id=id, state=int(state), result=result), "reader")

    def fault(self, what: str, target: str = "", *, name: str = "f", call: str = "") -> None:
        """A fault that is over at once."""
        self.tell(Fault(phase="begin", name=name, what=what, target=target, call=call), "nemesis")
        self.tell(Fault(phase="end", name=name, what=what, target=target, call=call), "nemesis")


def _outcome(state: State, outcome: Outcome | None) -> int:
    return int(_OUTCOME[state] if outcome is None else outcome)
