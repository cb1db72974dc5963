"""Sweeping: everything that time moves, in bounded portions. Any number of sweepers may run at once."""

from __future__ import annotations

from dataclasses import dataclass

from noria.backends.contract import Swept
from noria.backends.sql import board, flow, groups, heirs, marks
from noria.backends.sql.call import Idle
from noria.backends.sql.passage import expire, give_up, promote
from noria.backends.sql.prune import prune, prune_over
from noria.backends.sql.rows import decode
from noria.backends.sql.sessions import give_back
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis, seconds_until
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH


@dataclass(slots=True)
class Sweep(Idle):
    """The call."""

    limit: int

    def idle(self, work: Transaction) -> Swept | None:
        """The answer, if there is nothing to move."""
        look = _look(work)
        return None if look.any else Swept(next_due=look.seconds_to_due(work.now))

    def run(self, work: Transaction) -> Swept:
        """Move what time has moved, at most `limit` rows of each kind."""
        limit = max(1, min(self.limit, MAX_BATCH))
        look = _look(work)
        if look.untold:
            heirs.pass_on(work, limit)
        swept = (
            (promote(work, decode(look.queues, list[str]), limit) if look.due else 0)
            + (groups.wake(work, limit) if look.groups else 0),
            _return(work, limit) if look.owing else 0,
            expire(work, limit) if look.lapsed else 0,
            give_up(work, limit) if look.parked else 0,
            _prune(work, look, limit),
        )
        work.groups.settle(work)
        after = _look(work)
        return Swept(*swept, more=after.any, next_due=after.seconds_to_due(work.now))


@dataclass(slots=True)
class _Look:
    due: int
    lapsed: int
    parked: int
    owing: int
    old: int
    erased: int
    old_dead: int
    old_sessions: int
    old_docs: int
    old_flow: int
    old_marks: int
    untold: int
    over: int
    next_due: int | None
    queues: str
    groups: int = 0

    @property
    def any(self) -> bool:
        parts = (
            self.due,
            self.lapsed,
            self.parked,
            self.owing,
            self.old,
            self.erased,
            self.old_dead,
            self.old_sessions,
            self.old_docs,
            self.old_flow,
            self.old_marks,
            self.untold,
            self.groups,
        )
        return any(parts) or self.over > 0

    def seconds_to_due(self, now: int) -> float | None:
        return seconds_until(now, self.next_due)


def _look(work: Transaction) -> _Look:
    settings = work.settings
    found = work.row(
        "sweep_look",
        work.now,
        work.now - millis(settings.park_for),
        work.now - millis(settings.keep_dead),
        settings.keep_succeeded_at_most,
        flow.horizon(work.now) - flow.LEEWAY,
    )
    return _Look(*found)


def _return(work: Transaction, limit: int) -> int:
    """Give back jobs of ended sessions, one session after the other."""
    returned = 0
    for session in decode(work.row("sweep_owing")[0], list[SessionId]):
        if returned >= limit:
            break
        returned += give_back(work, session, limit - returned)
    return returned


def _prune(work: Transaction, look: _Look, limit: int) -> int:
    pruned = 0
    if look.over:
        pruned += prune_over(work, look.over, limit)
    elif look.old:
        pruned += prune(work, before=work.now, dead=False, limit=limit)
    if look.old_dead and pruned < limit:
        pruned += prune(work, before=work.now, dead=True, limit=limit - pruned)
    if look.erased:
        work.run("erased_drop", work.now, limit)
    if look.old_docs:
        board.drop_expired(work, limit)
    if look.old_flow:
        flow.drop_old(work, limit)
    if look.old_marks:
        marks.drop_stray(work, limit)
    if look.old_sessions:
        work.run("session_forget", work.now - millis(work.settings.keep_dead))
    return pruned
