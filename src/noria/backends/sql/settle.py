"""Settling: check the fences, decide, write, in as many statements for a thousand ends as for one.

Starts that succeeded take a short way of their own: they are the most, and nothing about them has to be decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from noria.backends.contract import Verdict
from noria.backends.ends import asking, storable
from noria.backends.sql import follow, groups
from noria.backends.sql.bounds import Bounds
from noria.backends.sql.call import Call
from noria.backends.sql.rows import ENDED, HELD, Fenced, Running, decode, encode
from noria.backends.sql.settings import Settings
from noria.backends.sql.transaction import DEAD, Transaction
from noria.backends.sql.verdicts import respecting_cancel, row_after
from noria.ids import SessionId, to_text
from noria.model.flow import Word
from noria.model.groups import Closed
from noria.model.limits import MAX_LOG
from noria.model.outcome import End, Outcome
from noria.model.settlement import Settlement
from noria.model.state import State

ENDS: Final[dict[State, Word]] = {
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
    State.EXPIRED: "expired",
    State.RETRYING: "retried",
}
"""What is counted when a job comes to these states; success has its own way."""

Item = tuple[int, Settlement]
"""An end, and its place in the call."""


@dataclass(slots=True)
class Settle(Call):
    """The call."""

    session: SessionId
    ends: Sequence[Settlement]
    _done: list[Item] = field(default_factory=list)
    _rest: list[Item] = field(default_factory=list)
    _follow_ups: follow.FollowUps | None = None

    def prepare(self, settings: Settings, now: int) -> None:
        """Tell the successes from the others; each keeps its place in the call."""
        self._done, self._rest = [], []
        following = asking(self.ends)
        self._follow_ups = follow.FollowUps(following, now, settings) if following else None
        flaws: dict[int, str] = self._follow_ups.flaws if self._follow_ups else {}
        for index, end in enumerate(self.ends):
            fit = storable(end, settings.max_body, flaws.get(index) if flaws else None)
            if end.follow_ups and fit.state is not State.SUCCEEDED:
                flaws.setdefault(index, "it did not succeed")
            (self._done if fit.state is State.SUCCEEDED else self._rest).append((index, fit))

    @property
    def follows(self) -> bool:
        """Whether follow-ups are stored with it."""
        return self._follow_ups is not None

    def run(self, work: Transaction) -> list[Verdict]:
        """End starts, as `Queue.settle` promises."""
        verdicts = [Verdict.STALE] * len(self.ends)
        if self._done:
            self.settle_done(work, self._done, verdicts)
        if self._rest:
            _settle_rest(work, self.session, self._rest, verdicts)
        if self._follow_ups is not None:
            # After the ends: a follow-up may take over the unique key that its parent has just given up.
            self._follow_ups.store(work, verdicts)
        return verdicts

    def settle_done(self, work: Transaction, items: Sequence[Item], verdicts: list[Verdict]) -> None:
        """Record successes. Each backend has its own way: this is most of what a store does."""
        raise NotImplementedError


def _settle_rest(
    work: Transaction, session: SessionId, items: Sequence[Item], verdicts: list[Verdict]
) -> None:
    """Record every other end."""
    asked = encode([(end.id.hex(), end.starts) for _, end in items])
    alive, worker, bounds, found = work.row("settle_look", asked, session)
    work.know_bounds(bounds)
    rows: list[tuple[Any, ...]] = []
    seen: set[str] = set()
    for (index, end), row in zip(items, decode(found, list[Running]), strict=True):
        if row.fence == HELD and alive and row.id not in seen:
            verdicts[index] = Verdict.OK
            seen.add(row.id)
            rows.append(end_start(work, row, _end(end), session=session, worker=worker, began=end.began))
            close_group(work, row, end)
        elif row.fence == ENDED or row.id in seen:
            verdicts[index] = Verdict.ALREADY
    write_ends(work, session, rows)


def end_start(
    work: Transaction, row: Running, end: End, *, session: int, worker: str, began: float
) -> tuple[Any, ...]:
    """Decide one end, count it and tell of it; returns its row for `write_ends`."""
    end = respecting_cancel(end, row)
    queue, state = row.queue, end.state
    work.moved(queue, State.RUNNING, state)
    if state is State.FAILED:
        work.moved(queue, None, DEAD)
    if state in ENDS:
        work.happened(queue, row.task, ENDS[state])
    if end.outcome is Outcome.CRASHED:
        work.happened(queue, row.task, "crashed")
    if row.gate is not None:
        end_bound(work, row, end)
    if state.final:
        work.ended(row.id, row.reply, state, row.awaited)
    elif state is not State.PARKED and end.delay <= work.settings.poll:
        work.has_work(queue)
    bounds = Bounds(queue) if state.final else work.bounds_of(queue)
    return row_after(
        end, row, bounds, now=work.now, settings=work.settings, session=session, worker=worker, began=began
    )


def end_bound(work: Transaction, row: Running, end: End) -> None:
    """Give up, or keep, the place and the tokens of a job whose start ends."""
    work.groups.free(row.gate or "")
    if row.family is None or row.group_key is None or end.state is State.PARKED:
        return
    if end.state in (State.RETRYING, State.SCHEDULED):
        rule = groups.rules_of(work, [row.family]).get(row.family)
        spent = row.spent + (end.outcome in (Outcome.FAILED, Outcome.TIMED_OUT))
        if rule is not None and rule.holds(spent):
            return
    work.groups.leave(row.family, row.group_key)
    if not end.state.final:
        work.groups.stand_back(row.id)
    if end.state is State.QUEUED:
        work.moved(row.queue, State.QUEUED, State.WAITING)


def close_group(work: Transaction, row: Running | Fenced, end: Settlement) -> None:
    """Close the group of a job, if its end asks for that."""
    if end.close and row.family is not None and row.group_key is not None:
        why = f"by job {to_text(end.id)}"
        work.groups.close(row.family, row.group_key, Closed(end.close, by=why))


def write_ends(work: Transaction, session: int, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write ends that `end_start` decided, of starts that `session` holds."""
    if rows:
        work.run("settle", encode(rows), session, MAX_LOG)


def _end(end: Settlement) -> End:
    return End(end.outcome, end.state, end.delay, end.failure)
