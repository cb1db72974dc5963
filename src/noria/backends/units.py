"""Seconds as callers say them, milliseconds as rows store them."""

from __future__ import annotations


def millis(seconds: float) -> int:
    """A time or duration as it is stored."""
    return round(seconds * 1000)


def millis_or_none(seconds: float | None) -> int | None:
    """A time or duration that may be missing, as it is stored."""
    return None if seconds is None else round(seconds * 1000)


def seconds_or_none(stored: int | None) -> float | None:
    """A stored time or duration that may be missing, as callers read it."""
    return None if stored is None else stored / 1000


def seconds_until(now: int, *stored: int | None) -> float | None:
    """Seconds until the earliest of some stored times, 0 if it is past; None if all are missing."""
    return seconds_or_none(min((max(0, at - now) for at in stored if at is not None), default=None))


def earlier(one: int | None, other: int | None) -> int | None:
    """The earlier of two times of which any may be missing."""
    if one is None:
        return other
    return one if other is None else min(one, other)
