"""Times and waits on a command line: what is meant is read, what is not is told with an example."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import click
import pytest

from noria import Backoff
from noria.cli.moments import MOMENT, MOMENT_OR_SECONDS, WAITS

EIGHT = datetime(2026, 12, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (MOMENT, "2026-12-01T08:00:00Z", EIGHT),
        (MOMENT, "2026-12-01 09:00+01:00", EIGHT.astimezone(timezone(timedelta(hours=1)))),
        (MOMENT_OR_SECONDS, "2026-12-01T08:00Z", EIGHT),
        (MOMENT_OR_SECONDS, "90", 90.0),
        (MOMENT_OR_SECONDS, "1h30m", 5400.0),
        (WAITS, "base=5", Backoff(base=5)),
        (WAITS, "base=500ms, cap=10m,factor=3,jitter=none", Backoff(0.5, 600, 3, "none")),
    ],
)
def test_what_is_meant_is_read(kind: Any, text: str, value: Any) -> None:
    found = kind.convert(text, None, None)
    assert (found, kind.convert(found, None, None)) == (value, value)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        (MOMENT, "tomorrow", "is no time; write 2026"),
        (MOMENT, "2026-12-01T08:00:00", "is a time without zone; write 2026"),
        (MOMENT_OR_SECONDS, "2026-12-01", "is a time without zone"),
        (MOMENT_OR_SECONDS, "soon", "is no duration; .*, or a time such as 2026"),
        (WAITS, "5", "'5' is no wait; write base=5"),
        (WAITS, "base=5,base=6", "is no wait"),
        (WAITS, "never=x", "is no wait"),
        (WAITS, "base=x", "is no duration"),
        (WAITS, "factor=x", "factor must be a number"),
        (WAITS, "factor=0.5", "factor must be"),
        (WAITS, "jitter=some", "jitter must be"),
    ],
)
def test_what_cannot_be_read_is_told(kind: Any, text: str, told: str) -> None:
    with pytest.raises(click.UsageError, match=told):
        kind.convert(text, None, None)
