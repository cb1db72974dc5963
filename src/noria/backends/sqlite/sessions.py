"""Workers' lives: begun, renewed, suspected, ended once, and their jobs given back."""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from noria.backends.contract import Ended, Evidence, Fence, Orders, Overdue, Vitals, WorkerCard
from noria.backends.sqlite.call import Call
from noria.backends.sqlite.rows import Running, decode, encode, tally_of, to_id
from noria.backends.sqlite.settle import end_start, write_ends
from noria.backends.sqlite.transaction import Transaction
from noria.backends.sqlite.units import millis
from noria.errors import InvalidInput
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.outcome import Failure, after_crash, after_release

_NONE = "[]"


_NO_HANDLER: Final = (
    "its worker's process ended while no handler of this job was running: "
    "it had not begun, or its outcome was not recorded yet"
)


@dataclass(slots=True)
class Open(Call):
    """The call."""

    session: SessionId
    card: WorkerCard

    durable: ClassVar[bool] = False

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

    durable: ClassVar[bool] = False

    def run(self, work: Transaction) -> Orders:
        """Move the deadline, unless the session has ended."""
        if not work.run("session_renew", self.session, work.now, encode(self.vitals)):
            return Orders(lost=True)
        asked = decode(work.row("session_cancels", self.session)[0], list[tuple[str, int]])
        return Orders(cancels=tuple(Fence(to_id(id), starts) for id, starts in asked))


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
        first = work.run(
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

    def run(self, work: Transaction) -> int:
        """Give back what the session holds and its worker never heard of."""
        row = work.row_or_none("session_read", self.session)
        if row is None or row[0]:
            return 0
        total, worker = 0, row[5]
        while held := _held(work, self.session, _fences(self.known), MAX_BATCH):
            write_ends(work, self.session, [self._release(work, job, worker) for job in held])
            total += len(held)
        return total

    def _release(self, work: Transaction, job: Running, worker: str) -> tuple[Any, ...]:
        failure = Failure.of("released", "its lease was cut off before the worker heard of it")
        end = after_release(tally_of(job), failure)
        return end_start(work, job, end, session=-self.session, worker=worker, began=0.0)


def give_back(work: Transaction, session: SessionId, limit: int) -> int:
    """Return jobs of an ended session to their queues, or fail them; says how many."""
    row = work.row_or_none("session_read", session)
    assert row is not None, "a session that is returning jobs is never forgotten"
    _, _, _, started, evidence, worker = row
    begun = None if started is None else {(id.lower(), n) for id, n in decode(started, list[tuple[str, int]])}
    held = _held(work, session, _NONE, limit)
    crash = Failure.of("crash", _story(None if evidence is None else decode(evidence, Evidence)))
    release = Failure.of("released", _NO_HANDLER)
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


def _story(evidence: Evidence | None) -> str:
    """What is known about the end of a process, in one sentence."""
    if evidence is None:
        return "its worker's process ended while the job ran"
    details: Sequence[str] = [
        f"on {evidence.host}" if evidence.host else "",
        f"process {evidence.pid}" if evidence.pid else "",
        "" if evidence.exit_code is None else f"exit code {evidence.exit_code}",
        "" if evidence.signal is None else f"signal {evidence.signal} ({_signal_name(evidence.signal)})",
        "" if evidence.memory is None else f"{evidence.memory // 1024 // 1024} MiB of memory",
    ]
    known = ", ".join(detail for detail in details if detail)
    return f"{evidence.cause} ({known})" if known else evidence.cause


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
