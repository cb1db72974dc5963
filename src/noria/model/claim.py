"""Unique keys: for how long a job holds its key, and what becomes of a job that finds it taken."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from noria.model.limits import MAX_ITEMS

OnConflict = Literal["existing", "reject", "replace", "keep_last", "merge"]
"""What becomes of a job whose unique key another one holds: that one stands for it; it is an error to whoever enqueued
it; it takes the place of one that waits; one that waits gets its arguments and its time; one that waits gets the items
of its list."""

Enqueued = Literal["created", "existing", "replaced", "updated", "merged"]
"""What became of a job that was enqueued: it was stored; another one stands for it; it was stored, and the one that had
its key was cancelled; another one, which waits, has its arguments and its time now, or the items of its list too."""

NEW: Final[frozenset[str]] = frozenset({"created", "replaced"})
"""The words that say that the job itself was stored."""


class Claim(Struct, frozen=True, kw_only=True, gc=False):
    """How a job has its unique key. A job with a key and no claim holds it as long as it lives, and yields to others.

    Attributes:
        until_start: the key is free once the job was leased, for good: a later start does not take it back.
        within: seconds from the push for which the key is taken, whatever becomes of the job, as long as its record is
            kept; None leaves it to the job's life.
        on_conflict: what becomes of the job if another one holds the key. "reject" is "existing" to a backend.
        at_most: keep_last: seconds since the waiting job was pushed, after which it is put off no more; None: no bound.
        argument: merge: the argument that is a list.
        max_items: merge: how many items it may have; a job that is full gives its key to the next one.
        same_queue: change no job of another queue.
    """

    until_start: bool = False
    within: float | None = None
    on_conflict: OnConflict = "existing"
    at_most: float | None = None
    argument: str = ""
    max_items: int = MAX_ITEMS
    same_queue: bool = False

    @property
    def changes(self) -> bool:
        """Whether it may do something to the job that holds its key."""
        return self.on_conflict in ("replace", "keep_last", "merge")
