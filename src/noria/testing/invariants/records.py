"""I7: records move by the table of states, and an outcome stays. What was stored is there to be read (I1)."""

from __future__ import annotations

from msgspec import Struct

from noria.model.outcome import Outcome
from noria.model.state import FINAL, MOVES, State, can
from noria.model.state import Event as Move
from noria.testing.events import AlterEnd, AlterInvoke, Event, Leased, Read, SettleEnd
from noria.testing.facts import Handler, Job
from noria.testing.inquiry import Inquiry, Invariant

_MOVES_OF: dict[Outcome, tuple[Move, ...]] = {
    Outcome.SUCCEEDED: ("succeed",),
    Outcome.FAILED: ("fail", "retry"),
    Outcome.TIMED_OUT: ("fail", "retry", "expire"),
    Outcome.CRASHED: ("crash",),
    Outcome.RELEASED: ("release", "park", "fail"),
    Outcome.SNOOZED: ("snooze", "fail"),
    Outcome.CANCELLED: ("cancel",),
}
LEGAL_ENDS = frozenset(
    (int(outcome), int(state))
    for outcome, moves in _MOVES_OF.items()
    for move in moves
    for state in MOVES[State.RUNNING, move]
)
STEPS = frozenset((int(before), int(after)) for (before, _), afters in MOVES.items() for after in afters)
"""Pairs of states that one move may join."""

_ALTERABLE: dict[str, frozenset[State]] = {
    "cancel": frozenset({State.CANCELLED}),
    "retry": frozenset(state for state in FINAL if can(state, "operator retry")),
    "discard": frozenset({State.FAILED}),
    "erase": FINAL,
}
"""Ended jobs that a change may be done to."""


class Best(Struct, frozen=True):
    """The newest version of a record that was seen."""

    version: int
    state: int
    mono: float


class Moves(Invariant):
    """I7, and the part of I1 that can be seen at any time."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._best: dict[str, Best] = {}
        self._found: dict[tuple[str, str], int | None] = {}

    def handlers(self) -> dict[type, Handler]:
        return {
            Leased: self._leased,
            SettleEnd: self._settled,
            AlterInvoke: self._alter_invoke,
            AlterEnd: self._altered,
            Read: self._read,
        }

    def _leased(self, event: Event, fact: Leased) -> None:
        job = self._known.job(fact.id)
        newest = fact.starts > job.top and not self._known.session(fact.session).may_be_over
        if job.final is not None and newest and not job.cancelled:
            self._inquiry.found("I7", event, f"leased although it is {_word(job.final)}", fact.id)

    def _settled(self, event: Event, fact: SettleEnd) -> None:
        if fact.verdict != "ok":
            return
        job = self._known.job(fact.id)
        grip = job.grip(fact.session, fact.starts)
        if (fact.outcome, fact.state) not in LEGAL_ENDS:
            text = f"a start that {Outcome(fact.outcome).word} may not make its job {_word(fact.state)}"
            self._inquiry.found("I7", event, text, fact.id)
        elif job.final is not None and grip.accepted is None and grip.asked_at > job.final_at:
            text = f"an end was accepted that was asked for when the job was {_word(job.final)}"
            self._inquiry.found("I7", event, text, fact.id)

    def _alter_invoke(self, event: Event, fact: AlterInvoke) -> None:
        self._found[event.proc, fact.id] = self._known.job(fact.id).final

    def _altered(self, event: Event, fact: AlterEnd) -> None:
        before = self._found.pop((event.proc, fact.id), None)
        if fact.status != "done":
            return
        if before is None:
            self._was_live(event, fact)
        elif before not in _ALTERABLE.get(fact.change, frozenset()):
            text = f"{fact.change} was done although the job was {_word(before)}"
            self._inquiry.found("I7", event, text, fact.id)

    def _was_live(self, event: Event, fact: AlterEnd) -> None:
        job = self._known.job(fact.id)
        if fact.change in ("erase", "discard") and not self._known.may_be_final(job, event.wall):
            self._inquiry.found(
                "I7", event, f"{fact.change} was done although the job had not ended", fact.id
            )

    def _read(self, event: Event, fact: Read) -> None:
        job = self._known.job(fact.id)
        if fact.state is None:
            self._missing(event, fact, job)
            return
        if job.final is not None and fact.since > job.final_at and fact.state != job.final:
            text = f"read as {_word(fact.state)} after it was {_word(job.final)}"
            self._inquiry.found("I7", event, text, fact.id)
        self._compare(event, fact)

    def _compare(self, event: Event, fact: Read) -> None:
        state = fact.state or 0
        best = self._best.get(fact.id)
        if best is not None:
            if fact.version < best.version and fact.since > best.mono:
                text = f"its version went back from {best.version} to {fact.version}"
                self._inquiry.found("I7", event, text, fact.id)
            elif state != best.state and abs(fact.version - best.version) <= 1:
                older, newer = (best.state, state) if fact.version > best.version else (state, best.state)
                if fact.version == best.version or (older, newer) not in STEPS:
                    text = f"it went from {_word(older)} to {_word(newer)}, which no move allows"
                    self._inquiry.found("I7", event, text, fact.id)
        if best is None or fact.version > best.version:
            self._best[fact.id] = Best(fact.version, state, event.mono)

    def _missing(self, event: Event, fact: Read, job: Job) -> None:
        surely_stored = job.created and fact.since > job.created
        if surely_stored and not self._may_vanish(job, event):
            self._inquiry.found("I1", event, "it was stored, and there is no record of it", fact.id)

    def _may_vanish(self, job: Job, event: Event) -> bool:
        asked = job.pushed
        kept = asked.keep if asked else None
        if not self._known.may_be_final(job, event.wall):
            return False
        return (
            job.erased
            or self._inquiry.rules.prunes
            or (kept is not None and event.mono >= job.created + kept)
        )


def _word(state: int) -> str:
    return State(state).word
