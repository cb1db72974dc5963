"""What the end of a start makes of its job."""

from __future__ import annotations

from itertools import count
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.model.backoff import Backoff
from noria.model.limits import (
    MAX_MESSAGE,
    MAX_RELEASES,
    MAX_SNOOZES,
    MAX_TRACEBACK,
    SUSPECT_AT,
)
from noria.model.outcome import (
    End,
    Failure,
    Outcome,
    Reason,
    Tally,
    after_cancel,
    after_crash,
    after_deadline,
    after_failure,
    after_park,
    after_release,
    after_snooze,
    after_success,
)
from noria.model.state import State, legal

PLAIN = Backoff(base=8, factor=2, jitter="none")
WHY = Failure("exception", "it broke")

tallies = st.builds(
    Tally,
    spent=st.integers(0, 50),
    attempts=st.integers(1, 50),
    crashes=st.integers(0, 10),
    crash_budget=st.integers(1, 10),
    releases=st.integers(0, MAX_RELEASES + 1),
    snoozes=st.integers(0, MAX_SNOOZES + 1),
)
chances = st.floats(0, 1, exclude_max=True)


def fail(tally: Tally, **more: object) -> End:
    return after_failure(tally, WHY, PLAIN, lambda: 0.5, **more)  # type: ignore[arg-type]  # passed on as given


def test_a_returned_value_is_success() -> None:
    assert after_success() == End(Outcome.SUCCEEDED, State.SUCCEEDED)


def test_a_failed_attempt_is_retried_after_the_wait_of_its_number() -> None:
    assert fail(Tally(spent=2, attempts=5)) == End(Outcome.FAILED, State.RETRYING, 32.0, WHY)


def test_the_last_attempt_fails_for_good() -> None:
    assert fail(Tally(spent=4, attempts=5)) == End(Outcome.FAILED, State.FAILED, failure=WHY)


def test_the_handlers_own_delay_wins_over_the_backoff() -> None:
    assert fail(Tally(attempts=5), after=0.0).delay == 0.0
    assert fail(Tally(attempts=5), after=77.0).delay == 77.0


def test_a_final_failure_asks_for_no_further_attempt() -> None:
    assert fail(Tally(attempts=5), final=True).state is State.FAILED


def test_a_time_out_is_recorded_as_one_and_counts_as_an_attempt() -> None:
    first = fail(Tally(attempts=2), outcome=Outcome.TIMED_OUT)
    second = fail(Tally(attempts=2, spent=1), outcome=Outcome.TIMED_OUT)

    assert (first.outcome, first.state) == (Outcome.TIMED_OUT, State.RETRYING)
    assert (second.outcome, second.state) == (Outcome.TIMED_OUT, State.FAILED)


@given(attempts=st.integers(1, 100))
def test_a_job_that_always_fails_has_exactly_its_attempts(attempts: int) -> None:
    for spent in count():
        end = fail(Tally(spent=spent, attempts=attempts))
        if end.state is State.FAILED:
            break

    assert spent + 1 == attempts


@given(budget=st.integers(1, 50))
def test_a_job_that_always_crashes_fails_at_its_budget(budget: int) -> None:
    for crashes in count():
        end = after_crash(Tally(crashes=crashes, crash_budget=budget), Failure("crash"))
        if end.state is State.FAILED:
            break

    assert crashes + 1 == budget
    assert end.failure == Failure("crash")


def test_a_crash_within_the_budget_spends_no_attempt() -> None:
    end = after_crash(Tally(spent=4, attempts=5, crashes=1, crash_budget=3), Failure("crash"))

    assert end == End(Outcome.CRASHED, State.QUEUED, failure=Failure("crash"))


def test_a_released_start_goes_back_until_its_own_cap() -> None:
    again = after_release(Tally(releases=MAX_RELEASES - 1), Failure("released"))
    over = after_release(Tally(releases=MAX_RELEASES), Failure("released"))

    assert again == End(Outcome.RELEASED, State.QUEUED, failure=Failure("released"))
    assert (over.outcome, over.state) == (Outcome.RELEASED, State.FAILED)
    assert over.failure is not None
    assert over.failure.reason == "loop"


def test_a_snoozed_start_waits_until_its_own_cap() -> None:
    again = after_snooze(Tally(snoozes=MAX_SNOOZES - 1), 30.0, Failure("snoozed"))
    over = after_snooze(Tally(snoozes=MAX_SNOOZES), 30.0, Failure("snoozed"))

    assert again == End(Outcome.SNOOZED, State.SCHEDULED, 30.0, Failure("snoozed"))
    assert (over.outcome, over.state) == (Outcome.SNOOZED, State.FAILED)
    assert over.failure is not None
    assert over.failure.reason == "loop"


def test_an_unknown_task_is_parked_and_counts_nowhere() -> None:
    assert after_park(Failure("unknown_task")) == End(
        Outcome.RELEASED, State.PARKED, failure=Failure("unknown_task")
    )


def test_a_cancelled_start_cancels_its_job() -> None:
    assert after_cancel(Failure("cancelled")).state is State.CANCELLED
    assert after_cancel(Failure("cancelled")).outcome is Outcome.CANCELLED


def test_a_passed_deadline_expires_the_job_whatever_is_left() -> None:
    assert after_deadline(Failure("deadline")).state is State.EXPIRED
    assert after_deadline(Failure("deadline")).outcome is Outcome.TIMED_OUT


EVENT_OF: dict[tuple[Outcome, State], str] = {
    (Outcome.SUCCEEDED, State.SUCCEEDED): "succeed",
    (Outcome.FAILED, State.RETRYING): "retry",
    (Outcome.FAILED, State.FAILED): "fail",
    (Outcome.TIMED_OUT, State.RETRYING): "retry",
    (Outcome.TIMED_OUT, State.FAILED): "fail",
    (Outcome.TIMED_OUT, State.EXPIRED): "expire",
    (Outcome.CRASHED, State.QUEUED): "crash",
    (Outcome.CRASHED, State.FAILED): "crash",
    (Outcome.RELEASED, State.QUEUED): "release",
    (Outcome.RELEASED, State.FAILED): "fail",
    (Outcome.RELEASED, State.PARKED): "park",
    (Outcome.SNOOZED, State.SCHEDULED): "snooze",
    (Outcome.SNOOZED, State.FAILED): "fail",
    (Outcome.CANCELLED, State.CANCELLED): "cancel",
}


@given(tally=tallies, chance=chances, final=st.booleans(), after=st.none() | st.floats(0, 1e9))
def test_every_decision_is_a_legal_move(
    tally: Tally, chance: float, final: bool, after: float | None
) -> None:
    ends = [
        after_success(),
        after_failure(tally, WHY, Backoff(), lambda: chance, final=final, after=after),
        after_failure(tally, WHY, Backoff(), lambda: chance, outcome=Outcome.TIMED_OUT),
        after_snooze(tally, 5.0, WHY),
        after_release(tally, WHY),
        after_crash(tally, WHY),
        after_park(WHY),
        after_cancel(WHY),
        after_deadline(WHY),
    ]

    for end in ends:
        event = EVENT_OF[end.outcome, end.state]
        assert legal(State.RUNNING, event, end.state)  # type: ignore[arg-type]  # a word of the table
        assert end.delay >= 0
        assert end.delay == 0 or end.state in (State.RETRYING, State.SCHEDULED)
        assert (end.failure is None) == (end.state is State.SUCCEEDED)


@given(tally=tallies)
def test_a_suspect_is_a_job_that_crashed_often_enough(tally: Tally) -> None:
    assert tally.suspect == (tally.crashes >= SUSPECT_AT)


@given(text=st.text(st.characters(), max_size=3 * MAX_MESSAGE))
def test_a_failure_can_be_stored_whatever_its_text(text: str) -> None:
    failure = Failure.of("exception", text, type=text, traceback=text)

    assert len(failure.message) <= MAX_MESSAGE
    assert len(failure.traceback) <= MAX_TRACEBACK
    for stored in (failure.message, failure.type, failure.traceback):
        assert "\x00" not in stored
        stored.encode("utf-8")
    assert msgspec.json.decode(msgspec.json.encode(failure), type=Failure) == failure


def test_the_end_of_a_traceback_is_what_is_kept() -> None:
    failure = Failure.of("exception", "x", traceback="a" * MAX_TRACEBACK + "the last line")

    assert failure.traceback.endswith("the last line")


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason_survives_being_stored(reason: Reason) -> None:
    failure = Failure(reason)

    assert msgspec.json.decode(msgspec.json.encode(failure), type=Failure) == failure


def test_outcome_numbers_that_are_stored_never_change() -> None:
    assert {outcome.word: int(outcome) for outcome in Outcome} == {
        "succeeded": 1,
        "failed": 2,
        "timed_out": 3,
        "crashed": 4,
        "released": 5,
        "snoozed": 6,
        "cancelled": 7,
    }
