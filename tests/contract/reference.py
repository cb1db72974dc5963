"""The contract as a table in memory: what a store must hold after the same calls.

It knows no suspects, lanes or batches, and it sweeps after every call, so that nothing is ever on its way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET, structs

from noria.backends.contract import Altered, Change, Fence, Verdict
from noria.ids import Id
from noria.model.claim import Claim
from noria.model.job import NewJob, Receipt, rank
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import EDITABLE, LIVE, State, can

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
    retried: Change | None = None
    attempts: int = 0
    finished: float = 0.0
    expires: float | None = None
    deadline: float | None = None
    created: float = 0.0
    given_up: bool = False

    def holds(self, now: float) -> bool:
        """Whether it has its key."""
        claim = self.job.claim or Claim()
        if self.given_up or claim.within is not None:
            return not self.given_up and now < self.created + (claim.within or 0.0)
        return self.state in LIVE and self.regains

    @property
    def regains(self) -> bool:
        """Whether a retry would have it take its key again."""
        claim = self.job.claim or Claim()
        return claim.within is None and not (claim.until_start and self.starts)

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
        self.added: dict[Id, Receipt] = {}
        self.sessions: dict[int, tuple[str, ...]] = {}
        self.ended: set[int] = set()
        self.flow: Counter[tuple[str, str, str]] = Counter()

    # -- calls

    def push(self, job: NewJob) -> Receipt:
        if job.id in self.rows or job.id in self.erased:
            return Receipt("existing", job.id, "id")
        if job.id in self.added:
            return self.added[job.id]
        holder = self._holder(job.task, job.unique)
        receipt = Receipt("created", job.id) if holder is None else self._meet(job, holder)
        if receipt.status in ("created", "replaced"):
            due = self.now + job.delay
            state = State.SCHEDULED if job.delay > 0 else State.QUEUED
            row = Row(job, state, due, rank(due, job.priority), expires=job.expires, deadline=job.deadline)
            row.attempts, row.created = job.attempts, self.now
            self.rows[job.id] = row
            self._happened(row, "arrived")
        self._sweep()
        return receipt

    def _meet(self, job: NewJob, holder: Row) -> Receipt:
        how = "existing" if job.claim is None else job.claim.on_conflict
        if how == "replace" and holder.state in EDITABLE:
            self._move_to(holder, State.CANCELLED)
            holder.given_up, holder.retried = (
                holder.job.claim is not None and holder.job.claim.within is not None,
                None,
            )
            return Receipt("replaced", job.id, holder.job.id.hex())
        if how == "keep_last" and holder.state in EDITABLE and not holder.starts:
            assert job.claim is not None
            due = min(self.now + job.delay, holder.created + (job.claim.at_most or DAY))
            if due > self.now or holder.due > self.now:
                holder.state = State.SCHEDULED if due > self.now else State.QUEUED
                self._place(holder, due)
            holder.expires, holder.deadline = job.expires, job.deadline
            self.added[job.id] = Receipt("updated", holder.job.id, "unique")
            return self.added[job.id]
        return Receipt("existing", holder.job.id, "unique")

    def lease(self, session: int, queue: str, limit: int) -> list[Fence]:
        if session in self.ended:
            return []
        tasks = self.sessions[session]
        mine = [row for row in self.rows.values() if row.job.queue == queue]
        parked = [row for row in mine if row.state is State.PARKED and row.job.task in tasks]
        ready = [row for row in mine if row.state is State.QUEUED]
        chosen = [*sorted(parked, key=_turn), *sorted(ready, key=_turn)][:limit]
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

    def alter(self, id: Id, change: Change) -> Altered:
        row = self.rows.get(id)
        if row is None:
            return Altered("done" if change.kind == "erase" and id in self.erased else "missing")
        told = getattr(self, f"_{change.kind}")(row, change)
        self._sweep()
        return Altered(told, None if change.kind == "erase" and told == "done" else row.state)

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

    def _cancel(self, row: Row, change: Change) -> Status:
        if row.state is State.RUNNING:
            row.cancelling, row.retried = True, None
            return "asked"
        if row.state is State.CANCELLED:
            return "done"
        if not can(row.state, "cancel"):
            return "refused"
        row.retried = None
        self._move_to(row, State.CANCELLED)
        return "done"

    def _retry(self, row: Row, change: Change) -> Status:
        untouched = row.spent + row.crashes + row.releases + row.snoozes == 0
        if row.state in (State.QUEUED, State.SCHEDULED) and row.retried == change and untouched:
            return "done"
        if not can(row.state, "operator retry"):
            return "refused"
        if row.regains and self._holder(row.job.task, row.job.unique) is not None:
            return "conflict"
        row.spent = row.crashes = row.releases = row.snoozes = 0
        row.expires = row.deadline = None
        row.attempts = change.attempts or row.attempts
        row.dead = False
        self._place(row, self.now + change.delay)
        self._move_to(row, State.SCHEDULED if change.delay else State.QUEUED)
        row.retried = change
        return "done"

    def _discard(self, row: Row, change: Change) -> Status:
        if row.state is not State.FAILED:
            return "refused"
        row.dead, row.retried = False, None
        return "done"

    def _erase(self, row: Row, change: Change) -> Status:
        if row.state in LIVE:
            return "refused"
        self.erased[row.job.id] = (row.ended_by, row.starts)
        del self.rows[row.job.id]
        return "done"

    def _run(self, row: Row, change: Change) -> Status:
        if row.state in (State.QUEUED, State.RUNNING):
            return "done"
        if row.state not in (State.SCHEDULED, State.RETRYING):
            return "refused"
        row.state, row.retried = State.QUEUED, None
        self._place(row, self.now)
        return "done"

    def _edit(self, row: Row, change: Change) -> Status:
        begun = row.spent + row.crashes + row.snoozes > 0
        if row.state not in EDITABLE or (change.expires is not UNSET and begun):
            return "refused"
        if change.run_at is not UNSET and row.state is State.PARKED:
            return "refused"
        row.retried = None
        if change.priority is not UNSET:
            row.job = structs.replace(row.job, priority=change.priority)
        if change.expires is not UNSET:
            row.expires = change.expires
        if change.run_at is not UNSET:
            if change.run_at <= self.now:
                row.state = State.QUEUED
            elif row.state is State.QUEUED:
                row.state = State.SCHEDULED
            row.due = change.run_at
        self._place(row, row.due)
        return "done"

    def _move(self, row: Row, change: Change) -> Status:
        if row.state not in EDITABLE:
            return "refused"
        if row.job.queue != change.queue:
            row.job, row.retried = structs.replace(row.job, queue=change.queue), None
        return "done"

    def _place(self, row: Row, due: float) -> None:
        row.due, row.rank = due, rank(due, row.job.priority)

    def _end(self, row: Row, outcome: Outcome, state: State, delay: float = 0.0) -> None:
        if row.cancelling and not state.final:
            state = State.CANCELLED
        row.spent += outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
        row.crashes += outcome is Outcome.CRASHED
        if outcome is Outcome.CRASHED:
            self._happened(row, "crashed")
        if state is State.RETRYING:
            self._happened(row, "retried")
        row.releases += outcome is Outcome.RELEASED and state is not State.PARKED
        row.snoozes += outcome is Outcome.SNOOZED
        if state in (State.RETRYING, State.SCHEDULED):
            self._place(row, self.now + delay)
        self._move_to(row, state)
        if state is State.SUCCEEDED and row.job.keep == 0:
            self.erased[row.job.id] = (row.session, row.starts)
            del self.rows[row.job.id]

    def _move_to(self, row: Row, state: State) -> None:
        row.state, row.cancelling = state, False
        if state.final:
            self._happened(row, state.word)
            row.finished = self.now
            row.dead = state is State.FAILED

    def _happened(self, row: Row, word: str) -> None:
        self.flow[row.job.queue, row.job.task, word] += 1

    def _sweep(self) -> None:
        for id, row in list(self.rows.items()):
            if row.state in (State.SCHEDULED, State.RETRYING) and row.due <= self.now:
                row.state = State.QUEUED
            waits = row.state in LIVE and row.state is not State.RUNNING
            if waits and row.lapse is not None and row.lapse <= self.now:
                self._move_to(row, State.EXPIRED)
            if row.state is State.SUCCEEDED and self.now >= row.finished + (row.job.keep or DAY):
                del self.rows[id]

    def _holder(self, task: str, unique: str | None) -> Row | None:
        alike = (row for row in self.rows.values() if (row.job.task, row.job.unique) == (task, unique))
        return None if unique is None else next((row for row in alike if row.holds(self.now)), None)

    def _held(self, session: int) -> Iterator[Row]:
        return (row for row in self.rows.values() if row.state is State.RUNNING and row.session == session)


def _turn(row: Row) -> tuple[int, bytes]:
    return row.rank, row.job.id
