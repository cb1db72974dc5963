"""Durations, ages and sizes are read and written as people do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.cli.quantities import age, count, duration, read_seconds, size
from noria.clock import moment
from noria.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("1h30m", 5400),
        ("250ms", 0.25),
        ("1w", 604800),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert read_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "x", "5 m", "-5", "5x", "1h 2m", "m", "nan", "inf", "1e3", "101000w", "٥"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_seconds(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0.4 ms"), (0.038, "38 ms"), (0.9996, "1.0 s"), (1.24, "1.2 s"), (45.4, "45 s"),
        (59.7, "1m"),
        (200, "3m 20s"), (7500, "2h 5m"), (356_400, "4d 3h"), (86_400, "1d"), (-3, "-3.0 s"),
    ],
)  # fmt: skip
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.floats(0, 1e10))
def test_every_duration_can_be_written(seconds: float) -> None:
    assert len(duration(seconds)) >= 3 or duration(seconds)[-1] in "mhd"


def test_ages_look_back_and_ahead() -> None:
    assert age(90, 100) == "10 s ago"
    assert age(400, 100) == "in 5m"
    assert age(None, 100) == "–"


def test_sizes_and_counts() -> None:
    assert [size(n) for n in (0, 512, 1536, 20 * 1024**2)] == ["0 B", "512 B", "1.5 KiB", "20 MiB"]
    assert [count(n, "job") for n in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]


def test_moments_are_rfc_3339_in_utc() -> None:
    assert moment(1.5) == "1970-01-01T00:00:01.500Z"
    assert moment(None) is None
