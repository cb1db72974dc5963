"""Dropping records that are kept no longer, in portions, so that a full store is as fast as an empty one."""

from __future__ import annotations

from noria.backends.sql import blobs
from noria.backends.sql.rows import decode, encode
from noria.backends.sql.transaction import DEAD, Transaction

_WHENEVER = 1 << 62


def prune_within(work: Transaction, limit: int, *, over: int, stale: bool) -> None:
    """What a settle prunes on its way: at most twice its own size.

    Args:
        over: how many records there are above the cap.
        stale: whether some are past their time.
    """
    if over > 0:
        prune(work, before=_WHENEVER, dead=False, limit=min(limit, over))
    elif stale:
        prune(work, before=work.now, dead=False, limit=limit)


def prune_over(work: Transaction, over: int, limit: int) -> int:
    """Drop the oldest records above the cap; says how many."""
    return prune(work, before=_WHENEVER, dead=False, limit=min(over, limit))


def prune(work: Transaction, *, before: int, dead: bool, limit: int) -> int:
    """Drop records kept only until before this time, the oldest first; says how many."""
    picked = decode(work.row("prune_pick", before, dead, limit)[0], list[tuple[str, str, int, int, int]])
    if picked:
        blobs.drop(work, [id for id, _, _, _, has_blobs in picked if has_blobs], bodies=True)
        work.run("drop_jobs", encode([id for id, *_ in picked]))
    for _, queue, state, is_dead, _ in picked:
        work.moved(queue, state, None)
        if is_dead:
            work.moved(queue, DEAD, None)
    return len(picked)
