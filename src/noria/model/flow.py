"""How many jobs came and went: since a store began, and by the minute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

Word = Literal["arrived", "succeeded", "failed", "cancelled", "expired", "retried", "crashed"]
"""What is counted: jobs that were enqueued; jobs by their outcome, each time that they have one; attempts that failed
and are followed by another; starts whose process died."""

WORDS: tuple[Word, ...] = get_args(Word)


class Flow(Struct, frozen=True):
    """The jobs of one task in one queue, since the store began; what is 0 may be left out."""

    queue: str
    task: str
    counts: Mapping[Word, int]


class Point(Struct, frozen=True):
    """The same for a span of time.

    Attributes:
        at: when it begins; seconds since the epoch.
    """

    at: float
    queue: str
    task: str
    counts: Mapping[Word, int]
