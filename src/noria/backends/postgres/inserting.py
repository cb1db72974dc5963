"""Storing new jobs: those whose ids and keys are free at once; for the others it is looked up who stands for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from noria.backends.sql.admission import regard
from noria.backends.sql.drafts import BODY, Drafts, Row
from noria.backends.sql.holders import conclude
from noria.backends.sql.rows import decode, encode
from noria.backends.sql.settings import BLOB_CHUNK
from noria.backends.sql.taken import decide, hold
from noria.backends.sql.transaction import Transaction
from noria.errors import Unavailable

_TRIES: Final = 10
"""How often a key may be given up and taken again by others while we look who has it."""


def insert(work: Transaction, drafts: Drafts) -> None:
    """Store the drafts; see `noria.backends.sql.transaction.Transaction.insert`."""
    hold(work, drafts)
    drafts.make_way()
    for portion in _portions(drafts):
        regarded = drafts.regarded
        stored = _push(work, drafts, portion, regarded)
        for _ in range(_TRIES):
            if stored is None:
                break
            portion = _left(drafts, portion, stored)
            if not regarded:
                # Only now it is known that some queues may have limits; nearly always none has.
                regard(work, drafts, portion)
                regarded = True
            decide(work, drafts, portion)
            drafts.make_way()
            portion = [place for place in portion if drafts.rows[place] is not None]
            stored = _push(work, drafts, portion, regarded) if portion else None
        else:
            raise Unavailable("others keep taking and giving up the same unique keys: try again")
    conclude(work, drafts)


def _push(work: Transaction, drafts: Drafts, portion: Sequence[int], regarded: bool) -> set[str] | None:
    """Store some; None if all were, else the ids of those that were."""
    rows = [drafts.rows[place] for place in portion]
    text = (
        drafts.as_json()
        if len(rows) == len(drafts.rows)
        else encode([row for row in rows if row is not None])
    )
    name = "push_bound" if drafts.bound else "push"
    found = work.row(name, text, drafts.now, regarded)[0]
    if found is None:
        return None
    # A caller's own driver has read the JSON already, if it is told to.
    return set(found if isinstance(found, list) else decode(found, list[str]))


def _left(drafts: Drafts, portion: Sequence[int], stored: set[str]) -> list[int]:
    """The places that are still to be stored; of two with one id the second."""
    left = []
    for place in portion:
        row = drafts.rows[place]
        if row is not None and row[0] not in stored:
            left.append(place)
        elif row is not None:
            stored.discard(row[0])
    return left


def _portions(drafts: Drafts) -> Iterator[list[int]]:
    """Places of rows, as many at once as a statement can well take."""
    portion: list[int] = []
    size = 0
    for place, row in enumerate(drafts.rows):
        if row is None:
            continue
        length = _size(row)
        if portion and size + length > BLOB_CHUNK:
            yield portion
            portion, size = [], 0
        portion.append(place)
        size += length
    if portion:
        yield portion


def _size(row: Row) -> int:
    hex = row[BODY + 1] if len(row) > BODY + 1 else None
    return len(row[BODY] or "") + len(hex or "")
