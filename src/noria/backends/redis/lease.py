"""Leasing: one script lets time move what it must, chooses, and takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from noria.backends.bells import Haul
from noria.backends.contract import Batch, Want
from noria.backends.redis import notes, passage
from noria.backends.redis.call import Call, Request, Steps, Word
from noria.backends.redis.cards import read_card
from noria.backends.redis.heads import NEVER, unpack
from noria.backends.redis.settings import LEASE_BYTES, Settings
from noria.backends.redis.ties import group_of
from noria.ids import Id, SessionId
from noria.model.job import Lease
from noria.model.limits import MAX_BATCH


@dataclass(slots=True)
class Take(Call):
    """The call."""

    session: SessionId
    wants: Sequence[Want]
    limit: int
    writes: ClassVar[bool] = True

    def steps(self, settings: Settings) -> Steps:
        """Take jobs, as `Queue.lease` promises, without waiting for any."""
        limit = max(0, min(self.limit, MAX_BATCH))
        words: list[Word] = [self.session, limit, LEASE_BYTES, *passage.words(settings), MAX_BATCH]
        for want in self.wants:
            words += (want.queue, int(want.lane), want.now, want.ahead, int(want.suspect))
        (answer,) = yield [Request("lease", words)]
        due, everything, suspects, bound = answer[:4]
        leases = [_lease(*answer[at : at + 6]) for at in range(4, len(answer), 6)]
        batch = Batch(leases, int(due) / 1000 if due else None, bool(suspects), bool(bound))
        return Haul(batch, bool(everything))


def _lease(id: bytes, packed: bytes, card: Any, body: bytes, left: bytes | None, note: bytes | None) -> Lease:
    head = unpack(packed)
    codec, extras = read_card(card)
    return Lease(
        id=Id(id),
        starts=head.starts,
        task=head.task,
        queue=head.queue,
        body=body,
        codec=codec,
        tally=head.tally,
        priority=head.priority,
        created=head.created / 1000,
        deadline=None if head.deadline == NEVER else head.deadline / 1000,
        extras=extras,
        group=group_of(head.tie),
        checkpoint=left,
        asked="" if note is None else notes.unpack(note).question,
    )
