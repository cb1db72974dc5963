"""Leasing as far as it is common: what is asked, and what was got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from noria.backends.bells import Haul
from noria.backends.contract import Batch, Want
from noria.backends.sql.call import Call, Sync
from noria.backends.sql.groups import ref_of
from noria.backends.sql.rows import Held, read_extras, tally_of, to_bytes, to_id
from noria.backends.units import seconds_or_none
from noria.ids import SessionId
from noria.model.job import Lease
from noria.model.outcome import Failure, after_release
from noria.model.settlement import Settlement


@dataclass(slots=True)
class Taken:
    """What `Take.run` keeps for `finish`: as a `Haul`, with rows in place of leases."""

    held: list[Held]
    next_due: float | None
    all: bool
    suspects: bool
    contended: bool = False
    bound: bool = False


@dataclass(slots=True)
class Take(Call):
    """The call. `hopeful`: it is likely to find something, so that it is not worth a look beforehand."""

    session: SessionId
    wants: Sequence[Want]
    limit: int
    hopeful: bool = False

    sync: ClassVar[Sync] = Sync.NEVER

    def finish(self, raw: Taken) -> Haul:
        """Rows as leases."""
        batch = Batch([_lease(row) for row in raw.held], raw.next_due, raw.suspects, raw.bound)
        return Haul(batch, raw.all, raw.contended)


def _lease(row: Held) -> Lease:
    return Lease(
        id=to_id(row.id),
        starts=row.starts,
        task=row.task,
        queue=row.queue,
        body=to_bytes(row.text, row.hex) or b"",
        codec=row.codec,
        tally=tally_of(row),
        priority=row.priority,
        created=row.created / 1000,
        deadline=seconds_or_none(row.deadline),
        extras=read_extras(row.extras),
        checkpoint=None if row.checkpoint is None else bytes.fromhex(row.checkpoint),
        asked=row.asked or "",
        group=None if row.family is None else ref_of(row.family, row.group_key),
    )


def released(lease: Lease, failure: Failure) -> Settlement:
    """The end of a lease of which nobody has heard."""
    end = after_release(lease.tally, failure)
    return Settlement(lease.id, lease.starts, end.outcome, end.state, failure=end.failure)
