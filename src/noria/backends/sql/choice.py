"""Which jobs a lease takes of those it could have: a decision, without I/O."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from noria.backends.contract import Want
from noria.model.job import Lane

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


def choose(wants: Sequence[Want], lines: Sequence[Line], limit: int) -> list[str]:
    """The ids to lease, in the order in which they should start.

    Each want is filled, parked jobs first; what a queue could not fill goes to the other wants of its lane.
    Among all of them is at most one suspect, as one of the jobs that are to start now.
    """
    chosen: list[str] = []
    spare: Counter[Lane] = Counter()
    rests: list[tuple[Lane, list[Candidate]]] = []
    may_suspect = True
    for want, line in zip(wants, lines, strict=True):
        queue = line.parked + line.ready
        suspect = _suspect(want, line) if may_suspect else None
        if suspect is not None:
            queue.insert(len(line.parked) + bisect_left(line.ready, suspect), suspect)
            may_suspect = False
        size = min(want.now + want.ahead, limit - len(chosen))
        taken = [id for _, id in queue[:size]]
        chosen += taken
        spare[want.lane] += size - len(taken)
        rests.append((want.lane, queue[size:]))
    for lane, rest in rests:
        more = [id for _, id in rest[: min(spare[lane], limit - len(chosen))]]
        chosen += more
        spare[lane] -= len(more)
    # A worker might name a line twice.
    return list(dict.fromkeys(chosen))


def _suspect(want: Want, line: Line) -> Candidate | None:
    """The suspect of this line, if it is old enough to start now."""
    if not want.suspect or not line.suspects:
        return None
    suspect = min(line.suspects)
    before = len(line.parked) + bisect_left(line.ready, suspect)
    return suspect if before < want.now else None
