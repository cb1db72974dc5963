"""Durations, ages, times and sizes as people read and write them."""

from __future__ import annotations

import re
from typing import Final

from noria.clock import utc
from noria.errors import InvalidInput

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PIECE: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h|d|w)")
_MOST: Final = 3_155_760_000.0


def read_seconds(text: str) -> float:
    """Read a duration: a number of seconds, or pieces with units such as "90s", "1h30m", "2d".

    Raises:
        InvalidInput: it is neither, or longer than 100 years.
    """
    pieces = list(_PIECE.finditer(text))
    if pieces and "".join(piece[0] for piece in pieces) == text:
        seconds = sum(float(piece["number"]) * _UNITS[piece["unit"]] for piece in pieces)
    elif re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        seconds = float(text)
    else:
        raise InvalidInput(
            f"{text!r:.40} is no duration; write seconds, or 90s, 5m, 2h, 1d, 1h30m", field="duration"
        )
    if seconds > _MOST:
        raise InvalidInput(f"{text!r:.40} is longer than 100 years", field="duration")
    return seconds


def duration(seconds: float) -> str:
    """A duration in at most six characters or so: 0.4 ms, 38 ms, 1.2 s, 45 s, 3m 20s, 2h 5m, 4d 3h."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 0.9995:
        millis = seconds * 1000
        return f"{millis:.1f} ms" if millis < 9.95 else f"{millis:.0f} ms"
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds)
    for size, big, small, step in ((3600, 60, "m", "s"), (86400, 3600, "h", "m"), (0, 86400, "d", "h")):
        if whole < size or not size:
            part = {"s": 1, "m": 60, "h": 3600}[step]
            rest = whole % big // part
            return f"{whole // big}{small}" + (f" {rest}{step}" if rest else "")
    raise AssertionError("the last row takes everything")


def age(then: float | None, now: float) -> str:
    """How long ago, or how far ahead: "12 s ago", "in 5m"; a dash for never."""
    if then is None:
        return "–"
    gap = now - then
    return f"{_coarse(gap)} ago" if gap >= 0 else f"in {_coarse(-gap)}"


def _coarse(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 59.5 else duration(seconds)


def moment(seconds: float | None) -> str | None:
    """A point in time as REST writes it: RFC 3339 in UTC, to the millisecond."""
    if seconds is None:
        return None
    return utc(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def size(count: int) -> str:
    """Bytes: 512 B, 1.5 KiB, 20 MiB."""
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.0f} {units[0]}" if units[0] == "B" or value >= 10 else f"{value:.1f} {units[0]}"


def count(number: int, noun: str) -> str:
    """ "1 job", "2,000 jobs"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
