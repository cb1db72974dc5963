"""Which jobs a lease takes of those it could have: a decision, without I/O."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from noria.backends.contract import Want
from noria.backends.sql.bounds import Rooms
from noria.model.job import Lane

NO_ROOMS: Final[Rooms] = {}

Candidate = tuple[int, str]
"""A rank and an id as hex; they sort as jobs are to be leased."""


class Line(Struct, array_like=True):
    """What stands in one lane of one queue for this session, each in order of rank.

    Attributes:
        parked: jobs that other workers did not know.
        ready: jobs that are free.
        suspects: jobs that have crashed their process more than once.
    """

    parked: list[Candidate]
    ready: list[Candidate]
    suspects: list[Candidate]


EMPTY: Final = Line([], [], [])
"""Nothing that could be leased."""


def within(wants: Sequence[Want], lines: Sequence[Line], rooms: Rooms) -> list[Line]:
    """The lines of these wants, as far as there is room for their jobs to run."""
    return [
        line if want.queue not in rooms else _short(line, rooms[want.queue])
        for want, line in zip(wants, lines, strict=True)
    ]


def _short(line: Line, room: int) -> Line:
    return EMPTY if room <= 0 else Line(line.parked[:room], line.ready[:room], line.suspects)


def choose(wants: Sequence[Want], lines: Sequence[Line], limit: int, rooms: Rooms = NO_ROOMS) -> list[str]:
    """The ids to lease, in the order in which they should start.

    Each want is filled, parked jobs first; what a queue could not fill goes to the other wants of its lane.
    Among all of them is at most one suspect, as one of the jobs that are to start now.

    Args:
        rooms: of queues of which only so many jobs may run, how many more. None of those is taken ahead of its time.
    """
    chosen: list[str] = []
    left = dict(rooms)
    spare: Counter[Lane] = Counter()
    spare_now: Counter[Lane] = Counter()
    rests: list[tuple[Want, list[Candidate]]] = []
    may_suspect = True
    for want, line in zip(wants, lines, strict=True):
        queue = line.parked + line.ready
        suspect = _suspect(want, line) if may_suspect else None
        if suspect is not None:
            queue.insert(len(line.parked) + bisect_left(line.ready, suspect), suspect)
            may_suspect = False
        size = min(want.now + want.ahead, limit - len(chosen))
        may = size if want.queue not in left else min(size, want.now, left[want.queue])
        taken = [id for _, id in queue[:may]]
        chosen += taken
        spare[want.lane] += size - len(taken)
        spare_now[want.lane] += max(0, want.now - len(taken))
        rests.append((want, queue[may:]))
        if want.queue in left:
            left[want.queue] -= len(taken)
    for want, rest in rests:
        lane, may = want.lane, min(spare[want.lane], limit - len(chosen))
        if want.queue in left:
            may = min(may, spare_now[lane], left[want.queue])
            left[want.queue] -= may
        more = [id for _, id in rest[:may]]
        chosen += more
        spare[lane] -= len(more)
        spare_now[lane] = max(0, spare_now[lane] - len(more))
    # A worker might name a line twice.
    return list(dict.fromkeys(chosen))


def _suspect(want: Want, line: Line) -> Candidate | None:
    """The suspect of this line, if it is old enough to start now."""
    if not want.suspect or not line.suspects:
        return None
    suspect = min(line.suspects)
    before = len(line.parked) + bisect_left(line.ready, suspect)
    return suspect if before < want.now else None
