"""What an end makes of a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from noria.backends.ends import storable
from noria.backends.sql.bounds import Bounds
from noria.backends.sql.rows import HELD, Running
from noria.backends.sql.verdicts import respecting_cancel, row_after
from noria.backends.sqlite.settings import Settings
from noria.model.job import Start, rank
from noria.model.limits import MAX_BODY
from noria.model.outcome import End, Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import State

NOW = 1_800_000_000_000
SETTINGS = Settings(path="noria.db", runtime=Path("unused"))
WHY = Failure.of("exception", "boom")
COUNTERS = ["spent", "crashes", "releases", "snoozes"]
COLUMNS = ["id", "state", *COUNTERS, "rank", "due", "lapse", "dead", "finished", "prune_at"]
COLUMNS += ["failure", "log", "session", "fingerprint"]


def running(**fields: Any) -> Running:
    given = {"starts": 3, "queue": "mail", "attempts": 5, "rank": 70, "due": 60, **fields}
    return Running(HELD, "ab", **given)


def after(end: End, **fields: Any) -> dict[str, Any]:
    row = row_after(
        end, running(**fields), Bounds("q"), now=NOW, settings=SETTINGS, session=9, worker="w", began=1.5
    )
    return dict(zip(COLUMNS, row, strict=True))


@pytest.mark.parametrize(
    ("outcome", "state", "counted"),
    [
        (Outcome.FAILED, State.RETRYING, "spent"),
        (Outcome.TIMED_OUT, State.RETRYING, "spent"),
        (Outcome.CRASHED, State.QUEUED, "crashes"),
        (Outcome.RELEASED, State.QUEUED, "releases"),
        (Outcome.SNOOZED, State.SCHEDULED, "snoozes"),
        (Outcome.RELEASED, State.PARKED, None),
        (Outcome.CANCELLED, State.CANCELLED, None),
    ],
)
def test_a_start_counts_once_and_in_one_place(outcome: Outcome, state: State, counted: str | None) -> None:
    row = after(End(outcome, state, failure=WHY), spent=1, crashes=1, releases=1, snoozes=1)

    assert {name: row[name] for name in COUNTERS} == {name: 1 + (name == counted) for name in COUNTERS}


def test_a_retry_takes_its_place_by_the_time_it_is_due() -> None:
    row = after(End(Outcome.FAILED, State.RETRYING, 2.5, WHY), priority=3)

    assert row["due"] == NOW + 2_500
    assert row["rank"] == rank(row["due"] / 1000, 3)


def test_what_is_given_back_keeps_its_place() -> None:
    row = after(End(Outcome.RELEASED, State.QUEUED, failure=WHY))

    assert (row["rank"], row["due"]) == (70, 60)


def test_being_given_back_does_not_hide_what_failed_before() -> None:
    assert after(End(Outcome.RELEASED, State.QUEUED, failure=WHY))["failure"] is None
    assert "boom" in after(End(Outcome.RELEASED, State.PARKED, failure=WHY))["failure"]


def test_a_job_that_never_began_must_still_start_in_time() -> None:
    """A start that was given back before it ran does not count as having begun."""
    release, retry = End(Outcome.RELEASED, State.QUEUED), End(Outcome.FAILED, State.RETRYING, failure=WHY)

    assert after(release, expires=100, deadline=200)["lapse"] == 100
    assert after(release, expires=100, deadline=200, spent=1)["lapse"] == 200
    assert after(retry, expires=100, deadline=200)["lapse"] == 200
    assert after(release, expires=None, deadline=None)["lapse"] is None


@pytest.mark.parametrize(
    ("state", "dead", "keep"),
    [
        (State.FAILED, True, SETTINGS.keep_dead),
        (State.CANCELLED, False, SETTINGS.keep_succeeded),
        (State.EXPIRED, False, SETTINGS.keep_succeeded),
    ],
)
def test_a_final_end_is_kept_as_long_as_its_kind(state: State, dead: bool, keep: float) -> None:
    row = after(End(Outcome.FAILED, state, failure=WHY))

    assert (row["finished"], row["dead"], row["prune_at"]) == (NOW, dead, NOW + keep * 1000)


def test_an_end_that_is_not_final_is_not_pruned() -> None:
    row = after(End(Outcome.FAILED, State.RETRYING, failure=WHY))

    assert (row["finished"], row["dead"], row["prune_at"]) == (None, False, None)


def test_the_log_tells_of_the_start() -> None:
    entry = msgspec.json.decode(after(End(Outcome.FAILED, State.RETRYING, failure=WHY))["log"], type=Start)

    assert entry == Start(3, Outcome.FAILED, 1.5, NOW / 1000, "w", WHY)


@pytest.mark.parametrize("state", [State.RETRYING, State.QUEUED, State.SCHEDULED, State.PARKED])
def test_a_job_to_be_cancelled_does_not_run_again(state: State) -> None:
    end = respecting_cancel(End(Outcome.FAILED, state, failure=WHY), running(cancel="why"))

    assert (end.outcome, end.state) == (Outcome.FAILED, State.CANCELLED)
    assert end.failure is not None
    assert (end.failure.reason, end.failure.message) == ("cancelled", "why")


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.FAILED, State.CANCELLED, State.EXPIRED])
def test_a_job_that_ended_in_time_is_not_cancelled(state: State) -> None:
    end = End(Outcome.FAILED, state, failure=WHY)

    assert respecting_cancel(end, running(cancel="")) is end


@pytest.mark.parametrize(
    "bad",
    [
        {"state": State.RUNNING},
        {"result": b"x" * (MAX_BODY + 1)},
        {"codec": "a\x00b"},
        {"codec": "\ud800"},
        {"began": float("nan")},
        {"began": -1.0},
        {"state": State.RETRYING, "delay": float("inf")},
        {"state": State.FAILED, "failure": Failure("exception", "\ud800")},
    ],
    ids=lambda bad: ascii(bad)[:40],
)
def test_what_cannot_be_stored_becomes_a_failure_that_can(bad: dict[str, Any]) -> None:
    """D6. Recorded once, with the reason; never run for ever."""
    given: dict[str, Any] = {"outcome": Outcome.SUCCEEDED, "state": State.SUCCEEDED, "result": b"1", **bad}

    end = storable(Settlement(b"i" * 16, 2, **given), SETTINGS.max_body)  # type: ignore[arg-type]  # any bytes will do

    assert (end.id, end.starts, end.state, end.result) == (b"i" * 16, 2, State.FAILED, None)
    assert end.failure is not None
    assert end.failure.reason == "result"
    assert end.failure.message
