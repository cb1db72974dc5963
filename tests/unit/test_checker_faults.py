"""The checker on what store faults bring: failed pushes, documents, clocks that jump, probes, calls that went wrong."""

from __future__ import annotations

from typing import Any

import pytest

from noria.model.state import State
from noria.testing.events import (
    AlterEnd,
    AlterInvoke,
    DocRead,
    Event,
    Fault,
    Leased,
    Probed,
    Read,
    Sheet,
    SteerEnd,
    SteerInvoke,
    WriteEnd,
    WriteInvoke,
)
from tests.support.tape import EPOCH, STEP, Tape


def write(
    tape: Tape, content: str, *, expects: int | None = 0, end: Any = "ok", jobs: tuple[str, ...] = ()
) -> None:
    sheets = (Sheet("slot noon", content, expects),)
    tape.tell(WriteInvoke(sheets=sheets, jobs=jobs))
    tape.tell(WriteEnd(sheets=sheets, end=end, jobs=jobs))


def read(tape: Tape, content: str) -> None:
    tape.tell(DocRead(address="slot noon", since=tape.mono + STEP, version=7, content=content))


class TestI2NoGhosts:
    def test_a_job_whose_only_push_failed_is_refused_wherever_it_shows(self) -> None:
        for shows in (
            Leased(id="a", session=1, starts=1),
            Read(id="a", since=200.0, state=int(State.QUEUED)),
        ):
            tape = Tape()
            tape.push("a", end="fail")
            tape.tell(shows)

            assert "I2" in tape.codes()

    def test_a_push_that_fails_when_its_job_has_begun_is_refused(self) -> None:
        tape = Tape()
        tape.ask_push("a")
        tape.lease("a")
        tape.answer_push("a", end="fail")

        assert tape.codes() == {"I2"}

    def test_a_failed_push_after_one_of_unknown_end_is_no_proof(self) -> None:
        tape = Tape()
        tape.push("a", end="info")
        tape.push("a", end="fail")
        tape.lease("a")

        assert tape.codes() == set()


class TestI2Arguments:
    def edited(self, *, status: Any = "done", end: Any = "ok") -> Tape:
        """A job whose arguments were to be replaced."""
        tape = Tape()
        tape.push("a", body="old")
        tape.tell(AlterInvoke(id="a", change="edit", body="new"), "operator")
        tape.tell(AlterEnd(id="a", change="edit", end=end, status=status), "operator")
        return tape

    def lease(self, tape: Tape, body: str) -> set[str]:
        tape.tell(Leased(id="a", session=1, starts=1, since=tape.mono + STEP / 2, body=body), "worker-1")
        return tape.codes()

    def test_a_job_that_runs_with_what_it_was_given_last_is_accepted(self) -> None:
        assert self.lease(self.edited(), "new") == set()

    @pytest.mark.parametrize("body", ["old", "others"])
    def test_one_that_runs_with_anything_else_is_refused(self, body: str) -> None:
        assert self.lease(self.edited(), body) == {"I2"}

    @pytest.mark.parametrize("end", ["fail", "ok"])
    def test_a_change_that_was_not_done_gives_it_nothing(self, end: str) -> None:
        assert self.lease(self.edited(status="refused" if end == "ok" else "", end=end), "new") == {"I2"}

    @pytest.mark.parametrize("body", ["old", "new"])
    def test_after_a_change_without_an_answer_it_may_have_either(self, body: str) -> None:
        assert self.lease(self.edited(status="", end="info"), body) == set()


class TestI11OneWinner:
    def test_one_of_two_writes_of_one_version_is_accepted(self) -> None:
        tape = Tape()
        write(tape, "one")
        write(tape, "two", end="fail")
        write(tape, "three", expects=7)
        read(tape, "three")

        assert tape.codes() == set()

    @pytest.mark.parametrize("expects", [0, 7])
    def test_two_are_refused(self, expects: int) -> None:
        tape = Tape()
        write(tape, "one", expects=expects)
        write(tape, "two", expects=expects)

        assert tape.codes() == {"I11"}

    def test_a_document_may_be_created_again_once_it_was_deleted(self) -> None:
        tape = Tape()
        write(tape, "one")
        write(tape, "", expects=None)
        write(tape, "two")

        assert tape.codes() == set()

    @pytest.mark.parametrize(("end", "wrong"), [("fail", True), ("info", False)])
    def test_what_a_failed_write_would_have_written_is_never_read(self, end: str, wrong: bool) -> None:
        tape = Tape()
        write(tape, "one", end=end)
        read(tape, "one")

        assert tape.codes() == ({"I11"} if wrong else set())

    @pytest.mark.parametrize("content", ["", "two"])
    def test_a_slot_that_was_won_stays_as_it_is(self, content: str) -> None:
        tape = Tape()
        write(tape, "one")
        write(tape, "two", end="info")
        read(tape, content)

        assert tape.codes() == {"I11"}

    def test_a_job_is_stored_if_the_document_is_that_went_along(self) -> None:
        tape = Tape()
        tape.push("b")
        tape.ask_push("a")
        write(tape, "one", end="info", jobs=("a",))
        tape.answer_push("a", end="info")
        read(tape, "one")
        tape.look(b=State.SUCCEEDED, a=None)

        assert "I1" in tape.codes(runs=False)


class TestI7LiveJobs:
    @pytest.mark.parametrize("change", ["erase", "discard"])
    def test_a_change_that_only_ended_jobs_may_have_is_refused_for_a_live_one(self, change: Any) -> None:
        tape = Tape()
        tape.push("a")
        tape.alter("a", change)

        assert tape.codes() == {"I7"}

    def test_a_job_that_may_have_ended_may_be_erased(self) -> None:
        tape = Tape()
        tape.push("a")
        tape.tell(AlterInvoke(id="a", change="cancel"), "another")
        tape.alter("a", "erase")
        tape.tell(AlterEnd(id="a", change="cancel", end="info"), "another")

        assert tape.codes() == set()


class TestClocks:
    def jump(self, tape: Tape) -> None:
        tape.fault("clock")

    def test_nobody_is_early_when_the_clock_has_jumped(self) -> None:
        tape = Tape()
        tape.push("a", delay=60.0)
        self.jump(tape)
        tape.lease("a")

        assert tape.codes() == set()

    def test_a_job_that_had_expired_when_the_clock_was_ahead_may_be_over(self) -> None:
        tape = Tape()
        tape.push("a", expires=EPOCH * 2)
        told = Fault(phase="begin", name="j", what="clock")
        tape.events.append(Event(tape.mono, EPOCH * 2, "world", len(tape.events) + 1, told))
        tape.alter("a", "erase")

        assert tape.codes() == set()

    def test_a_pause_may_be_over_when_the_clock_was_ahead(self) -> None:
        tape = Tape()
        until = EPOCH + tape.mono + 60
        tape.push("a", queue="q")
        tape.tell(SteerInvoke(queue="q", pause=True))
        tape.tell(SteerEnd(queue="q", pause=True, end="ok", until=until))
        paused = Tape()
        paused.events, paused.mono = list(tape.events), tape.mono
        told = Fault(phase="begin", name="j", what="clock")
        tape.events.append(Event(tape.mono, until + 60, "world", len(tape.events) + 1, told))
        for each in (tape, paused):
            each.tell(Leased(id="a", session=1, starts=1, queue="q", since=each.mono + STEP / 2), "worker-1")

        assert paused.codes() == {"I19"}
        assert tape.codes() == set()


class TestProbes:
    def probe(self) -> Tape:
        tape = Tape()
        tape.tell(Probed(id="p", target="worker-1"))
        tape.push("p", delay=0.5)
        return tape

    def test_a_worker_that_does_its_probe_works(self) -> None:
        tape = self.probe()
        tape.pause(1.0)
        tape.lease("p")
        tape.done("p")
        tape.look(p=State.SUCCEEDED)

        assert tape.codes() == set()

    def test_a_worker_that_does_not_is_refused(self) -> None:
        tape = self.probe()
        tape.look(p=State.QUEUED)

        assert "V3" in tape.codes()

    def test_a_probe_that_another_worker_runs_is_refused(self) -> None:
        tape = self.probe()
        tape.pause(1.0)
        tape.lease("p", session=2)
        tape.done("p", session=2)
        tape.read("p", session=2)

        assert tape.codes() == {"V3"}

    def test_a_probe_that_is_leased_late_is_refused(self) -> None:
        tape = self.probe()
        tape.pause(4.0)
        tape.lease("p")
        tape.done("p")
        tape.look(p=State.SUCCEEDED)

        assert tape.codes() == {"V4"}


class TestDuplicates:
    def twice(self, fault: Fault) -> set[str]:
        """The effect of a job whose only trouble was this fault, and which nobody settled."""
        tape = Tape()
        tape.push("a")
        tape.lease("a")
        tape.begin("a")
        tape.effect("a")
        tape.tell(fault, "worker-1")
        tape.end(1)
        tape.lease("a", session=2, starts=2)
        tape.effect("a", session=2, starts=2)
        return tape.codes()

    @pytest.mark.parametrize(("call", "explains"), [("settle", True), ("renew", True), ("sweep", False)])
    def test_calls_explain_them_by_which_a_worker_keeps_its_job(self, call: str, explains: bool) -> None:
        fault = Fault(phase="begin", name="c", what="lost", target="worker-1", call=call)

        assert self.twice(fault) == (set() if explains else {"D"})

    def test_whatever_call_was_cancelled_ended_its_worker(self) -> None:
        assert (
            self.twice(Fault(phase="begin", name="c", what="cancelled", target="worker-1", call="sweep"))
            == set()
        )

    @pytest.mark.parametrize("target", ["worker-2", "worker-11"])
    def test_the_call_of_another_worker_explains_nothing(self, target: str) -> None:
        assert self.twice(Fault(phase="begin", name="c", what="lost", target=target, call="settle")) == {"D"}


def test_a_delay_runs_from_the_first_call_that_may_have_been_done() -> None:
    tape = Tape()
    tape.push("a")
    tape.lease("a")
    tape.run("a", how="failed")
    tape.settle("a", state=State.RETRYING, delay=5.0, end="info")
    tape.pause(3.0)
    tape.settle("a", state=State.RETRYING, delay=5.0, verdict="already")
    tape.pause(2.5)
    tape.lease("a", starts=2, spent=1)

    assert tape.codes() == set()
