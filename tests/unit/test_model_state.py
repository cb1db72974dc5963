"""The one table of moves: complete, closed, and the same in code and in the diagram."""

from __future__ import annotations

import re
from itertools import product
from typing import get_args

import pytest

from noria.model.state import (
    FINAL,
    LEASABLE,
    LIVE,
    MOVES,
    WAITING_FOR_TIME,
    Event,
    State,
    can,
    diagram,
    legal,
)

EVENTS: tuple[Event, ...] = get_args(Event)
BORN = {State.SCHEDULED, State.QUEUED, State.WAITING}
"""What an enqueued job is first; every other state is reached by a move."""


def reachable(start: set[State]) -> set[State]:
    """Every state that some chain of moves leads to from these."""
    seen = set(start)
    while True:
        further = {after for (before, _), afters in MOVES.items() if before in seen for after in afters}
        if further <= seen:
            return seen
        seen |= further


def test_every_state_is_live_or_final_and_never_both() -> None:
    assert set(State) == LIVE | FINAL
    assert frozenset() == LIVE & FINAL
    assert {State.SUCCEEDED, State.FAILED, State.CANCELLED, State.EXPIRED} == FINAL


def test_every_state_can_be_reached_from_birth() -> None:
    assert set(State) == reachable(BORN)


@pytest.mark.parametrize("state", sorted(LIVE), ids=lambda state: state.word)
def test_no_live_state_is_a_trap(state: State) -> None:
    assert reachable({state}) >= FINAL


def test_a_recorded_outcome_is_left_only_by_an_operator() -> None:
    moves = {(before, event) for (before, event) in MOVES if before.final}

    assert {event for _, event in moves} == {"operator retry"}
    assert {before for before, _ in moves} == FINAL - {State.SUCCEEDED}


def test_only_a_lease_makes_a_job_run() -> None:
    into_running = {event for (_, event), afters in MOVES.items() if State.RUNNING in afters}

    assert into_running == {"lease", "resume"}
    assert [before for (before, event) in MOVES if event == "resume"] == [State.ASKING]
    assert frozenset({State.QUEUED, State.PARKED}) == LEASABLE


def test_every_live_state_can_be_cancelled_and_can_expire() -> None:
    assert {state for state in State if can(state, "cancel")} == LIVE
    assert {state for state in State if can(state, "expire")} == LIVE
    assert all(legal(state, "cancel", State.CANCELLED) for state in LIVE)
    assert all(legal(state, "expire", State.EXPIRED) for state in LIVE)


def test_a_job_that_waits_for_time_becomes_ready_and_nothing_else_does() -> None:
    assert frozenset({State.SCHEDULED, State.RETRYING}) == WAITING_FOR_TIME
    assert all(MOVES[state, "due"] == {State.QUEUED, State.WAITING} for state in WAITING_FOR_TIME)


def test_a_job_in_line_runs_only_once_it_has_a_place() -> None:
    assert {event for (before, event) in MOVES if before is State.WAITING} == {
        "admit",
        "follow",
        "operator edit",
        "cancel",
        "expire",
    }
    assert MOVES[State.WAITING, "admit"] == {State.QUEUED}


def test_what_asks_can_end_as_what_runs() -> None:
    ends = {
        event: after for (before, event), after in MOVES.items() if before is State.RUNNING and event != "ask"
    }

    assert ends == {
        event: after
        for (before, event), after in MOVES.items()
        if before is State.ASKING and event != "resume"
    }


def test_no_move_stands_still() -> None:
    assert [(before, event) for (before, event), afters in MOVES.items() if before in afters] == []


def test_every_event_of_the_table_is_declared_and_used() -> None:
    assert {event for _, event in MOVES} == set(EVENTS)


@pytest.mark.parametrize(
    ("before", "event"), list(product(State, EVENTS)), ids=lambda each: getattr(each, "word", each)
)
def test_what_is_not_in_the_table_is_illegal(before: State, event: Event) -> None:
    allowed = MOVES.get((before, event), frozenset())

    assert can(before, event) == bool(allowed)
    assert {after for after in State if legal(before, event, after)} == allowed


def test_the_diagram_draws_the_table_and_nothing_else() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (.+)$", diagram(), re.MULTILINE)
    moves = {(before.word, after.word, event) for (before, event), each in MOVES.items() for after in each}

    assert len(drawn) == len(set(drawn))
    assert set(drawn) == moves
    assert {state.word for state in FINAL} == set(
        re.findall(r"^    (\w+) --> \[\*\]$", diagram(), re.MULTILINE)
    )


def test_numbers_that_are_stored_never_change() -> None:
    stored = {state.word: int(state) for state in State}

    assert stored == {
        "scheduled": 1,
        "queued": 2,
        "running": 3,
        "waiting": 4,
        "asking": 5,
        "retrying": 6,
        "parked": 7,
        "succeeded": 10,
        "failed": 11,
        "cancelled": 12,
        "expired": 13,
    }
