"""The checker on histories of timers that are right, and that break one promise each."""

from __future__ import annotations

from typing import Any

import pytest

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.testing.checker import Rules, check
from noria.testing.events import (
    Event,
    Fact,
    Fault,
    Late,
    Leased,
    PushEnd,
    PushInvoke,
    SettleEnd,
    SettleInvoke,
    Stood,
)
from noria.testing.standings import Slots

WALL = 1_000.0
"""The wall clock is so far ahead of the monotonic one."""


def stand(last: float, **fields: Any) -> Stood:
    given: dict[str, Any] = {"name": "t", "period": 10.0, "overlap": "skip", "catch_up": "latest", **fields}
    return Stood(last=WALL + last, **given)


class History:
    """Events, one after the other, each at its time."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def note(self, at: float, *facts: Fact, wall: float = WALL) -> History:
        self.events += [Event(at, at + wall, "w", len(self.events) + n, fact) for n, fact in enumerate(facts)]
        return self

    def push(self, at: float, id: str, slot: float) -> History:
        asked = PushInvoke(id=id, task="act", schedule="t", slot=WALL + slot)
        return self.note(at, asked, PushEnd(id=id, end="ok", status="created", stands=id))

    def run(self, at: float, id: str, until: float) -> History:
        """It runs between two times, and succeeds."""
        fields = {"id": id, "session": 1, "starts": 1}
        end = {**fields, "outcome": int(Outcome.SUCCEEDED), "state": int(State.SUCCEEDED)}
        self.note(at, Leased(**fields, since=at))
        return self.note(until, SettleInvoke(**end), SettleEnd(**end, end="ok", verdict="ok"))

    def codes(self) -> list[str]:
        """What is found about timers."""
        found = check(self.events, Rules(runs=False, effects=False)).findings
        return [each.code for each in found if each.code in ("I11", "T9", "V4")]


def sound() -> History:
    """Two slots that ran, and one between them that was skipped for the first."""
    return History().note(1, stand(5)).push(10, "a", 10).run(11, "a", 25).push(30, "b", 30).run(31, "b", 32)


SKIPPED = (Slots("ran", WALL + 30, WALL + 30), Slots("skipped", WALL + 20, WALL + 20))


def test_a_sound_timer_has_no_finding() -> None:
    assert sound().note(40, stand(30, final=True, left_out=1, log=SKIPPED)).codes() == []


def test_a_slot_with_two_jobs_is_found() -> None:
    history = sound().push(33, "c", 30)

    assert "I11" in history.note(40, stand(30, final=True, left_out=1, log=SKIPPED)).codes()


@pytest.mark.parametrize("told", [0, 2])
def test_a_slot_that_is_not_accounted_for_is_found(told: int) -> None:
    assert sound().note(40, stand(30, final=True, left_out=told)).codes() == ["I11"]


def test_a_timer_that_is_to_run_every_slot_leaves_none_out() -> None:
    last = stand(30, final=True, left_out=1, overlap="queue_all", catch_up="all")
    assert sound().note(40, last).codes() == ["I11"]


def test_a_slot_that_waits_is_not_missing() -> None:
    assert sound().note(40, stand(30, final=True, waiting=(WALL + 20,))).codes() == []


def test_a_run_beside_the_last_one_is_found() -> None:
    history = History().note(1, stand(5)).push(10, "a", 10).note(11, Leased(id="a", session=1, starts=1))

    assert history.push(20, "b", 20).note(21, stand(20, final=True)).codes() == ["T9"]


def test_a_slot_that_was_skipped_for_what_had_ended_is_found() -> None:
    history = (
        History().note(1, stand(5)).push(10, "a", 10).run(11, "a", 15).push(30, "b", 30).run(31, "b", 32)
    )

    assert history.note(40, stand(30, final=True, left_out=1, log=SKIPPED)).codes() == ["T9"]


def test_where_the_clock_jumped_nobody_knows_what_had_ended() -> None:
    history = (
        History().note(1, stand(5)).push(10, "a", 10).run(11, "a", 15).push(30, "b", 30).run(31, "b", 32)
    )
    history.note(33, Fault(phase="end", name="j", what="clock"), wall=WALL + 7)

    assert history.note(40, stand(30, final=True, left_out=1, log=SKIPPED)).codes() == []


def test_a_timer_that_nobody_moves_is_found() -> None:
    assert History().note(1, stand(5), Late(name="t")).note(2, stand(5, final=True)).codes() == ["V4"]
