"""What becomes of jobs on their way in, before anything is written: their order, their end, whether there is room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from noria.backends.sql.bounds import Bounds, length_of
from noria.backends.sql.drafts import QUEUE, Drafts
from noria.backends.sql.taken import contested, decide, hold
from noria.backends.sql.transaction import Transaction


def foresee(work: Transaction, drafts: Drafts, *, whole: bool) -> None:
    """Have drafts follow the limits of their queues, and drop those that are refused.

    Args:
        whole: something else depends on whether any of them is refused: it must be known before anything is written.
    """
    if whole:
        hold(work, drafts)
    crowded = regard(work, drafts)
    if crowded or (whole and drafts.claims and contested(drafts)):
        decide(work, drafts)


def regard(work: Transaction, drafts: Drafts, places: Iterable[int] | None = None) -> bool:
    """Have drafts follow the limits of their queues; says whether one of these has no room for all of them.

    Args:
        places: of the drafts that are looked at; all, unless it is given.
    """
    if places is None:
        drafts.regarded = True
    if not work.bounds:
        return False
    bounded: dict[int, Bounds] = {}
    for place in range(len(drafts.jobs)) if places is None else places:
        row = drafts.rows[place]
        bounds = None if row is None else work.bounds.get(row[QUEUE])
        if bounds is not None and bounds.shapes:
            drafts.shape(place, bounds)
            bounded[place] = bounds
    return _crowds(
        work, drafts, {place: each for place, each in bounded.items() if each.max_length is not None}
    )


def _crowds(work: Transaction, drafts: Drafts, bounded: Mapping[int, Bounds]) -> bool:
    """Whether some do not fit; others that push to these queues wait for this transaction."""
    if all(drafts.jobs[place].admitted for place in bounded):
        return False  # none can be refused: then nobody has to wait for anybody
    _measure(work, drafts, {each.queue: each for each in bounded.values()})
    wanted = Counter(each.queue for each in bounded.values())
    return any(n > drafts.rooms[queue] for queue, n in wanted.items())


def _measure(work: Transaction, drafts: Drafts, bounded: Mapping[str, Bounds]) -> None:
    new = sorted(queue for queue in bounded if queue not in drafts.rooms)
    if not new:
        return
    work.hold_lengths(new)
    sizes = work.sizes(new)
    for queue in new:
        drafts.rooms[queue] = (bounded[queue].max_length or 0) - length_of(sizes, queue)
