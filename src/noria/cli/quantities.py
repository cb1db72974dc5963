"""Durations, ages, times and sizes as people read and write them."""

from __future__ import annotations

import re
from typing import Final

from noria.errors import InvalidInput
from noria.model.spans import read_seconds as read_seconds
from noria.model.wording import count as count


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


_SIZE: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s?(?P<unit>[kmgt]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_MOST_BYTES: Final = 2**50


def read_bytes(text: str) -> int:
    """Read a size: a number of bytes, or one with a unit such as "512MB", "512MiB" or "2G"; each is 1,024 of the next.

    Raises:
        InvalidInput: it is neither, or beyond 1 PiB.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise InvalidInput(f"{text!r:.40} is no size; write bytes, or 512MB, 2GB", field="size")
    value = float(found["number"]) * 1024 ** "bkmgt".index(found["unit"].lower() or "b")
    if value > _MOST_BYTES:
        raise InvalidInput(f"{text!r:.40} is more than 1 PiB", field="size")
    return int(value)


def age(then: float | None, now: float) -> str:
    """How long ago, or how far ahead: "12 s ago", "in 5m"; a dash for never."""
    if then is None:
        return "–"
    gap = now - then
    return f"{_coarse(gap)} ago" if gap >= 0 else f"in {_coarse(-gap)}"


def _coarse(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 59.5 else duration(seconds)


def size(count: int) -> str:
    """Bytes: 512 B, 1.5 KiB, 20 MiB."""
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.0f} {units[0]}" if units[0] == "B" or value >= 10 else f"{value:.1f} {units[0]}"
