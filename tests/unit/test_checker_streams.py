"""The checker judges event streams (I15): in order, nothing made up, the end last, once, and to everybody who stays."""

from __future__ import annotations

import pytest

from noria.model.state import State
from tests.support.tape import Tape

SUCCEEDED, RUNNING, QUEUED = State.SUCCEEDED, State.RUNNING, State.QUEUED


def followed(id: str = "a") -> Tape:
    """A job that is followed from its beginning, and runs."""
    tape = Tape()
    tape.push(id)
    tape.follow(id)
    tape.see(id, 1, QUEUED)
    tape.lease(id)
    tape.see(id, 2, RUNNING)
    return tape


def ended(tape: Tape, id: str = "a") -> Tape:
    """It ends, and its reader sees that."""
    tape.done(id)
    tape.see(id, 3, SUCCEEDED)
    return tape


def test_a_stream_from_the_first_event_to_the_last_breaks_nothing() -> None:
    tape = ended(followed())
    tape.unfollow("a")

    assert tape.codes() == set()


def test_changes_may_be_passed_over_since_the_numbers_tell_how_many() -> None:
    tape = Tape()
    tape.push("a")
    tape.follow("a")
    tape.see("a", 1, QUEUED)
    tape.lease("a")
    tape.done("a")
    tape.see("a", 7, SUCCEEDED)
    tape.unfollow("a")

    assert tape.codes() == set()


def test_a_reader_that_is_cut_off_may_come_again() -> None:
    tape = followed()
    tape.unfollow("a", "cut")
    tape.done("a")
    tape.follow("a", 2, after=2)
    tape.see("a", 3, SUCCEEDED, stream=2)
    tape.unfollow("a", stream=2)

    assert tape.codes() == set()


@pytest.mark.parametrize("event", ["gone", "bye"])
def test_a_stream_may_end_with_a_word_before_its_job(event: str) -> None:
    tape = followed()
    tape.see("a", 0, None, event=event)
    tape.unfollow("a")

    assert tape.codes() == set()


def test_who_knows_the_end_is_not_told_again() -> None:
    tape = ended(followed())
    tape.unfollow("a")
    tape.follow("a", 2, after=3)
    tape.unfollow("a", "known", stream=2)

    assert tape.codes() == set()


@pytest.mark.parametrize("version", [1, 2])
def test_a_version_that_is_not_newer_is_refused(version: int) -> None:
    tape = followed()
    tape.see("a", version, RUNNING if version == 2 else QUEUED, read=False)
    tape.unfollow("a", "cut")

    assert tape.codes() == {"I15"}


def test_a_reader_that_comes_again_is_not_told_what_is_older_than_it_knows() -> None:
    tape = followed()
    tape.unfollow("a", "cut")
    tape.follow("a", 2, after=2)
    tape.see("a", 1, QUEUED, stream=2, read=False)
    tape.unfollow("a", "cut", stream=2)

    assert tape.codes() == {"I15"}


def test_a_step_that_no_move_allows_is_refused() -> None:
    tape = Tape()
    tape.push("a")
    tape.follow("a")
    tape.see("a", 1, QUEUED)
    tape.see("a", 2, SUCCEEDED)
    tape.unfollow("a")

    told = [finding.text for finding in tape.check().findings if finding.code == "I15"]
    assert told == ["it went from queued to succeeded, which no move allows (reader)"]


def test_a_number_that_is_no_version_of_the_job_hides_gaps_and_is_refused() -> None:
    tape = followed()
    tape.see("a", 3, RUNNING, read=False)
    tape.unfollow("a", "cut")

    assert tape.codes() == {"I15"}


def test_a_state_that_the_version_did_not_have_is_refused() -> None:
    tape = followed()
    tape.read("a", State.RETRYING, version=3)
    tape.see("a", 3, QUEUED, read=False)
    tape.unfollow("a", "cut")

    assert tape.codes() == {"I15"}


@pytest.mark.parametrize(("event", "version"), [("state", 1), ("job", 3)])
def test_only_the_first_event_is_the_job_as_it_stands(event: str, version: int) -> None:
    tape = Tape() if event == "state" else followed()
    if event == "state":
        tape.push("a")
        tape.follow("a")
    tape.see("a", version, QUEUED, event=event)
    tape.unfollow("a", "cut")

    assert "I15" in tape.codes()


@pytest.mark.parametrize("state", [None, SUCCEEDED])
def test_an_event_after_the_end_is_refused(state: State | None) -> None:
    tape = ended(followed())
    tape.see("a", 4 if state else 0, state, event="state" if state else "gone")
    tape.unfollow("a")

    assert tape.codes() == {"I15"}


def test_an_event_after_the_close_is_refused() -> None:
    tape = followed()
    tape.unfollow("a", "cut")
    tape.see("a", 3, SUCCEEDED, read=False)

    assert "I15" in tape.codes()


def test_a_stream_that_is_closed_without_a_word_is_refused() -> None:
    tape = followed()
    tape.unfollow("a")

    assert tape.codes() == {"I15"}


def test_a_reader_that_stays_and_is_never_told_the_end_is_refused() -> None:
    tape = followed()
    tape.done("a")
    tape.look(a=SUCCEEDED)

    assert tape.codes() == {"I15"}


def test_a_stream_that_does_not_end_with_its_job_is_refused() -> None:
    assert ended(followed()).codes() == {"I15"}


def test_a_reader_that_is_told_to_know_the_end_and_does_not_is_refused() -> None:
    tape = followed()
    tape.unfollow("a", "cut")
    tape.follow("a", 2, after=2)
    tape.unfollow("a", "known", stream=2)

    assert tape.codes() == {"I15"}
