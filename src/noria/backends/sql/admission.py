"""What the limits of queues make of jobs on their way in: their order, their end, and whether there is room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from noria.backends.sql.bounds import Bounds, length_of
from noria.backends.sql.drafts import QUEUE, Drafts
from noria.backends.sql.taken import stand_back
from noria.backends.sql.transaction import Transaction
from noria.model.job import Receipt
from noria.model.wording import count


def regard(work: Transaction, drafts: Drafts, places: Iterable[int] | None = None) -> None:
    """Have drafts follow the limits of their queues; those for which there is no room are rejected.

    Args:
        places: of the drafts that are looked at; all, unless it is given.
    """
    if places is None:
        drafts.regarded = True
    if not work.bounds:
        return
    bounded: dict[int, Bounds] = {}
    for place in range(len(drafts.jobs)) if places is None else places:
        row = drafts.rows[place]
        bounds = None if row is None else work.bounds.get(row[QUEUE])
        if bounds is not None and bounds.shapes:
            drafts.shape(place, bounds)
            bounded[place] = bounds
    _admit(work, drafts, {place: each for place, each in bounded.items() if each.max_length is not None})


def _admit(work: Transaction, drafts: Drafts, bounded: Mapping[int, Bounds]) -> None:
    """Reject what does not fit, the last ones first; others that push to these queues wait for this transaction."""
    if all(drafts.jobs[place].admitted for place in bounded):
        return  # none can be refused: then nobody has to wait for anybody
    _measure(work, drafts, {each.queue: each for each in bounded.values()})
    wanted = Counter(each.queue for each in bounded.values())
    if any(n > drafts.rooms[queue] for queue, n in wanted.items()):
        # Only now it matters which of them are stored already.
        stand_back(work, drafts, bounded)
    for place, bounds in bounded.items():
        if drafts.rows[place] is None or drafts.receipts[place].status == "replaced":
            continue  # what replaces another takes its room
        if drafts.rooms[bounds.queue] <= 0 and not drafts.jobs[place].admitted:
            drafts.drop(place, Receipt("rejected", drafts.jobs[place].id, _full(bounds), full=True))
        else:
            drafts.rooms[bounds.queue] -= 1


def _measure(work: Transaction, drafts: Drafts, bounded: Mapping[str, Bounds]) -> None:
    new = sorted(queue for queue in bounded if queue not in drafts.rooms)
    if not new:
        return
    work.hold_lengths(new)
    sizes = work.sizes(new)
    for queue in new:
        drafts.rooms[queue] = (bounded[queue].max_length or 0) - length_of(sizes, queue)


def _full(bounds: Bounds) -> str:
    most = bounds.max_length or 0
    return f"queue {bounds.queue!r} is full: {count(most, 'job')} may wait in it; enqueue it again later"
