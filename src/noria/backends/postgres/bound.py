"""Leasing where some jobs have groups or needs: what of them is free, locked as far as nobody else holds it.

A lease waits for nobody. It locks the groups of which it counts how many jobs start, and the resources of which it
takes tokens; jobs of those that others have locked just then it leaves, and looks again soon.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from noria.backends.postgres import transaction as postgres
from noria.backends.sql import lease
from noria.backends.sql.bound import Apart, Choice, Entries, Front
from noria.backends.sql.choice import Line
from noria.backends.sql.groups import Key, rules_of
from noria.backends.sql.rows import Held, decode, encode
from noria.backends.sql.settings import LEASE_BYTES
from noria.backends.sql.tokens import names, tokens_of
from noria.ids import SessionId


@dataclass(slots=True)
class Fronts:
    """The bound jobs at the front of their lines.

    Attributes:
        fronts: those that stand in lines, by what they need.
        apart: those that were parked, or have crashed their process.
        contended: others held some of what could be had.
    """

    fronts: list[Front]
    apart: list[Apart]
    contended: bool

    @staticmethod
    def of(
        work: postgres.Transaction, call: lease.Take, resting: Collection[int], *, bound: bool, apart: bool
    ) -> Fronts:
        """Look at them, but not at those of places that rest, and keep what nobody else holds."""
        wants = encode([(want.queue, want.lane) for want in call.wants])
        found: list[Any] = []
        beside: list[Apart] = []
        if bound:
            row = work.row("lease_bound", wants, call.limit, work.now)
            found = [front for front in decode(row[0], list[_Front]) if front[0] not in resting]
        if apart:
            row = work.row("lease_apart", wants, call.session, call.limit, work.now)
            beside = [job for job in decode(row[0], list[Apart]) if job.place not in resting]
        missed = any(not free for *_, free in found)
        fronts = Fronts([(place, gate, jobs) for place, gate, jobs, _ in found], beside, missed)
        if any(want.now for want in call.wants):
            # Without a free slot none of them is taken.
            fronts.leave_groups(_claim_groups(work, fronts))
            fronts.leave_resources(_claim_resources(work, fronts))
        return fronts

    @property
    def suspicious(self) -> bool:
        """Whether some have crashed their process."""
        return any(job.suspect for job in self.apart)

    @property
    def keys(self) -> set[Key]:
        """The groups of all of them."""
        pairs = [(family, key) for _, _, jobs in self.fronts for _, _, family, key in jobs]
        pairs += [(job.family, job.key) for job in self.apart]
        return {(family, key) for family, key in pairs if family is not None and key is not None}

    @property
    def needed(self) -> set[str]:
        """The resources that they need."""
        gates = {gate for _, gate, _ in self.fronts} | {job.gate for job in self.apart}
        return {name for gate in gates for name in names(gate)}

    def leave_groups(self, busy: Collection[Key]) -> None:
        if busy:
            self.contended = True
            self.fronts = [
                (place, gate, [job for job in jobs if job[2:] not in busy])
                for place, gate, jobs in self.fronts
            ]
            self.apart = [job for job in self.apart if (job.family, job.key) not in busy]

    def leave_resources(self, busy: Collection[str]) -> None:
        if busy:
            self.contended = True
            self.fronts = [front for front in self.fronts if not set(names(front[1])) & set(busy)]
            self.apart = [job for job in self.apart if not set(names(job.gate)) & set(busy)]


_Front = tuple[int, str, list[tuple[int, str, str | None, str | None]], int]
"""A row of `lease_bound.sql`: a front, and how many of it were free."""


def choose_bound(
    work: postgres.Transaction,
    call: lease.Take,
    lines: Sequence[Line],
    fronts: Fronts,
    rooms: dict[str, int],
    limit: int,
    before: Choice | None,
) -> Choice:
    """Choose among free and bound jobs. `before`: what the lease took already; `rooms` go down by it."""
    entries = Entries.of(lines, fronts.fronts, fronts.apart)
    # Read once the resources are claimed: what others took of them before is in it.
    choice = Choice(limit, tokens_of(work, entries.gates), rooms)
    return choice.choose(call.wants, entries, before)


def take_bound(work: postgres.Transaction, session: SessionId, ids: Sequence[str]) -> list[Held]:
    """Hand jobs to a session, as far as nobody else has locked them."""
    if not ids:
        return []
    return decode(work.row("lease_take_bound", encode(ids), session, work.now, LEASE_BYTES)[0], list[Held])


def _claim_groups(work: postgres.Transaction, fronts: Fronts) -> set[Key]:
    """Lock the groups of which it counts how many jobs start; says which of them others have locked."""
    keys = fronts.keys
    if not keys:
        return set()
    rules = rules_of(work, (family for family, _ in keys))
    counted = sorted(key for key in keys if key[0] in rules and rules[key[0]].tracks(key[1]))
    return set(decode(work.row("groups_claim", encode(counted))[0], list[Key])) if counted else set()


def _claim_resources(work: postgres.Transaction, fronts: Fronts) -> set[str]:
    """Lock resources; says which of them others have locked."""
    needed = fronts.needed
    if not needed:
        return set()
    return set(decode(work.row("resources_claim", encode(sorted(needed)))[0], list[str]))
