"""How much work each measurement does."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of the measurements.

    Attributes:
        singles: jobs enqueued one by one.
        jobs: jobs of an enqueue by concurrent callers or in bulk, and of a drain.
        few: the same where a contestant would take minutes for that many.
        trips: round trips.
        naps, nap_slots: sleeping jobs, and how many may sleep at once.
        cap: records that the store keeps at most, where a store at its cap is measured.
        backlog: jobs that are queued already, where a full queue is measured.
        delayed: jobs delayed by an hour, where memory is measured.
        foreign: jobs that end while a foreign transaction stays open.
        idle: seconds over which an idle worker's CPU time is read.
        imports: how often a package is imported for one reading.
    """

    singles: int = 5_000
    jobs: int = 25_000
    few: int = 500
    trips: int = 1_000
    naps: int = 5_000
    nap_slots: int = 500
    cap: int = 50_000
    backlog: int = 1_000_000
    delayed: int = 200_000
    foreign: int = 300_000
    idle: float = 10.0
    imports: int = 5

    def with_jobs(self, jobs: int) -> Scale:
        """The same with another number of jobs to drain."""
        return replace(self, jobs=jobs, cap=2 * jobs)


FULL = Scale()
QUICK = Scale(
    singles=100,
    jobs=400,
    few=10,
    trips=30,
    naps=100,
    nap_slots=50,
    cap=500,
    backlog=3_000,
    delayed=1_000,
    foreign=500,
    idle=1.0,
    imports=1,
)
"""For a look whether everything works; its numbers mean nothing."""
