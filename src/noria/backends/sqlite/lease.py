"""Leasing: look, let time move what it must, choose, take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from noria.backends.contract import Batch, Want
from noria.backends.sqlite import blobs
from noria.backends.sqlite.call import Idle
from noria.backends.sqlite.choice import Line, choose
from noria.backends.sqlite.passage import expire, promote
from noria.backends.sqlite.rows import Held, decode, encode, read_extras, tally_of, to_bytes, to_id
from noria.backends.sqlite.settings import LEASE_BYTES
from noria.backends.sqlite.transaction import Transaction
from noria.backends.sqlite.units import seconds_or_none
from noria.ids import SessionId
from noria.model.job import Lease
from noria.model.limits import MAX_BATCH
from noria.model.state import State

Taken = tuple[list[Held], float | None]
"""Rows that the session holds now, and the seconds until the next job is due."""


@dataclass(slots=True)
class Take(Idle):
    """The call."""

    session: SessionId
    wants: Sequence[Want]
    limit: int

    durable: ClassVar[bool] = False

    def idle(self, work: Transaction) -> Batch | None:
        """The answer, if it can be given without writing anything."""
        look = _look(work, self, 1)
        return None if look.alive and (look.moving or look.any) else Batch([], look.seconds_to_due(work.now))

    def run(self, work: Transaction) -> Taken:
        """Take jobs, as `Queue.lease` promises, without waiting for any."""
        look = _look(work, self, self.limit)
        if look.alive and look.moving:
            promote(work, sorted({want.queue for want in self.wants}), MAX_BATCH)
            expire(work, MAX_BATCH)
            look = _look(work, self, self.limit)
        chosen = choose(self.wants, look.lines, self.limit) if look.alive else []
        return _take(work, self.session, chosen) if chosen else [], look.seconds_to_due(work.now)

    def finish(self, raw: Taken) -> Batch:
        """Rows as leases."""
        held, next_due = raw
        return Batch([_lease(row) for row in held], next_due)


@dataclass(slots=True)
class _Look:
    alive: bool
    moving: bool
    next_due: int | None
    lines: list[Line]

    @property
    def any(self) -> bool:
        return any(line.parked or line.ready or line.suspects for line in self.lines)

    def seconds_to_due(self, now: int) -> float | None:
        return seconds_or_none(None if self.next_due is None else max(0, self.next_due - now))


def _look(work: Transaction, call: Take, candidates: int) -> _Look:
    wants = encode([(want.queue, want.lane) for want in call.wants])
    alive, moving, next_due, lines = work.row("lease_look", wants, call.session, work.now, candidates)
    return _Look(bool(alive), bool(moving), next_due, decode(lines, list[Line]))


def _take(work: Transaction, session: SessionId, ids: Sequence[str]) -> list[Held]:
    # Some may be left out because their time is over; a sweep will end them.
    held = _load(work, decode(work.row("lease_read", encode(ids), work.now)[0], list[Held]))
    taken = encode(ids if len(held) == len(ids) else [row.id for row in held])
    work.run("lease_take", taken, session, work.now)
    for (queue, state), n in Counter([(row.queue, row.state) for row in held]).items():
        work.moved(queue, state, State.RUNNING, n)
    return held


def _load(work: Transaction, held: list[Held]) -> list[Held]:
    """Read the large bodies; what is too much for one lease is left for the next one."""
    large = [place for place, row in enumerate(held) if row.key is not None]
    if not large:
        return held
    fit = blobs.fitting(work, [held[place].key for place in large], LEASE_BYTES)
    if fit < len(large):
        held = held[: large[fit]]
    bodies = blobs.read(work, [held[place].key for place in large[:fit]])
    for place, (text, hex) in zip(large[:fit], bodies, strict=True):
        held[place].text, held[place].hex = text, hex
    return held


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
    )
