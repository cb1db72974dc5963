"""The checker judges: for every invariant a history that keeps it is accepted, and one that breaks it refused.

Each bad history differs from a good one in the single thing that is wrong.
"""

from __future__ import annotations

from typing import Any

import pytest

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.testing.checker import check, describe, slice_of
from noria.testing.events import (
    About,
    AlterEnd,
    AlterInvoke,
    CountsRead,
    EndEnd,
    EndInvoke,
    LeaseLost,
    Left,
    Opened,
    Recalled,
    Renewed,
)
from tests.support.tape import STEP, TASK, Tape


def life(tape: Tape, id: str = "a") -> Tape:
    """One job from push to success, looked at in the end."""
    tape.push(id)
    tape.lease(id)
    tape.done(id)
    tape.look(**{id: State.SUCCEEDED})
    return tape


def taken_over(tape: Tape) -> Tape:
    """A job whose first worker was killed as it ran, and whose second one finished it."""
    tape.push("a")
    tape.lease("a", session=1, starts=1)
    tape.run("a", session=1, starts=1)
    tape.fault("kill", "worker-1")
    tape.end(1)
    tape.lease("a", session=2, starts=2, crashes=1)
    tape.done("a", session=2, starts=2)
    return tape


def test_a_plain_life_breaks_nothing() -> None:
    verdict = life(Tape()).check()

    assert verdict.findings == []
    assert (verdict.jobs, verdict.looked) == (1, True)


def test_a_job_taken_over_after_a_kill_breaks_nothing() -> None:
    tape = taken_over(Tape())
    tape.read("a", session=2, starts=2, version=9, final=True)

    assert tape.codes() == set()


def test_no_event_at_all_breaks_nothing() -> None:
    assert check([]).findings == []


class TestNothingIsLost:
    """I1."""

    def test_a_stored_job_without_a_record_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.look(a=None)

        assert tape.codes() == {"I1"}

    def test_a_stored_job_that_the_last_look_left_out_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.push("b")
        tape.look(b=State.CANCELLED)

        assert "I1" in tape.codes()

    @pytest.mark.parametrize("end", ["fail", "info"])
    def test_a_push_that_may_not_have_been_done_may_leave_nothing(self, end: str) -> None:
        tape = life(Tape())
        tape.push("b", end=end)
        tape.read("b", None, final=True)

        assert tape.codes() == set()

    def test_a_record_may_go_once_its_time_of_keeping_is_over(self) -> None:
        tape = Tape()
        tape.push("a", keep=1.0)
        tape.lease("a")
        tape.done("a")
        tape.pause(2.0)
        tape.read("a", None)

        assert tape.codes() == set()

    def test_a_record_that_goes_too_soon_is_refused(self) -> None:
        tape = Tape()
        tape.push("a", keep=60.0)
        tape.lease("a")
        tape.done("a")
        tape.read("a", None)

        assert tape.codes() == {"I1"}

    def test_an_erased_job_that_never_ended_is_refused(self) -> None:
        tape = Tape()
        tape.push("a", keep=0.0)
        tape.lease("a")
        tape.read("a", None)

        assert tape.codes() == {"I1"}

    def test_retention_is_no_loss_where_the_run_allows_it(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.done("a")
        tape.read("a", None)

        assert tape.codes(prunes=True) == set()
        assert tape.codes() == {"I1"}


class TestNothingIsMadeUp:
    """I2 and I3."""

    def test_a_job_that_nobody_enqueued_is_refused(self) -> None:
        tape = Tape()
        tape.lease("ghost")
        tape.begin("ghost")

        assert tape.codes() == {"I2"}

    @pytest.mark.parametrize("end", ["ok", "info"])
    def test_a_job_may_run_whose_push_may_have_been_done(self, end: str) -> None:
        tape = Tape()
        tape.push("a", end=end)
        tape.lease("a")
        tape.done("a")

        assert tape.codes() == set()

    def test_a_success_that_nobody_settled_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.run("a")
        tape.read("a")

        assert "I3" in tape.codes()

    def test_a_success_without_a_run_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.settle("a")
        tape.read("a")

        assert tape.codes() == {"I3"}
        assert tape.codes(runs=False, effects=False) == set()

    def test_a_success_without_an_effect_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.begin("a")
        tape.finish("a")
        tape.settle("a")
        tape.read("a")

        assert tape.codes() == {"I3"}
        assert tape.codes(effects=False) == set()

    def test_a_success_of_a_handler_that_failed_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.run("a", how="failed")
        tape.settle("a")
        tape.read("a")

        assert tape.codes() == {"I3"}


class TestFenced:
    """I4."""

    def test_a_settle_accepted_after_a_takeover_is_refused(self) -> None:
        tape = taken_over(Tape())
        tape.settle("a", session=1, starts=1, verdict="ok")

        assert "I4" in tape.codes()

    @pytest.mark.parametrize("verdict", ["ok", "stale"])
    def test_a_settle_after_its_session_ended_must_be_stale(self, verdict: str) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.end(1)
        tape.settle("a", verdict=verdict)

        assert tape.codes() == (set() if verdict == "stale" else {"I4"})

    def test_a_settle_that_races_the_end_of_its_session_may_go_either_way(self) -> None:
        for verdict in ("ok", "stale"):
            tape = Tape()
            tape.push("a")
            tape.lease("a")
            tape.tell(EndInvoke(session=1), "sweeper")
            tape.settle("a", verdict=verdict)
            tape.tell(EndEnd(session=1, end="ok", ended=True, first=True), "sweeper")

            assert tape.codes() == set()

    def test_two_accepted_settles_of_one_start_are_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.settle("a")
        tape.settle("a")

        assert tape.codes() == {"I4"}

    def test_a_repeat_that_is_told_already_is_accepted(self) -> None:
        for first in ("ok", "info"):
            tape = Tape()
            tape.push("a")
            tape.lease("a")
            tape.settle("a", end=first)
            tape.settle("a", verdict="already")

            assert tape.codes() == set()

    def test_a_first_settle_that_is_told_already_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.settle("a", end="fail")
        tape.settle("a", verdict="already")

        assert tape.codes() == {"I4"}

    def test_a_valid_holder_that_is_refused_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.settle("a", verdict="stale")

        assert tape.codes() == {"I4"}

    def test_a_settle_by_a_session_that_never_had_the_start_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1)
        tape.settle("a", session=2, verdict="ok")

        assert "I4" in tape.codes()

    def test_a_settle_after_a_recall_may_be_stale(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.tell(Recalled(session=1, known=()), "worker-1")
        tape.settle("a", verdict="stale")

        assert tape.codes() == set()


class TestOneHolder:
    """I6."""

    @pytest.mark.parametrize(
        ("since", "over", "codes"), [(0.0, True, set()), (1e9, False, set()), (1e9, True, {"I6"})]
    )
    def test_a_lease_may_be_given_back_until_the_recall_is_over_and_not_after(
        self, since: float, over: bool, codes: set[str]
    ) -> None:
        tape = Tape()
        tape.push("a")
        tape.tell(Recalled(session=1, known=()), "worker-1")
        if over:
            tape.tell(Recalled(session=1, over=True), "worker-1")
        tape.lease("a", session=2, starts=2)
        tape.lease("a", session=1, starts=1, since=since)

        assert tape.codes() == codes

    def test_two_sessions_that_hold_one_job_are_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.lease("a", session=2, starts=2)

        assert tape.codes() == {"I6"}

    def test_one_start_leased_twice_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.end(1)
        tape.lease("a", session=2, starts=1)

        assert tape.codes() == {"I6"}

    @pytest.mark.parametrize("session", [1, 2])
    @pytest.mark.parametrize(("what", "codes"), [("restart", set()), ("kill", {"I6"})])
    def test_a_server_that_was_started_anew_may_have_forgotten_a_lease(
        self, what: str, codes: set[str], session: int
    ) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.fault(what)
        tape.lease("a", session=session, starts=1)

        assert tape.codes() == codes

    @pytest.mark.parametrize("end", ["ok", "info"])
    def test_a_job_given_back_may_be_leased_again(self, end: str) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.settle("a", session=1, starts=1, state=State.QUEUED, end=end)
        tape.lease("a", session=2, starts=2)

        assert tape.codes() == set()

    def test_a_job_is_not_given_back_by_a_settle_that_failed(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.settle("a", session=1, starts=1, state=State.QUEUED, end="fail")
        tape.lease("a", session=2, starts=2)

        assert tape.codes() == {"I6"}

    def test_a_settle_that_turns_out_to_have_failed_explains_nothing(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.settle("a", session=1, starts=1, end="fail")
        *rest, asked, answered = tape.events
        tape.events = [*rest, asked]
        tape.lease("a", session=2, starts=2)
        tape.tell(answered.fact, "worker-1")

        assert tape.codes() == {"I6"}

    def test_an_end_that_turns_out_to_have_failed_explains_nothing(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.tell(EndInvoke(session=1), "sweeper")
        tape.lease("a", session=2, starts=2)
        tape.tell(EndEnd(session=1, end="ok", ended=False), "sweeper")

        assert tape.codes() == {"I6"}

    def test_a_lease_that_a_paused_worker_tells_late_is_no_second_holder(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.end(1)
        tape.lease("a", session=2, starts=2)
        tape.lease("a", session=1, starts=1)

        assert tape.codes() == set()

    def test_a_lease_told_late_by_a_session_that_lives_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=2, starts=2)
        tape.lease("a", session=1, starts=1)

        assert tape.codes() == {"I6"}


class TestAttempts:
    """I5."""

    def retries(self, *attempts: int) -> Tape:
        tape = Tape()
        tape.push("a")
        for starts, attempt in enumerate(attempts, 1):
            tape.lease("a", starts=starts, spent=attempt - 1)
            tape.run("a", starts=starts, attempt=attempt, how="failed")
            last = starts == len(attempts)
            tape.settle("a", starts=starts, state=State.FAILED if last else State.RETRYING)
        return tape

    def test_attempts_in_a_row_are_accepted(self) -> None:
        assert self.retries(1, 2, 3).codes() == set()

    @pytest.mark.parametrize("attempts", [(1, 1), (1, 3), (2,), (1, 2, 2)], ids=str)
    def test_repeats_and_holes_are_refused(self, attempts: tuple[int, ...]) -> None:
        assert self.retries(*attempts).codes() == {"I5"}

    def test_more_attempts_than_allowed_are_refused(self) -> None:
        assert "I5" in self.retries(1, 2, 3, 4).codes()

    @pytest.mark.parametrize("state", [State.QUEUED, State.SCHEDULED, State.PARKED])
    def test_a_start_that_does_not_count_repeats_its_number(self, state: State) -> None:
        tape = Tape()
        tape.push("a", attempts=1)
        for starts in (1, 2, 3):
            tape.lease("a", starts=starts)
            tape.run("a", starts=starts, attempt=1)
            tape.settle("a", starts=starts, state=state)

        assert tape.codes() == set()

    def test_a_settle_of_unknown_end_allows_both_numbers(self) -> None:
        for attempt, wrong in ((1, False), (2, False), (3, True)):
            tape = Tape()
            tape.push("a")
            tape.lease("a", session=1, starts=1)
            tape.run("a", session=1, starts=1)
            tape.settle("a", session=1, starts=1, state=State.RETRYING, end="info")
            tape.end(1)
            tape.lease("a", session=2, starts=2, spent=attempt - 1)
            assert tape.codes() == ({"I5"} if wrong else set())

    def test_an_operators_retry_begins_to_count_anew(self) -> None:
        tape = self.retries(1, 2, 3)
        tape.alter("a", "retry")
        tape.lease("a", starts=4)
        tape.run("a", starts=4, attempt=1)

        assert tape.codes() == set()

    def test_a_refused_retry_counts_on(self) -> None:
        tape = self.retries(1, 2)
        tape.alter("a", "retry", "refused")
        tape.lease("a", starts=3, spent=0)

        assert tape.codes() == {"I5", "I7"}

    def test_a_refused_retry_loses_no_count_of_what_happened_meanwhile(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", starts=1)
        tape.settle("a", starts=1, state=State.RETRYING)
        tape.tell(AlterInvoke(id="a", change="retry"), "operator")
        tape.lease("a", starts=2, spent=1)
        tape.settle("a", starts=2, state=State.RETRYING)
        *rest, answered = tape.events
        tape.events = rest
        tape.tell(AlterEnd(id="a", change="retry", end="ok", status="refused"), "operator")
        tape.tell(answered.fact, "worker-1")
        for spent, wrong in ((2, False), (0, True), (1, True), (3, True)):
            more = Tape()
            more.events, more.mono = list(tape.events), tape.mono
            more.lease("a", starts=3, spent=spent)
            assert more.codes() == ({"I5"} if wrong else set()), spent

    @pytest.mark.parametrize("answer", ["info", "ok"])
    def test_an_end_on_its_way_together_with_a_retry_may_belong_to_the_life_before(self, answer: str) -> None:
        """It ended the job, the retry queued it again, and only then was either answered."""
        tape = self.crossing()
        tape.tell(AlterEnd(id="a", change="retry", end=answer, status="done" if answer == "ok" else ""), "op")
        tape.lease("a", starts=2, spent=0)
        tape.answer_settle("a", starts=1, state=State.FAILED)
        tape.run("a", starts=2, attempt=1, how="failed")
        tape.settle("a", starts=2, state=State.RETRYING)
        tape.lease("a", starts=3, spent=1)

        assert tape.codes() == set()

    def test_an_end_on_its_way_together_with_a_refused_retry_counts(self) -> None:
        for first in ("settle", "retry"):
            tape = self.crossing()
            if first == "settle":
                tape.answer_settle("a", starts=1, state=State.FAILED)
            tape.tell(AlterEnd(id="a", change="retry", end="ok", status="refused"), "op")
            if first == "retry":
                tape.answer_settle("a", starts=1, state=State.FAILED)
            tape.lease("a", starts=2, spent=0)

            assert tape.codes() == {"I5", "I7"}, first

    @pytest.mark.parametrize("answer", ["info", "ok"])
    def test_an_end_asked_for_again_after_a_retry_belongs_to_the_life_before(self, answer: str) -> None:
        """Its first settle was not answered; the one after the retry is told that it was done already."""
        tape = Tape()
        tape.push("a")
        tape.lease("a", starts=1)
        tape.run("a", starts=1, how="failed")
        tape.settle("a", starts=1, state=State.FAILED, end="info")
        tape.alter("a", "retry", "done" if answer == "ok" else "", answer)
        tape.settle("a", starts=1, state=State.FAILED, verdict="already")
        tape.lease("a", session=2, starts=2, spent=0)

        assert tape.codes() == set()

    def crossing(self) -> Tape:
        """A retry and the end of a start, both asked for and neither answered."""
        tape = Tape()
        tape.push("a")
        tape.lease("a", starts=1)
        tape.run("a", starts=1, how="failed")
        tape.tell(AlterInvoke(id="a", change="retry"), "op")
        tape.ask_settle("a", starts=1, state=State.FAILED)
        return tape

    def test_a_lease_beyond_the_crash_budget_is_refused(self) -> None:
        tape = Tape()
        tape.push("a", crash_budget=2)
        tape.lease("a", crashes=2)

        assert tape.codes() == {"I5"}

    def test_a_record_beyond_its_budgets_is_refused(self) -> None:
        for record in ({"spent": 4}, {"crashes": 4}):
            tape = Tape()
            tape.push("a")
            tape.read("a", State.QUEUED, **record)
            assert tape.codes() == {"I5"}


class TestMoves:
    """I7."""

    def test_an_outcome_that_changes_is_refused(self) -> None:
        tape = life(Tape())
        tape.read("a", State.FAILED, version=4)

        assert "I7" in tape.codes()

    def test_an_outcome_may_be_read_late_by_one_who_asked_early(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.done("a")
        tape.read("a", State.RUNNING, ago=5 * STEP, version=2)

        assert tape.codes() == set()

    def test_a_paused_worker_may_tell_late_that_its_settle_was_accepted(self) -> None:
        """The answer came before the job went on; only its line in the history is late."""
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.run("a", session=1, starts=1, how="failed")
        tape.settle("a", session=1, starts=1, state=State.RETRYING)
        *rest, answered = tape.events
        tape.events = rest
        tape.lease("a", session=2, starts=2, spent=1)
        tape.done("a", session=2, starts=2, attempt=2)
        tape.tell(answered.fact, "worker-1")

        assert tape.codes() == set()

    def test_an_end_accepted_after_an_outcome_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.settle("a", state=State.RETRYING)
        tape.alter("a", "cancel")
        tape.settle("a", starts=2)

        assert "I7" in tape.codes()

    def test_a_settled_job_read_as_running_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.done("a")
        tape.read("a", State.RUNNING, version=2)

        assert tape.codes() == {"I7"}

    def test_an_operators_retry_may_undo_an_outcome_and_nothing_else_may(self) -> None:
        for change, wrong in (("retry", False), ("discard", True)):
            tape = Tape()
            tape.push("a")
            tape.lease("a")
            tape.run("a", how="failed")
            tape.settle("a", state=State.FAILED)
            tape.alter("a", change)
            tape.read("a", State.QUEUED, version=4)
            assert tape.codes() == ({"I7"} if wrong else set())

    def test_a_refused_retry_undoes_nothing(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.run("a", how="failed")
        tape.settle("a", state=State.FAILED)
        tape.alter("a", "retry", "refused")
        tape.read("a", State.QUEUED, version=4)

        assert tape.codes() == {"I7"}

    @pytest.mark.parametrize(
        ("change", "state"),
        [("retry", State.SUCCEEDED), ("cancel", State.SUCCEEDED), ("discard", State.SUCCEEDED)],
    )
    def test_what_the_table_forbids_must_be_refused(self, change: str, state: State) -> None:
        for status, wrong in (("done", True), ("refused", False)):
            tape = life(Tape())
            tape.alter("a", change, status)
            assert tape.codes() == ({"I7"} if wrong else set())

    def test_a_final_job_that_is_leased_is_refused(self) -> None:
        tape = life(Tape())
        tape.lease("a", session=2, starts=2)

        assert tape.codes() == {"I7"}

    def test_an_illegal_move_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.settle("a", state=State.RETRYING, outcome=Outcome.SUCCEEDED)

        assert tape.codes() == {"I7"}

    @pytest.mark.parametrize(
        ("before", "after", "wrong"),
        [
            (State.SCHEDULED, State.QUEUED, False),
            (State.SCHEDULED, State.RUNNING, True),
            (State.RETRYING, State.FAILED, True),
            (State.RUNNING, State.RETRYING, False),
            (State.PARKED, State.QUEUED, True),
        ],
    )
    def test_versions_in_a_row_are_one_move_apart(self, before: State, after: State, wrong: bool) -> None:
        tape = Tape()
        tape.push("a")
        tape.read("a", before, version=5)
        tape.read("a", after, version=6)

        assert tape.codes() == ({"I7"} if wrong else set())

    def test_a_version_that_goes_back_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.read("a", State.RUNNING, version=5)
        tape.read("a", State.QUEUED, version=2)

        assert tape.codes() == {"I7"}

    def test_one_version_with_two_states_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.read("a", State.RUNNING, version=5)
        tape.read("a", State.QUEUED, version=5)

        assert tape.codes() == {"I7"}


class TestUnique:
    """I10."""

    def test_two_live_jobs_with_one_key_are_refused(self) -> None:
        tape = Tape()
        tape.push("a", unique="k")
        tape.push("b", unique="k")

        assert tape.codes() == {"I10"}

    def test_the_same_key_of_another_task_is_another_key(self) -> None:
        tape = Tape()
        tape.push("a", unique="k")
        tape.push("b", unique="k", task="other")

        assert tape.codes() == set()

    def test_a_second_producer_is_told_of_the_first_job(self) -> None:
        tape = Tape()
        tape.push("a", unique="k")
        tape.push("b", unique="k", stands="a")

        assert tape.codes() == set()

    def test_a_producer_told_of_a_job_with_another_key_is_refused(self) -> None:
        tape = Tape()
        tape.push("a", unique="j")
        tape.push("b", unique="k", stands="a")

        assert tape.codes() == {"I10"}

    def test_a_key_that_outlives_its_job_is_refused(self) -> None:
        tape = Tape()
        tape.push("a", unique="k")
        tape.lease("a")
        tape.done("a")
        tape.push("b", unique="k", stands="a")

        assert tape.codes() == {"I10"}

    def test_a_key_is_free_after_every_way_to_end(self) -> None:
        def settled(tape: Tape) -> None:
            tape.lease("a")
            tape.done("a")

        def perhaps_settled(tape: Tape) -> None:
            tape.lease("a")
            tape.run("a")
            tape.settle("a", end="info")

        def cancelled(tape: Tape) -> None:
            tape.alter("a", "cancel")

        def crashed(tape: Tape) -> None:
            tape.lease("a")
            tape.end(1)

        for way in (settled, perhaps_settled, cancelled, crashed):
            tape = Tape()
            tape.push("a", unique="k")
            way(tape)
            tape.push("b", unique="k")
            assert tape.codes() == set(), way.__name__

    def test_an_expired_job_frees_its_key(self) -> None:
        for pause, wrong in ((0.0, True), (60.0, False)):
            tape = Tape()
            tape.push("a", unique="k", expires=1_800_000_130.0)
            tape.pause(pause)
            tape.push("b", unique="k")
            assert tape.codes() == ({"I10"} if wrong else set())

    def test_a_retried_job_that_takes_a_taken_key_is_refused(self) -> None:
        for status, wrong in (("done", True), ("conflict", False)):
            tape = Tape()
            tape.push("a", unique="k")
            tape.alter("a", "cancel")
            tape.push("b", unique="k")
            tape.alter("a", "retry", status)
            assert tape.codes() == ({"I10"} if wrong else set())

    def test_two_producers_at_once_may_not_both_create(self) -> None:
        tape = Tape()
        tape.ask_push("a", unique="k")
        tape.ask_push("b", unique="k")
        tape.answer_push("a")
        tape.answer_push("b")

        assert tape.codes() == {"I10"}


class TestTime:
    """I12 and V4."""

    @pytest.mark.parametrize(("waited", "wrong"), [(9.0, True), (10.0, False)])
    def test_a_delayed_job_that_runs_early_is_refused(self, waited: float, wrong: bool) -> None:
        tape = Tape()
        tape.push("a", delay=10.0)
        tape.pause(waited)
        tape.lease("a")

        assert tape.codes() == ({"I12"} if wrong else set())

    @pytest.mark.parametrize(("waited", "wrong"), [(9.0, True), (10.0, False)])
    def test_a_job_enqueued_for_a_time_that_runs_early_is_refused(self, waited: float, wrong: bool) -> None:
        tape = Tape()
        tape.push("a", at=1_800_000_110.0)
        tape.pause(waited)
        tape.lease("a")

        assert tape.codes() == ({"I12"} if wrong else set())

    @pytest.mark.parametrize("state", [State.RETRYING, State.SCHEDULED])
    def test_a_retry_or_snooze_that_runs_early_is_refused(self, state: State) -> None:
        for waited, wrong in ((1.0, True), (30.0, False)):
            tape = Tape()
            tape.push("a")
            tape.lease("a")
            tape.settle("a", state=state, delay=30.0)
            tape.pause(waited)
            tape.lease("a", starts=2, spent=int(state is State.RETRYING))
            assert tape.codes() == ({"I12"} if wrong else set())

    @pytest.mark.parametrize(("clock", "codes"), [(True, set()), (False, {"I12"})])
    def test_the_delay_of_a_retry_begins_with_its_first_settle_whatever_the_clock_does_before_the_next(
        self, clock: bool, codes: set[str]
    ) -> None:
        """By the clock that was set meanwhile nobody knows when that is."""
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.settle("a", state=State.RETRYING, delay=30.0, end="info")
        if clock:
            tape.fault("clock")
        tape.settle("a", state=State.RETRYING, delay=30.0, verdict="already")
        tape.pause(1.0)
        tape.lease("a", starts=2, spent=1)

        assert tape.codes() == codes

    def test_a_refused_retry_binds_nobody(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.end(1)
        tape.settle("a", state=State.RETRYING, delay=30.0, verdict="stale")
        tape.lease("a", session=2, starts=2)

        assert tape.codes() == set()

    def test_a_settle_that_came_too_late_delays_nobody(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.tell(EndInvoke(session=1), "sweeper")
        tape.settle("a", session=1, starts=1, state=State.RETRYING, delay=30.0, verdict="stale")
        *rest, answered = tape.events
        tape.events = rest
        tape.tell(EndEnd(session=1, end="ok", ended=True), "sweeper")
        tape.lease("a", session=2, starts=2, crashes=1)
        tape.tell(answered.fact, "worker-1")

        assert tape.codes() == set()

    def test_a_due_job_that_waits_too_long_is_refused(self) -> None:
        for waited, wrong in ((20.0, True), (12.0, False)):
            tape = Tape()
            tape.push("a", delay=10.0)
            tape.pause(waited)
            tape.lease("a")
            assert tape.codes() == ({"V4"} if wrong else set())
            assert tape.codes(lateness=None) == set()

    def test_a_fault_excuses_lateness(self) -> None:
        tape = Tape()
        tape.push("a", delay=10.0)
        tape.pause(12.0)
        tape.fault("restart")
        tape.pause(12.0)
        tape.lease("a")

        assert tape.codes() == set()


class TestOutcomesAreReadable:
    """I13."""

    def settled(self) -> Tape:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.done("a")
        return tape

    @pytest.mark.parametrize("result", ["other", None])
    def test_another_value_or_none_is_refused(self, result: str | None) -> None:
        tape = self.settled()
        tape.read("a", result=result)

        assert tape.codes() == {"I13"}

    def test_a_value_that_was_not_asked_for_is_not_missed(self) -> None:
        tape = self.settled()
        tape.read("a", result=None, whole=False)

        assert tape.codes() == set()

    @pytest.mark.parametrize(("result", "wrong"), [("r", False), (None, False), ("other", True)])
    def test_a_hint_tells_the_value_or_none(self, result: str | None, wrong: bool) -> None:
        tape = self.settled()
        tape.hint("a", result=result)

        assert tape.codes() == ({"I13"} if wrong else set())

    def test_a_hint_of_another_outcome_is_refused(self) -> None:
        tape = self.settled()
        tape.hint("a", State.FAILED, None)

        assert tape.codes() == {"I13"}

    def test_a_hint_before_anybody_settled_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.hint("a")

        assert tape.codes() == {"I13"}

    def test_after_a_hint_the_record_is_final(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.run("a")
        tape.settle("a", end="info")
        tape.hint("a")
        tape.read("a", State.RUNNING, version=2)

        assert tape.codes() == {"I7"}


class TestDeadLetters:
    """I14."""

    @pytest.mark.parametrize("record", [{"dead": False}, {"reason": ""}], ids=str)
    def test_a_failed_job_without_flag_or_reason_is_refused(self, record: dict[str, object]) -> None:
        tape = Tape()
        tape.push("a")
        tape.read("a", State.FAILED, **record)

        assert tape.codes() == {"I14"}

    def test_a_discarded_job_is_no_dead_letter(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.read("a", State.FAILED, version=4)
        tape.alter("a", "discard")
        tape.read("a", State.FAILED, dead=False, version=5)

        assert tape.codes() == set()

    def test_any_other_job_with_the_flag_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.read("a", State.CANCELLED, dead=True)

        assert tape.codes() == {"I14"}


class TestCancelled:
    """I17."""

    def test_a_cancelled_job_that_starts_is_refused(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.alter("a", "cancel")
        tape.lease("a")

        assert tape.codes() == {"I17"}

    @pytest.mark.parametrize("status", ["asked", "refused"])
    def test_a_job_that_was_only_asked_may_start(self, status: str) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.alter("a", "cancel", status)
        tape.done("a")

        assert tape.codes() == set()

    def test_a_paused_worker_may_wake_up_to_a_cancelled_job(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.end(1)
        tape.alter("a", "cancel")
        tape.begin("a")

        assert tape.codes() == set()

    def test_an_operators_retry_lets_it_start_again(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.alter("a", "cancel")
        tape.alter("a", "retry")
        tape.lease("a")

        assert tape.codes() == set()


class TestTheEnd:
    """I18, V1 and V2."""

    @pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING, State.RETRYING])
    def test_a_job_that_has_not_ended_is_refused(self, state: State) -> None:
        tape = Tape()
        tape.push("a")
        tape.look(a=state)

        assert tape.codes() == {"V1"}

    @pytest.mark.parametrize(
        "wrong",
        [
            {"states": {10: 2}},
            {"states": {10: 1, 3: 1}},
            {"states": {}},
            {"states": {10: 1}, "dead": 1},
            {"states": {10: 1}, "erased": 1},
        ],
        ids=str,
    )
    def test_counts_that_disagree_with_the_records_are_refused(self, wrong: dict[str, Any]) -> None:
        tape = life(Tape())
        tape.tell(CountsRead(since=tape.mono, final=True, **wrong), "reader")

        assert tape.codes() == {"I18"}

    def test_erased_jobs_are_counted(self) -> None:
        tape = Tape()
        tape.push("a", keep=0.0)
        tape.lease("a")
        tape.done("a")
        tape.look(a=None)

        assert tape.codes() == set()

    @pytest.mark.parametrize(("count", "wrong"), [(1, True), (0, False), (-1, False)])
    def test_what_is_left_over_is_refused(self, count: int, wrong: bool) -> None:
        tape = life(Tape())
        tape.tell(Left(what="sockets", count=count))

        assert tape.codes() == ({"V2"} if wrong else set())


class TestDuplicates:
    """Reported with their cause; an error without one."""

    def twice(self, tape: Tape) -> Tape:
        tape.end(1)
        tape.lease("a", session=2, starts=2)
        tape.run("a", session=2, starts=2)
        return tape

    def begun(self) -> Tape:
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.begin("a")
        tape.effect("a")
        return tape

    def test_a_repeated_effect_without_a_cause_is_an_error(self) -> None:
        assert self.twice(self.begun()).codes() == {"D"}

    @pytest.mark.parametrize(
        ("what", "target"), [("kill", "worker-1"), ("pause", "worker-1"), ("pause", ""), ("cut", "server")]
    )
    def test_a_fault_explains_it(self, what: str, target: str) -> None:
        tape = self.begun()
        tape.fault(what, target)
        verdict = self.twice(tape).check()

        assert verdict.findings == []
        assert [duplicate.cause for duplicate in verdict.duplicates] == [f"{what} {target}".strip()]

    def test_the_kill_of_another_worker_explains_nothing(self) -> None:
        tape = self.begun()
        tape.fault("kill", "worker-2")

        assert self.twice(tape).codes() == {"D"}

    @pytest.mark.parametrize("paused", [True, False])
    def test_a_worker_that_wakes_up_late_repeats_what_the_next_one_did(self, paused: bool) -> None:
        tape = Tape()
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        if paused:
            tape.fault("pause", "worker-1")
        tape.end(1)
        tape.lease("a", session=2, starts=2)
        tape.done("a", session=2, starts=2)
        tape.run("a", session=1, starts=1)

        verdict = tape.check()
        assert {finding.code for finding in verdict.findings} == (set() if paused else {"D"})
        assert [each.cause for each in verdict.duplicates] == (["pause worker-1"] if paused else [])

    @pytest.mark.parametrize("asked_before", [True, False])
    def test_a_fault_while_a_lease_was_on_its_way_explains_what_its_late_answer_repeats(
        self, asked_before: bool
    ) -> None:
        tape = Tape()
        tape.push("a")
        asked = tape.mono
        tape.fault("pause", "worker-1")
        tape.end(1)
        tape.lease("a", session=2, starts=2)
        tape.done("a", session=2, starts=2)
        tape.lease("a", session=1, starts=1, since=asked if asked_before else tape.mono)
        tape.run("a", session=1, starts=1)

        assert ("D" in tape.codes()) is not asked_before

    def test_a_fault_that_was_over_before_explains_nothing(self) -> None:
        tape = Tape()
        tape.fault("cut")
        tape.push("a")
        tape.lease("a")
        tape.begin("a")
        tape.effect("a")

        assert self.twice(tape).codes() == {"D"}

    @pytest.mark.parametrize("renewed", [False, True])
    def test_a_call_that_kept_a_session_silent_explains_it_until_the_next_renewal(
        self, renewed: bool
    ) -> None:
        """Its opening took long, so that others found it silent before it leased anything."""
        for call in ("open", "renew"):
            tape = Tape()
            tape.push("a")
            if call == "renew":
                tape.tell(Opened(session=1, since=tape.mono), "worker-1")
            asked = tape.mono
            tape.fault("slow", "worker-1", call=call)
            if call == "open":
                tape.tell(Opened(session=1, since=asked), "worker-1")
            tape.pause(1.0)
            if renewed:
                tape.tell(Renewed(session=1, since=tape.mono), "worker-1")
            tape.lease("a")
            tape.run("a")

            assert ("D" in self.twice(tape).codes()) is renewed, call

    def test_a_refused_renewal_explains_it(self) -> None:
        tape = self.twice(self.begun())
        late = Tape()
        late.events, late.mono = tape.events[:-2], tape.mono
        late.tell(Renewed(session=1, lost=True), "worker-1")
        late.effect("a", session=2, starts=2)

        assert [each.cause for each in late.check().duplicates] == ["refused renewal"]

    @pytest.mark.parametrize("state", [State.RETRYING, State.SCHEDULED, State.QUEUED])
    def test_a_retry_explains_it(self, state: State) -> None:
        tape = self.begun()
        tape.finish("a", outcome="failed")
        tape.settle("a", state=state)
        tape.lease("a", starts=2, spent=int(state is State.RETRYING))
        tape.effect("a", starts=2)

        verdict = tape.check()
        assert verdict.findings == []
        assert len(verdict.duplicates) == 1

    def test_an_operators_retry_explains_it(self) -> None:
        tape = self.begun()
        tape.finish("a", outcome="failed")
        tape.settle("a", state=State.FAILED)
        tape.alter("a", "retry")
        tape.lease("a", starts=2)
        tape.effect("a", starts=2)

        assert [each.cause for each in tape.check().duplicates] == ["operator"]

    def test_several_effects_of_one_run_are_one(self) -> None:
        tape = self.begun()
        tape.effect("a")

        verdict = tape.check()
        assert (verdict.findings, verdict.duplicates) == ([], [])


class TestWhatPeopleSee:
    def test_a_slice_holds_the_job_its_sessions_and_faults_and_nothing_else(self) -> None:
        tape = life(Tape(), "other")
        tape = taken_over(tape)
        tape.settle("a", session=1, starts=1, verdict="ok")
        verdict = tape.check()
        finding = next(each for each in verdict.findings if each.code == "I4")

        facts = [event.fact for event in slice_of(tape.events, finding)]

        assert {getattr(fact, "id", "a") for fact in facts} == {"a"}
        assert any(type(fact).__name__ == "Fault" for fact in facts)
        assert any(getattr(fact, "session", 0) == 1 and type(fact).__name__ == "EndEnd" for fact in facts)

    def test_a_description_says_what_broke_and_how_to_run_it_again(self) -> None:
        tape = Tape()
        tape.tell(About(seed="42", command="pytest -k storm --seed=42"))
        tape.push("a")
        tape.lease("a", session=1, starts=1)
        tape.lease("a", session=2, starts=2)

        text = describe(tape.events, tape.check())

        assert "I6: start 1 of session 1 and start 2 of session 2 hold the job at once" in text
        assert "pytest -k storm --seed=42" in text
        assert "push.invoke id=a" in text

    def test_a_history_without_a_last_look_says_so(self) -> None:
        tape = Tape()
        tape.push("a")

        assert "no last look" in str(tape.check())


def test_a_lease_that_was_never_heard_allows_its_session_to_settle() -> None:
    tape = Tape()
    tape.push("a")
    tape.tell(LeaseLost(session=1), "worker-1")
    tape.settle("a", verdict="ok")

    assert tape.codes() == set()


def test_tasks_are_named_alike() -> None:
    tape = life(Tape())

    assert {getattr(event.fact, "task", TASK) for event in tape.events} == {TASK}
