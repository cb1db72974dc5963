"""Rules of timers: the slots that they give, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.errors import InvalidInput, InvalidOption
from noria.model.timetable import Cron, Every, Rule, cron, every, following


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def slots(rule: Rule, after: str, count: int) -> list[str]:
    """The next slots as UTC."""
    found = islice(rule.slots(at(after)), count)
    return [datetime.fromtimestamp(slot, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for slot in found]


@pytest.mark.parametrize(
    ("period", "seconds"),
    [(10, 10.0), (0.5, 0.5), ("10s", 10.0), ("1h30m", 5_400.0), (timedelta(minutes=2), 120.0)],
)
def test_a_period_is_seconds_or_text_or_a_timedelta(period: float | str | timedelta, seconds: float) -> None:
    assert every(period) == Every(seconds)


@pytest.mark.parametrize(
    "period", [0, 0.01, -1, "0s", 400 * 86_400, True, None, "soon", "", float("nan"), [1]]
)
def test_a_period_that_is_none_is_refused(period: object) -> None:
    with pytest.raises(InvalidInput):
        every(period)  # type: ignore[arg-type]  # what the types forbid


def test_slots_are_multiples_of_the_period_since_the_epoch() -> None:
    assert list(islice(Every(60.0).slots(119.0), 3)) == [120.0, 180.0, 240.0]
    assert list(islice(Every(60.0).slots(120.0), 2)) == [180.0, 240.0]


@given(st.floats(0.1, 1e6), st.floats(0.0, 4e9))
def test_slots_rise_and_are_the_same_wherever_one_begins(seconds: float, after: float) -> None:
    rule = Every(seconds)
    first, second, third = islice(rule.slots(after), 3)
    assert after < first < second < third
    assert following(rule, first) == second
    assert following(rule, second) == third
    assert first - after <= seconds * (1 + 1e-6) + 1e-6


ZONES = [
    # Spring forward: a fixed time in the skipped hour runs right after it.
    ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
    (
        "30 2 * * *",
        "America/New_York",
        "2026-03-07T12:00:00Z",
        ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
    ),
    # Fall back: a fixed time in the repeated hour runs once.
    ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
    (
        "30 1 * * *",
        "America/New_York",
        "2026-10-31T12:00:00Z",
        ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"],
    ),
    # The southern half has its winter in between.
    (
        "30 2 * * *",
        "Australia/Sydney",
        "2026-10-03T00:00:00Z",
        ["2026-10-03T16:00:00Z", "2026-10-04T15:30:00Z"],
    ),
    (
        "30 2 * * *",
        "Australia/Sydney",
        "2026-04-04T00:00:00Z",
        ["2026-04-04T15:30:00Z", "2026-04-05T16:30:00Z"],
    ),
    # Half an hour is skipped, and repeated.
    (
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T00:00:00Z",
        ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"],
    ),
    (
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T00:00:00Z",
        ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"],
    ),
    # A star goes on by real time.
    (
        "0 * * * *",
        "Europe/Berlin",
        "2026-10-24T23:30:00Z",
        ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"],
    ),
    # A zone that never changes.
    ("0 3 * * *", "Asia/Shanghai", "2026-03-28T12:00:00Z", ["2026-03-28T19:00:00Z", "2026-03-29T19:00:00Z"]),
]


@pytest.mark.parametrize(("expression", "tz", "after", "expected"), ZONES)
def test_t6_each_local_time_has_one_slot_also_where_clocks_change(
    expression: str, tz: str, after: str, expected: list[str]
) -> None:
    assert slots(cron(expression, tz), after, len(expected)) == expected


def test_t6_over_ten_years_of_zones_a_daily_timer_runs_once_a_day() -> None:
    for tz in ("Europe/London", "America/Sao_Paulo", "Africa/Cairo", "Pacific/Auckland", "Asia/Kathmandu"):
        found = list(islice(cron("30 2 * * *", tz).slots(at("2020-01-01T00:00:00Z")), 3_650))
        gaps = {round((later - earlier) / 3600, 2) for earlier, later in pairwise(found)}
        assert gaps <= {22.5, 23.0, 23.5, 24.0, 24.5, 25.0, 25.5}, (tz, gaps)


def test_six_fields_have_seconds_first() -> None:
    assert slots(cron("*/20 0 0 * * *"), "2026-01-01T00:00:00Z", 2) == [
        "2026-01-01T00:00:20Z",
        "2026-01-01T00:00:40Z",
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "*",
        "* * * *",
        "61 * * * *",
        "* * * * MON-",
        "a b c d e",
        "*/0 * * * *",
        "* " * 200,
        None,
        5,
        "0 0 31 2 *",
    ],
)
def test_an_expression_that_is_none_or_never_comes_is_refused(expression: object) -> None:
    with pytest.raises(InvalidOption) as refused:
        cron(expression)  # type: ignore[arg-type]  # what the types forbid
    assert refused.value.field == "cron"


@pytest.mark.parametrize(
    "tz", ["", "Mars/Olympus", "../etc/passwd", "/etc/localtime", "Europe", "\0", None, 5]
)
def test_t7_a_zone_that_this_machine_does_not_know_is_refused(tz: object) -> None:
    with pytest.raises(InvalidOption) as refused:
        cron("0 3 * * *", tz)  # type: ignore[arg-type]  # what the types forbid
    assert refused.value.field == "tz"


def test_blanks_in_an_expression_mean_nothing() -> None:
    assert cron("  0   3 * * *\t") == Cron("0 3 * * *")
