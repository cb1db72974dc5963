"""Workers' lives: begun, renewed, suspected, ended once, and their jobs given back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from noria.backends.contract import Cancellation, Ended, Evidence, Fence, Orders, Overdue, Vitals, WorkerCard
from noria.backends.sql.call import Call, Sync
from noria.backends.sql.rows import Running, decode, encode, tally_of, to_id
from noria.backends.sql.settle import end_start, write_ends
from noria.backends.sql.transaction import Transaction
from noria.backends.stories import story
from noria.backends.units import millis
from noria.errors import InvalidInput
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.outcome import Failure, after_crash, after_release

_NONE = "[]"


_UNHEARD: Final = "its lease was cut off before the worker heard of it"
_NOT_BEGUN: Final = "its worker's process ended before it had begun"


@dataclass(slots=True)
class Open(Call):
    """The call."""

    session: SessionId
    card: WorkerCard

    sync: ClassVar[Sync] = Sync.NEVER

    def run(self, work: Transaction) -> SessionId:
        """Begin a session."""
        card = self.card
        try:
            texts = (card.worker, encode(card.tasks), encode(card))
        except ValueError as error:
            raise InvalidInput(f"the worker {card.worker!a:.80} cannot be described: {error}") from error
        work.run("session_open", self.session, *texts, millis(card.ttl), work.now)
        return self.session


@dataclass(slots=True)
class Renew(Call):
    """The call."""

    session: SessionId
    vitals: Vitals

    sync: ClassVar[Sync] = Sync.NEVER

    def run(self, work: Transaction) -> Orders:
        """Move the deadline, unless the session has ended."""
        if not work.changes("session_renew", self.session, work.now, encode(self.vitals)):
            return Orders(lost=True)
        command, cancels = work.row("session_orders", self.session)
        asked = decode(cancels, list[tuple[str, int, str]])
        return Orders(
            cancels=tuple(Cancellation(Fence(to_id(id), starts), note) for id, starts, note in asked),
            command=command,
        )


@dataclass(slots=True)
class ListOverdue(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[Overdue]:
        """Which sessions look dead."""
        found = decode(work.row("session_overdue", work.now)[0], list[tuple[SessionId, int, str]])
        return [Overdue(session, beat, worker) for session, beat, worker in found]


@dataclass(slots=True)
class End(Call):
    """The call."""

    session: SessionId
    if_beat: int | None
    started: Collection[Fence] | None
    evidence: Evidence | None

    def run(self, work: Transaction) -> Ended:
        """End the session, and give back its first jobs in the same step."""
        started = None if self.started is None else _fences(self.started)
        evidence = None if self.evidence is None else encode(self.evidence)
        first = work.changes(
            "session_end", self.session, self.if_beat, work.now, started, evidence, started or _NONE
        )
        if first:
            give_back(work, self.session, MAX_BATCH)
        row = work.row_or_none("session_read", self.session)
        if row is None or not row[0]:
            return Ended(ended=False)
        return Ended(ended=True, first=bool(first), crashed=row[1], released=row[2])


@dataclass(slots=True)
class Recall(Call):
    """The call."""

    session: SessionId
    known: Collection[Fence]
    why: str = _UNHEARD

    def run(self, work: Transaction) -> list[Fence]:
        """Give back what the session holds beside what is known, and say which starts those are."""
        row = work.row_or_none("recall_look", self.session)
        if row is None or row[0]:
            return []
        given_back: list[Fence] = []
        while held := _held(work, self.session, _fences(self.known), MAX_BATCH):
            write_ends(work, self.session, [self._release(work, job, row[1]) for job in held])
            given_back += [Fence(to_id(job.id), job.starts) for job in held]
        return given_back

    def _release(self, work: Transaction, job: Running, worker: str) -> tuple[Any, ...]:
        failure = Failure.of("released", self.why)
        end = after_release(tally_of(job), failure)
        return end_start(work, job, end, session=-self.session, worker=worker, began=0.0)


def give_back(work: Transaction, session: SessionId, limit: int) -> int:
    """Return jobs of an ended session to their queues, or fail them; says how many."""
    row = work.row_or_none("session_read", session)
    assert row is not None, "a session that is returning jobs is never forgotten"
    _, _, _, started, evidence, worker = row
    begun = None if started is None else {(id.lower(), n) for id, n in decode(started, list[tuple[str, int]])}
    held = _held(work, session, _NONE, limit)
    crash = Failure.of("crash", story(None if evidence is None else decode(evidence, Evidence)))
    release = Failure.of("released", _NOT_BEGUN)
    rows = []
    for job in held:
        crashed = begun is None or (job.id, job.starts) in begun
        end = after_crash(tally_of(job), crash) if crashed else after_release(tally_of(job), release)
        began = (job.began or 0) / 1000 if crashed else 0.0
        rows.append(end_start(work, job, end, session=-session, worker=worker, began=began))
    write_ends(work, session, rows)
    if len(held) < limit:
        work.run("session_returned", session)
    return len(held)


def _held(work: Transaction, session: SessionId, known: str, limit: int) -> list[Running]:
    return decode(work.row("held_pick", session, known, limit)[0], list[Running])


def _fences(fences: Iterable[Fence]) -> str:
    return encode([(fence.id.hex(), fence.starts) for fence in fences])
