"""The states of a job, and the one table of moves between them.

Nothing else knows which move is legal. `docs/states.md` is drawn from this table and a test walks it.
Numbers are stored. Only `ASKING` is not: a job that asks is stored as running, and told from the others by its open
question, so that whatever ends its start ends the asking.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal


class State(IntEnum):
    """Where a job stands."""

    SCHEDULED = 1
    QUEUED = 2
    RUNNING = 3
    WAITING = 4
    ASKING = 5
    RETRYING = 6
    PARKED = 7
    SUCCEEDED = 10
    FAILED = 11
    CANCELLED = 12
    EXPIRED = 13

    @property
    def final(self) -> bool:
        """Whether the job has its one recorded outcome."""
        return self >= State.SUCCEEDED

    @property
    def word(self) -> str:
        """The state as code, REST, CLI and docs write it."""
        return self.name.lower()


Event = Literal[
    "due",
    "follow",
    "admit",
    "lease",
    "succeed",
    "fail",
    "retry",
    "snooze",
    "release",
    "close",
    "ask",
    "resume",
    "crash",
    "park",
    "cancel",
    "expire",
    "give up",
    "operator retry",
    "operator run",
    "operator edit",
]

MOVES: dict[tuple[State, Event], frozenset[State]] = {
    # A job of a group waits in line until its group has a place for it; nobody else ever does.
    (State.SCHEDULED, "due"): frozenset({State.QUEUED, State.WAITING}),
    (State.SCHEDULED, "operator run"): frozenset({State.QUEUED, State.WAITING}),
    # An edit that leaves a job where it stands is no move: see `EDITABLE`.
    (State.SCHEDULED, "operator edit"): frozenset({State.QUEUED, State.WAITING}),
    (State.SCHEDULED, "cancel"): frozenset({State.CANCELLED}),
    (State.SCHEDULED, "expire"): frozenset({State.EXPIRED}),
    (State.RETRYING, "due"): frozenset({State.QUEUED, State.WAITING}),
    (State.RETRYING, "operator run"): frozenset({State.QUEUED, State.WAITING}),
    (State.RETRYING, "operator edit"): frozenset({State.QUEUED, State.WAITING}),
    (State.RETRYING, "cancel"): frozenset({State.CANCELLED}),
    (State.RETRYING, "expire"): frozenset({State.EXPIRED}),
    # A job that follows others waits until they have ended.
    (State.WAITING, "follow"): frozenset({State.QUEUED, State.SCHEDULED, State.CANCELLED}),
    (State.WAITING, "admit"): frozenset({State.QUEUED}),
    (State.WAITING, "operator edit"): frozenset({State.SCHEDULED, State.QUEUED}),
    (State.WAITING, "cancel"): frozenset({State.CANCELLED}),
    (State.WAITING, "expire"): frozenset({State.EXPIRED}),
    (State.QUEUED, "lease"): frozenset({State.RUNNING}),
    (State.QUEUED, "close"): frozenset({State.WAITING}),
    (State.QUEUED, "operator edit"): frozenset({State.SCHEDULED}),
    (State.QUEUED, "cancel"): frozenset({State.CANCELLED}),
    (State.QUEUED, "expire"): frozenset({State.EXPIRED}),
    (State.PARKED, "lease"): frozenset({State.RUNNING}),
    (State.PARKED, "cancel"): frozenset({State.CANCELLED}),
    (State.PARKED, "expire"): frozenset({State.EXPIRED}),
    (State.PARKED, "give up"): frozenset({State.FAILED}),
    (State.RUNNING, "succeed"): frozenset({State.SUCCEEDED}),
    (State.RUNNING, "fail"): frozenset({State.FAILED}),
    (State.RUNNING, "retry"): frozenset({State.RETRYING}),
    (State.RUNNING, "snooze"): frozenset({State.SCHEDULED}),
    (State.RUNNING, "release"): frozenset({State.QUEUED, State.WAITING}),
    # A job whose cancellation was asked for is not run again when its process dies.
    (State.RUNNING, "crash"): frozenset({State.QUEUED, State.WAITING, State.FAILED, State.CANCELLED}),
    (State.RUNNING, "park"): frozenset({State.PARKED}),
    (State.RUNNING, "cancel"): frozenset({State.CANCELLED}),
    (State.RUNNING, "expire"): frozenset({State.EXPIRED}),
    (State.RUNNING, "ask"): frozenset({State.ASKING}),
    (State.ASKING, "resume"): frozenset({State.RUNNING}),
    (State.FAILED, "operator retry"): frozenset({State.QUEUED, State.WAITING, State.SCHEDULED}),
    (State.CANCELLED, "operator retry"): frozenset({State.QUEUED, State.WAITING, State.SCHEDULED}),
    (State.EXPIRED, "operator retry"): frozenset({State.QUEUED, State.WAITING, State.SCHEDULED}),
}

RUNS = frozenset({State.RUNNING, State.ASKING})
"""States in which a session holds the job. From both of them a start may end in the same ways."""
MOVES.update(
    {
        (State.ASKING, event): after
        for (before, event), after in list(MOVES.items())
        if before is State.RUNNING and event != "ask"
    }
)

LIVE = frozenset(state for state in State if not state.final)
FINAL = frozenset(state for state in State if state.final)
WAITING_FOR_TIME = frozenset(state for state, event in MOVES if event == "due")
EDITABLE = LIVE - RUNS
"""States in which a job waits: its options may be changed, and it may be moved to another queue."""
LEASABLE = frozenset(state for state, event in MOVES if event == "lease")


def legal(before: State, event: Event, after: State) -> bool:
    """Whether `event` may take a job from `before` to `after`."""
    return after in MOVES.get((before, event), frozenset())


def can(before: State, event: Event) -> bool:
    """Whether `event` may happen to a job in the state `before` at all."""
    return (before, event) in MOVES


def diagram() -> str:
    """The table as a Mermaid state diagram, one line a move, in the order of the table."""
    lines = ["stateDiagram-v2", "    [*] --> scheduled: enqueue with delay", "    [*] --> queued: enqueue"]
    lines.append("    [*] --> waiting: enqueue after others, or into a group")
    for (before, event), afters in MOVES.items():
        lines += [f"    {before.word} --> {after.word}: {event}" for after in sorted(afters)]
    lines += [f"    {state.word} --> [*]" for state in State if state.final]
    return "\n".join(lines)
