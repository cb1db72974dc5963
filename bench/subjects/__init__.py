"""Everything that is measured, in the order of the table; what computes for minutes comes after what waits."""

from __future__ import annotations

from typing import Final

from bench.subject import Subject
from bench.subjects.backlog import Backlog
from bench.subjects.cap import AtCap
from bench.subjects.drain import BesideBusyLoop, BesideThread, Drain
from bench.subjects.enqueue import Bulk, Callers, Singles
from bench.subjects.front import Front
from bench.subjects.groups import Groups
from bench.subjects.idle import Idle
from bench.subjects.memory import Delayed
from bench.subjects.naps import Naps
from bench.subjects.pair import Pair
from bench.subjects.start import Imports, Start
from bench.subjects.trips import BackToBack, Paused

SUBJECTS: Final[tuple[Subject, ...]] = (
    Singles(),
    Callers(),
    Bulk(),
    Drain(),
    BackToBack(),
    Paused(),
    Naps(),
    Pair(),
    BesideBusyLoop(),
    BesideThread(),
    AtCap(),
    Backlog(),
    Groups(),
    Front(),
    Imports(),
    Start(),
    Idle(),
    Delayed(),
)
