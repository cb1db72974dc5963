"""The contract as a table in memory: what a store must hold after the same calls.

It knows no suspects, lanes or batches, and it sweeps after every call, so that nothing is ever on its way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from noria.backends.contract import Altered, Fence, Verdict
from noria.ids import Id
from noria.model.job import NewJob, Receipt, rank
from noria.model.outcome import Outcome, Settlement
from noria.model.state import LIVE, State, can

DAY = 86_400.0
Status = Literal["done", "asked", "refused", "conflict"]


@dataclass
class Row:
    """A job as the table has it."""

    job: NewJob
    state: State
    due: float
    rank: int
    spent: int = 0
    crashes: int = 0
    releases: int = 0
    snoozes: int = 0
    starts: int = 0
    session: int = 0
    ended_by: int = 0
    cancelling: bool = False
    dead: bool = False
    retried: bool = False
    finished: float = 0.0
    expires: float | None = None
    deadline: float | None = None

    @property
    def lapse(self) -> float | None:
        """When it ends unless it runs: once it has begun, only its deadline can end it."""
        begun = self.spent + self.crashes + self.snoozes > 0
        bounds = [self.deadline] if begun else [self.deadline, self.expires]
        return min((bound for bound in bounds if bound is not None), default=None)


class Reference:
    """The table, and the calls that change it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.rows: dict[Id, Row] = {}
        self.erased: dict[Id, tuple[int, int]] = {}
        self.sessions: dict[int, tuple[str, ...]] = {}
        self.ended: set[int] = set()

    # -- calls

    def push(self, job: NewJob) -> Receipt:
        if job.id in self.rows or job.id in self.erased:
            return Receipt("existing", job.id, "id")
        holder = self._holder(job.task, job.unique)
        if holder is not None:
            return Receipt("existing", holder.job.id, "unique")
        due = self.now + job.delay
        state = State.SCHEDULED if job.delay > 0 else State.QUEUED
        row = Row(job, state, due, rank(due, job.priority), expires=job.expires, deadline=job.deadline)
        self.rows[job.id] = row
        self._sweep()
        return Receipt("created", job.id)

    def lease(self, session: int, queue: str, limit: int) -> list[Fence]:
        if session in self.ended:
            return []
        tasks = self.sessions[session]
        mine = [row for row in self.rows.values() if row.job.queue == queue]
        parked = [row for row in mine if row.state is State.PARKED and row.job.task in tasks]
        ready = [row for row in mine if row.state is State.QUEUED]
        chosen = [*sorted(parked, key=_place), *sorted(ready, key=_place)][:limit]
        for row in chosen:
            row.state, row.session, row.starts = State.RUNNING, session, row.starts + 1
        return [Fence(row.job.id, row.starts) for row in chosen]

    def settle(self, session: int, end: Settlement) -> Verdict:
        row = self.rows.get(end.id)
        if row is None:
            known = self.erased.get(end.id) == (session, end.starts)
            return Verdict.ALREADY if known else Verdict.STALE
        if row.starts == end.starts and row.ended_by == session and row.state is not State.RUNNING:
            return Verdict.ALREADY
        held = row.state is State.RUNNING and (row.session, row.starts) == (session, end.starts)
        if not held or session in self.ended:
            return Verdict.STALE
        row.ended_by = session
        self._end(row, end.outcome, end.state, end.delay)
        self._sweep()
        return Verdict.OK

    def end(self, session: int, started: Collection[Fence] | None) -> tuple[int, int]:
        """Crashed and released."""
        self.ended.add(session)
        crashed = released = 0
        for row in list(self._held(session)):
            row.ended_by = 0
            if started is None or Fence(row.job.id, row.starts) in started:
                crashed += 1
                over = row.crashes + 1 >= row.job.crash_budget
                self._end(row, Outcome.CRASHED, State.FAILED if over else State.QUEUED)
            else:
                released += 1
                self._end(row, Outcome.RELEASED, State.QUEUED)
        self._sweep()
        return crashed, released

    def recall(self, session: int, known: Collection[Fence]) -> int:
        if session in self.ended:
            return 0
        rows = [row for row in self._held(session) if Fence(row.job.id, row.starts) not in known]
        for row in rows:
            row.ended_by = 0
            self._end(row, Outcome.RELEASED, State.QUEUED)
        self._sweep()
        return len(rows)

    def alter(self, id: Id, kind: str) -> Altered:
        row = self.rows.get(id)
        if row is None:
            return Altered("missing")
        told = {"cancel": self._cancel, "retry": self._retry, "discard": self._discard}[kind](row)
        self._sweep()
        return Altered(told, row.state)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self._sweep()

    # -- what it shows

    def counts(self) -> dict[str, Counter[State]]:
        numbers: dict[str, Counter[State]] = {}
        for row in self.rows.values():
            numbers.setdefault(row.job.queue, Counter())[row.state] += 1
        return numbers

    def cancels(self, session: int) -> set[Fence]:
        return {Fence(row.job.id, row.starts) for row in self._held(session) if row.cancelling}

    # -- how it changes

    def _cancel(self, row: Row) -> Status:
        if row.state is State.RUNNING:
            row.cancelling, row.retried = True, False
            return "asked"
        if row.state is State.CANCELLED:
            return "done"
        if not can(row.state, "cancel"):
            return "refused"
        row.retried = False
        self._move(row, State.CANCELLED)
        return "done"

    def _retry(self, row: Row) -> Status:
        untouched = row.spent + row.crashes + row.releases + row.snoozes == 0
        if row.state is State.QUEUED and row.retried and untouched:
            return "done"
        if not can(row.state, "operator retry"):
            return "refused"
        if self._holder(row.job.task, row.job.unique) is not None:
            return "conflict"
        row.spent = row.crashes = row.releases = row.snoozes = 0
        row.expires = row.deadline = None
        row.dead, row.due, row.rank = False, self.now, rank(self.now, row.job.priority)
        self._move(row, State.QUEUED)
        row.retried = True
        return "done"

    def _discard(self, row: Row) -> Status:
        if row.state is not State.FAILED:
            return "refused"
        row.dead = row.retried = False
        return "done"

    def _end(self, row: Row, outcome: Outcome, state: State, delay: float = 0.0) -> None:
        if row.cancelling and not state.final:
            state = State.CANCELLED
        row.spent += outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
        row.crashes += outcome is Outcome.CRASHED
        row.releases += outcome is Outcome.RELEASED and state is not State.PARKED
        row.snoozes += outcome is Outcome.SNOOZED
        if state in (State.RETRYING, State.SCHEDULED):
            row.due = self.now + delay
            row.rank = rank(row.due, row.job.priority)
        self._move(row, state)
        if state is State.SUCCEEDED and row.job.keep == 0:
            self.erased[row.job.id] = (row.session, row.starts)
            del self.rows[row.job.id]

    def _move(self, row: Row, state: State) -> None:
        row.state, row.cancelling = state, False
        if state.final:
            row.finished = self.now
            row.dead = state is State.FAILED

    def _sweep(self) -> None:
        for id, row in list(self.rows.items()):
            if row.state in (State.SCHEDULED, State.RETRYING) and row.due <= self.now:
                row.state = State.QUEUED
            waits = row.state in LIVE and row.state is not State.RUNNING
            if waits and row.lapse is not None and row.lapse <= self.now:
                self._move(row, State.EXPIRED)
            if row.state is State.SUCCEEDED and self.now >= row.finished + (row.job.keep or DAY):
                del self.rows[id]

    def _holder(self, task: str, unique: str | None) -> Row | None:
        alike = (row for row in self.rows.values() if (row.job.task, row.job.unique) == (task, unique))
        return None if unique is None else next((row for row in alike if row.state in LIVE), None)

    def _held(self, session: int) -> Iterator[Row]:
        return (row for row in self.rows.values() if row.state is State.RUNNING and row.session == session)


def _place(row: Row) -> tuple[int, bytes]:
    return row.rank, row.job.id
