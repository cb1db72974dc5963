"""What a job remembers when it is run again: how it had ended, and the arguments that it loses."""

from __future__ import annotations

from noria.backends.contract import Change, Parts
from noria.model.job import Record
from noria.model.past import MAX_KEPT, Life, one_more


def parts_of(change: Change) -> Parts:
    """What has to be read of a job that is to be run again."""
    return Parts.LOG if change.body is None else Parts.LOG | Parts.BODY


def remembered(record: Record, change: Change, now: int) -> tuple[Life, ...]:
    """The past of a job that is run again now (milliseconds), as it stood before."""
    edited = change.body is not None
    body = record.body if edited and record.body is not None and len(record.body) <= MAX_KEPT else None
    life = Life(
        number=1,
        state=record.state,
        retried=now / 1000,
        starts=record.starts,
        failure=record.failure,
        note=change.note,
        edited=edited,
        body=body,
        codec=record.codec if body is not None else "json",
    )
    return one_more(record.past, life)
