"""Everything that is compared, in the order of the run."""

from __future__ import annotations

from collections.abc import Sequence

from bench.compare.contestant import Contestant
from bench.compare.subjects import drain, enqueue, footprint, long, waits
from bench.subject import Subject


def subjects(sides: Sequence[Contestant]) -> list[Subject]:
    """What these contestants can do."""
    found: list[Subject] = []
    for each in (enqueue, drain, waits, footprint, long):
        found += each.subjects(sides)
    return found
