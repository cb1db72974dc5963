"""Calls of a backend as facts of a history: translation only, no I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from noria.backends.contract import (
    Altered,
    Change,
    Counts,
    Ended,
    Fence,
    Outline,
    Swept,
    Verdict,
)
from noria.errors import InvalidInput, NotRunning, Unavailable
from noria.ids import Id, SessionId
from noria.model.job import Lease, NewJob, Receipt, Record
from noria.model.outcome import Settlement
from noria.testing.events import (
    AlterEnd,
    CountsRead,
    End,
    EndEnd,
    EndInvoke,
    Fact,
    Leased,
    OutcomeSeen,
    PushEnd,
    PushInvoke,
    Read,
    Recalled,
    SettleEnd,
    SettleInvoke,
    SweptSome,
)
from noria.testing.history import digest


def after(error: BaseException) -> End:
    """How a call ended that raised: "fail" only if it was certainly not done."""
    return "fail" if isinstance(error, Unavailable | InvalidInput | NotRunning) else "info"


def push_invoked(job: NewJob) -> Fact:
    """A job is about to be enqueued."""
    return PushInvoke(
        id=job.id.hex(),
        task=job.task,
        queue=job.queue,
        unique=job.unique,
        delay=job.delay,
        at=job.at,
        expires=job.expires,
        deadline=job.deadline,
        attempts=job.attempts,
        crash_budget=job.crash_budget,
        keep=job.keep,
    )


def pushed(job: NewJob, receipt: Receipt) -> Fact:
    """What a push said of one job."""
    stands = receipt.id.hex()
    return PushEnd(id=job.id.hex(), end="ok", status=receipt.status, stands=stands, why=receipt.why)


def leased(session: SessionId, lease: Lease) -> Fact:
    """A lease that a worker was given."""
    tally = lease.tally
    return Leased(
        id=lease.id.hex(), session=session, starts=lease.starts, spent=tally.spent, crashes=tally.crashes
    )


def recalled(session: SessionId, known: Collection[Fence]) -> Fact:
    """A recall is about to be made."""
    return Recalled(session=session, known=tuple(sorted(fence.id.hex() for fence in known)))


def settle_invoked(session: SessionId, end: Settlement) -> Fact:
    """A start is about to be ended."""
    return SettleInvoke(
        id=end.id.hex(),
        session=session,
        starts=end.starts,
        outcome=int(end.outcome),
        state=int(end.state),
        delay=end.delay,
        result=digest(end.codec, end.result) or "",
    )


def settled(session: SessionId, settlement: Settlement, end: End, verdict: Verdict | None = None) -> Fact:
    """How ending a start ended."""
    return SettleEnd(
        id=settlement.id.hex(),
        session=session,
        starts=settlement.starts,
        outcome=int(settlement.outcome),
        state=int(settlement.state),
        end=end,
        verdict=verdict.value if verdict else "",
    )


def end_invoked(session: SessionId, started: Collection[Fence] | None) -> Fact:
    """A session is about to be ended."""
    ids = None if started is None else tuple(sorted(fence.id.hex() for fence in started))
    return EndInvoke(session=session, started=ids)


def ended(session: SessionId, told: Ended) -> Fact:
    """What an end said of its session."""
    return EndEnd(
        session=session,
        end="ok",
        ended=told.ended,
        first=told.first,
        crashed=told.crashed,
        released=told.released,
    )


def altered(id: Id, change: Change, told: Altered) -> Fact:
    """What a change said of one job."""
    state = None if told.state is None else int(told.state)
    return AlterEnd(id=id.hex(), change=change.kind, end="ok", status=told.status, state=state)


def swept(told: Swept) -> Fact:
    """What a sweep moved."""
    return SweptSome(
        promoted=told.promoted,
        returned=told.returned,
        expired=told.expired,
        unparked=told.unparked,
        pruned=told.pruned,
    )


def read(id: Id, record: Record | None, since: float, *, final: bool = False, whole: bool = True) -> Fact:
    """A record as somebody read it who asked at the monotonic time `since`; `whole`: for its result too."""
    if record is None:
        return Read(id=id.hex(), since=since, final=final)
    return Read(
        id=record.id.hex(),
        since=since,
        state=int(record.state),
        version=record.version,
        dead=record.dead,
        session=record.session,
        starts=record.starts,
        spent=record.tally.spent,
        crashes=record.tally.crashes,
        reason=record.failure.reason if record.failure else "",
        result=digest(record.result_codec, record.result),
        whole=whole,
        final=final,
    )


def counted(counts: Counts, since: float, *, final: bool = False) -> Fact:
    """The numbers of a namespace, all queues together."""
    states: dict[int, int] = {}
    for queue in counts.queues.values():
        for state, number in queue.states.items():
            states[int(state)] = states.get(int(state), 0) + number
    dead = sum(queue.dead for queue in counts.queues.values())
    workers = len(counts.workers)
    return CountsRead(
        since=since, states=states, dead=dead, erased=counts.erased, workers=workers, final=final
    )


def outcomes_seen(payload: bytes) -> Sequence[Fact]:
    """What a reply hint says; a payload of another form says nothing."""
    try:
        told = msgspec.json.decode(payload, type=list[Outline])
    except msgspec.MsgspecError:
        return ()
    return tuple(_seen(each) for each in told)


def _seen(outline: Outline) -> Fact:
    value = None if outline.result is None else outline.result.encode()
    return OutcomeSeen(id=outline.id, state=outline.state, result=digest(outline.codec, value))
