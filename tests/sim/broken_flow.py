"""Jobs that follow others with one rule removed; `BROKEN` is the list of all broken builds, these among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from noria.backends.contract import Verdict
from noria.backends.sql import heirs
from noria.backends.sql.follow import FollowUps as Stored
from noria.backends.sql.rows import Waiter, decode
from noria.ids import Id
from noria.model.after import refused
from noria.model.job import Lease, NewJob
from noria.testing.simulation import SOUND, Build
from noria.worker import feeding
from noria.worker.follow import FollowUps
from tests.sim.broken import Patch, without
from tests.sim.broken_timers import BROKEN as BROKEN

PARENTS: dict[str, Any] = {"offspring": 1.0, "jobs": 20}
"""Every job asks for follow-ups."""
WORKFLOWS: dict[str, Any] = {"flows": 8, "jobs": 4}
"""Many jobs wait for others."""


@without("an attempt asks for its own follow-ups", "C1", **PARENTS)
def _remembers_those_of_failed_attempts(patch: Patch) -> Build:
    memory: defaultdict[Id, list[NewJob]] = defaultdict(list)
    begin = FollowUps.__init__

    def remember(self: FollowUps, lease: Lease) -> None:
        begin(self, lease)
        self._jobs = memory[lease.id]

    patch.setattr(FollowUps, "__init__", remember)
    return SOUND


@without("a success brings all of its follow-ups", "C1", **PARENTS)
def _loses_the_last(patch: Patch) -> Build:
    take = FollowUps.take
    patch.setattr(FollowUps, "take", lambda self: take(self)[:-1])
    return SOUND


@without("follow-ups are stored in the step of the outcome", "C1", **PARENTS, kills=4)
def _forgets_follow_ups_of_one_settle_in_three(patch: Patch) -> Build:
    made = Stored.store
    calls: list[None] = []

    def forget(self: Stored, work: Any, verdicts: Sequence[Verdict]) -> None:
        calls.append(None)
        if len(calls) % 3:
            made(self, work, verdicts)

    patch.setattr(Stored, "store", forget)
    return SOUND


@without("those who wait are told of every end", "V1", **WORKFLOWS)
def _passes_nothing_on(patch: Patch) -> Build:
    patch.setattr(heirs, "pass_on", lambda work, limit: work.ended_parents.clear() or 0)
    return SOUND


@without("a job waits for all of those that it waits for", "C2", **WORKFLOWS)
def _waits_for_one(patch: Patch) -> Build:
    def one(text: Any, kind: Any) -> Any:
        found = decode(text, kind)
        if kind == list[Waiter]:
            return [msgspec.structs.replace(each, pending=1) for each in found]
        return found

    patch.setattr(heirs, "decode", one)
    return SOUND


@without("a job does not run whose parent failed", "C2", **WORKFLOWS)
def _forgives(patch: Patch) -> Build:
    patch.setattr(heirs, "refused", lambda *args, **kwargs: None)
    return SOUND


@without("a job runs however its parents end, if that is asked for", "C2", **WORKFLOWS)
def _insists_on_success(patch: Patch) -> Build:
    patch.setattr(
        heirs, "refused", lambda on, bad, pending, spoiled: refused(None, bad, pending, spoiled=spoiled)
    )
    return SOUND


@without("a follow-up ends by the deadline of its parent", "C3", **PARENTS)
def _gives_more_time(patch: Patch) -> Build:
    adopted = FollowUps._adopted
    patch.setattr(
        FollowUps,
        "_adopted",
        lambda self, new: msgspec.structs.replace(adopted(self, new), deadline=new.deadline),
    )
    return SOUND


@without("values come in the order of those that were waited for", "C3", **WORKFLOWS)
def _mixes_values(patch: Patch) -> Build:
    values = feeding._values

    async def mixed(ledger: Any, ids: Sequence[Id]) -> list[bytes]:
        return (await values(ledger, ids))[::-1]

    patch.setattr(feeding, "_values", mixed)
    return SOUND
