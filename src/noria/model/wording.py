"""Numbers in sentences: one job, two jobs, and nothing said of none."""

from __future__ import annotations

from collections.abc import Mapping


def count(number: int, noun: str) -> str:
    """ "1 job", "2,000 jobs"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shares(noun: str, numbers: Mapping[str, int]) -> str:
    """ "2 jobs crashed, 1 released": what became of how many; zeros are left out, and all zeros are "no jobs"."""
    parts = [(number, what) for what, number in numbers.items() if number]
    if not parts:
        return f"no {noun}s"
    (first, what), *others = parts
    return ", ".join([f"{count(first, noun)} {what}", *(f"{number:,} {what}" for number, what in others)])


def ordinal(number: int) -> str:
    """ "1st", "2nd", "1,211th"."""
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{last}"
