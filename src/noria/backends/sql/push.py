"""Enqueueing: one statement for the jobs of all calls that came together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import ClassVar, Final

from noria.backends.contract import DocWrite
from noria.backends.sql import board, groups, heirs, tokens
from noria.backends.sql.admission import foresee
from noria.backends.sql.call import Call, Sync
from noria.backends.sql.drafts import DUE, LANE, QUEUE, STATE, TASK, Drafts, Row, families_of, needs_of
from noria.backends.sql.settings import Settings
from noria.backends.sql.taken import contested, hold
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis
from noria.errors import Conflict
from noria.model.job import NewJob, Receipt
from noria.model.state import State


@dataclass(slots=True)
class Push(Call):
    """The call of one producer. Calls that came together are run as one; see `Pushes`."""

    sync: ClassVar[Sync] = Sync.AFTER

    jobs: Sequence[NewJob]
    docs: Sequence[DocWrite] = ()


Replies = list[list[Receipt] | Conflict]
"""For each push its receipts, or why nothing of it was done."""


@dataclass(slots=True)
class Pushes(Call):
    """The calls of all producers that came together."""

    sync: ClassVar[Sync] = Sync.AFTER

    pushes: Sequence[Push]
    _drafts: Drafts | None = None
    _spans: list[slice] = field(default_factory=list)
    _carrying: list[int] = field(default_factory=list)

    def prepare(self, settings: Settings, now: int) -> None:
        """Write the rows."""
        ends = [0, *accumulate(len(push.jobs) for push in self.pushes)]
        self._spans = [slice(*span) for span in pairwise(ends)]
        self._drafts = Drafts([job for push in self.pushes for job in push.jobs], now, settings)
        self._drafts.as_json()
        self._carrying = [index for index, push in enumerate(self.pushes) if push.docs]
        if self._carrying:
            self._keep_whole(self._drafts)

    def run(self, work: Transaction) -> Replies:
        """Store the jobs and documents, as `Queue.push` promises."""
        drafts = self._drafts
        assert drafts is not None, "prepared before"
        if self._carrying and len(self.pushes) > 1 and _delicate(work, drafts):
            return self._apart(work, drafts)
        if drafts.waiting:
            heirs.admit(work, drafts, strict=True)
        whole = bool(self._carrying or drafts.waiting)
        if work.looks_first or whole:
            foresee(work, drafts, whole=whole)
            self._keep_whole(drafts)
        conflicts = self._write_docs(work, drafts) if self._carrying else {}
        store(work, drafts)
        return [conflicts.get(index) or drafts.receipts[span] for index, span in enumerate(self._spans)]

    def _apart(self, work: Transaction, drafts: Drafts) -> Replies:
        """Run those with documents one after the other: what becomes of one may decide about the next."""
        hold(work, drafts)
        if queues := _bounded(work, drafts):
            work.hold_lengths(queues)
        replies: Replies = [[] for _ in self.pushes]
        plain = [index for index, push in enumerate(self.pushes) if not push.docs]
        for members in (*([index] for index in self._carrying), plain):
            part = Pushes([self.pushes[index] for index in members])
            part.prepare(work.settings, work.now)
            for index, reply in zip(members, part.run(work), strict=True):
                replies[index] = reply
        return replies

    def _keep_whole(self, drafts: Drafts) -> None:
        """Of a call with documents, one job that is rejected leaves nothing."""
        broken = [index for index in self._carrying if not self._is_whole(drafts, index)]
        why = "another job of its call was rejected, and they go along with documents"
        self._leave_out(drafts, dict.fromkeys(broken, why))

    def _write_docs(self, work: Transaction, drafts: Drafts) -> dict[int, Conflict]:
        """Write the documents of calls that conflict with nothing; leave out the others, and say why."""
        whole = [index for index in self._carrying if self._is_whole(drafts, index)]
        told = zip(whole, board.admit(work, [self.pushes[index].docs for index in whole]), strict=True)
        conflicts = {index: conflict for index, conflict in told if conflict is not None}
        admitted = [index for index in whole if index not in conflicts]
        board.put(work, [doc for index in admitted for doc in self.pushes[index].docs])
        self._leave_out(drafts, {index: str(conflict) for index, conflict in conflicts.items()})
        return conflicts

    def _is_whole(self, drafts: Drafts, index: int) -> bool:
        return all(receipt.status != "rejected" for receipt in drafts.receipts[self._spans[index]])

    def _leave_out(self, drafts: Drafts, why: Mapping[int, str]) -> None:
        """Store no job of these calls."""
        if why:
            drafts.pending = None  # what was decided about is a call of its own
        for index, reason in why.items():
            for place in range(self._spans[index].start, self._spans[index].stop):
                if drafts.receipts[place].status != "rejected":
                    text = f"it cannot be stored: {reason}"
                    drafts.drop(place, Receipt("rejected", drafts.jobs[place].id, text))


def _delicate(work: Transaction, drafts: Drafts) -> bool:
    """Whether some of these may be refused, or change other jobs, only because of what becomes of others."""
    return bool(contested(drafts) or _bounded(work, drafts))


def _bounded(work: Transaction, drafts: Drafts) -> list[str]:
    """The queues of bounded length that these are for."""
    lengths = {queue for queue, bounds in work.bounds.items() if bounds.max_length is not None}
    return sorted(lengths & {job.queue for job in drafts.jobs}) if lengths else []


# ---- what follows

_WAITING: Final = int(State.WAITING)


def store(work: Transaction, drafts: Drafts) -> None:
    """Insert the drafts that are left, with all that follows for others."""
    work.insert(drafts)
    if drafts.waiting:
        heirs.enter(work, drafts)
    _enter(work, drafts)
    _announce(work, drafts.stored())


def _enter(work: Transaction, drafts: Drafts) -> None:
    """Note what stored jobs say of families and resources, and that some came in line."""
    bound = drafts.stored_bound() if drafts.bound else ()
    if bound:
        tokens.supply(work, needs_of(bound))
        groups.declare(work, families_of(bound))
    for job in bound:
        if job.group is not None:
            work.groups.come(job.group.ref.family, job.group.ref.key)


def _announce(work: Transaction, rows: Sequence[Row]) -> None:
    """Count the new jobs, and wake whoever waits for them.

    Whoever waits looks again after a poll anyway, so that a job that is due later needs no hint. One that comes in line
    is told of when it gets a place.
    """
    for (state, queue, task), n in Counter([row[STATE : TASK + 1] for row in rows]).items():
        work.moved(queue, None, state, n)
        work.happened(queue, task, "arrived", n)
    soon = work.now + millis(work.settings.poll)
    for queue, lane in {
        (row[QUEUE], row[LANE]) for row in rows if row[DUE] <= soon and row[STATE] != _WAITING
    }:
        work.has_work(queue, lane)
