"""What a running job has written down on its way: progress, a checkpoint, a question, partial results."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from noria.ids import Id
from noria.model.document import DocWrite
from noria.model.limits import MAX_CHECKPOINT, MAX_ITEM, MAX_NOTE


class Progress(Struct, frozen=True):
    """How far a start has come.

    Attributes:
        fraction: 0 to 1.
        note: for people; bounded.
        at: when it was written down, in seconds since the epoch; a mark leaves that to the backend.
    """

    fraction: float
    note: str = ""
    at: float = 0.0


class Mark(Struct, frozen=True):
    """A write in mid-run, as the worker asks the backend to record it. What is left out stays as it is.

    Attributes:
        id, starts: with the session, the fence: which start this is about.
        progress: how far it has come.
        checkpoint: what the next start of the job is handed; it replaces the one before.
        asks: the name of the question that it waits for from now on; None: it goes on.
        items: partial results to append to the stream of the job.
        first: how many items this start had sent before these, so that a repeat appends none twice.
        docs: documents that are written in the same step, whatever their versions; none if the mark is refused.
    """

    id: Id
    starts: int
    progress: Progress | None = None
    checkpoint: bytes | None = None
    asks: str | UnsetType | None = UNSET
    items: tuple[bytes, ...] = ()
    first: int = 0
    docs: tuple[DocWrite, ...] = ()

    @property
    def flaw(self) -> str | None:
        """Why no backend can record it; None if each can."""
        if self.progress is not None and not 0 <= self.progress.fraction <= 1:
            return f"progress is a number from 0 to 1, not {self.progress.fraction!r:.40}"
        if self.progress is not None and len(self.progress.note) > MAX_NOTE:
            return f"a note has at most {MAX_NOTE} characters, not {len(self.progress.note)}"
        if self.checkpoint is not None and len(self.checkpoint) > MAX_CHECKPOINT:
            return f"a checkpoint has at most {MAX_CHECKPOINT} bytes, not {len(self.checkpoint)}"
        if largest := max(map(len, self.items), default=0):
            return f"an item has at most {MAX_ITEM} bytes, not {largest}" if largest > MAX_ITEM else None
        return None


class Item(Struct, frozen=True):
    """A partial result.

    Attributes:
        offset: its place in the stream of its job, from 0; a later start goes on where the last one ended.
        at: when it was recorded, in seconds since the epoch.
        starts: the start that has sent it.
        data: as it was sent.
    """

    offset: int
    at: float
    starts: int
    data: bytes


class Stream(Struct, frozen=True):
    """A page of the partial results of a job.

    Attributes:
        items: in order; the first may have a higher offset than was asked for, since old ones are dropped.
        end: the offset that the next item of the job will have.
    """

    items: list[Item]
    end: int = 0
