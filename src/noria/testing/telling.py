"""Calls of a backend as facts of a history: translation only, no I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec import UNSET

from noria.backends.contract import (
    Altered,
    Change,
    Counts,
    Doc,
    DocWrite,
    Ended,
    Fence,
    Outline,
    Pause,
    QueueRef,
    Resume,
    Swept,
    Verdict,
)
from noria.errors import Conflict, InvalidInput, NotRunning, Unavailable
from noria.ids import Id, SessionId
from noria.model.job import Lease, NewJob, Receipt, Record
from noria.model.settlement import Settlement
from noria.testing.events import (
    AlterEnd,
    AlterInvoke,
    CountsRead,
    DocRead,
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
    Sheet,
    SteerEnd,
    SteerInvoke,
    SweptSome,
    WriteEnd,
    WriteInvoke,
)
from noria.testing.history import digest


def after(error: BaseException) -> End:
    """How a call ended that raised: "fail" only if it was certainly not done."""
    return "fail" if isinstance(error, Unavailable | Conflict | InvalidInput | NotRunning) else "info"


def push_invoked(job: NewJob) -> Fact:
    """A job is about to be enqueued."""
    return PushInvoke(
        id=job.id.hex(),
        task=job.task,
        queue=job.queue,
        unique=job.unique,
        claimed=job.claim is not None,
        delay=job.delay,
        at=job.at,
        expires=job.expires,
        deadline=job.deadline,
        attempts=job.attempts,
        crash_budget=job.crash_budget,
        keep=job.keep,
        body=digest(job.codec, job.body) or "",
        schedule=job.extras.schedule or "",
        slot=job.extras.slot,
        parent=job.extras.parent_id,
        after=job.extras.after,
        on=job.extras.on,
        fed=bool(job.extras.feed),
    )


def pushed(job: NewJob, receipt: Receipt) -> Fact:
    """What a push said of one job."""
    stands = receipt.id.hex()
    return PushEnd(id=job.id.hex(), end="ok", status=receipt.status, stands=stands, why=receipt.why)


def push_ended(jobs: Sequence[NewJob], docs: Sequence[DocWrite], end: End) -> list[Fact]:
    """A push that raised, told for each of its jobs and for its documents."""
    return [*(PushEnd(id=job.id.hex(), end=end) for job in jobs), *written(docs, end, jobs)]


def write_invoked(docs: Sequence[DocWrite], jobs: Sequence[NewJob] = ()) -> list[Fact]:
    """Documents are about to be written; nothing to tell if there are none."""
    return [WriteInvoke(sheets=_sheets(docs), jobs=_ids(jobs))] if docs else []


def written(docs: Sequence[DocWrite], end: End, jobs: Sequence[NewJob] = ()) -> list[Fact]:
    """How writing them ended."""
    return [WriteEnd(sheets=_sheets(docs), end=end, jobs=_ids(jobs))] if docs else []


def written_along(docs: Sequence[DocWrite], jobs: Sequence[NewJob], told: Sequence[Receipt]) -> list[Fact]:
    """How writing them along with jobs ended that was answered: one job that is rejected leaves nothing."""
    return written(docs, "fail" if any(each.status == "rejected" for each in told) else "ok", jobs)


def doc_read(kind: str, name: str, doc: Doc | None, since: float) -> Fact:
    """A document as somebody read it who asked at the monotonic time `since`."""
    address = f"{kind} {name}"
    if doc is None:
        return DocRead(address=address, since=since)
    content = digest("", doc.data) or ""
    return DocRead(address=address, since=since, version=doc.version, content=content)


def _sheets(docs: Sequence[DocWrite]) -> tuple[Sheet, ...]:
    return tuple(
        Sheet(f"{doc.kind} {doc.name}", digest("", doc.data) or "", doc.if_version, doc.ttl is not None)
        for doc in docs
    )


def _ids(jobs: Sequence[NewJob]) -> tuple[str, ...]:
    return tuple(job.id.hex() for job in jobs)


def steer_invoked(target: QueueRef, change: Pause | Resume) -> Fact:
    """A queue is about to be paused or resumed."""
    return SteerInvoke(queue=target.queue, pause=isinstance(change, Pause))


def steered(target: QueueRef, change: Pause | Resume, end: End) -> Fact:
    """How pausing or resuming it ended."""
    if isinstance(change, Pause):
        return SteerEnd(queue=target.queue, pause=True, until=change.until, end=end)
    return SteerEnd(queue=target.queue, pause=False, end=end)


def leased(session: SessionId, lease: Lease, since: float) -> Fact:
    """A lease that a worker was given, who asked for it at the monotonic time `since`."""
    tally = lease.tally
    return Leased(
        id=lease.id.hex(),
        session=session,
        starts=lease.starts,
        spent=tally.spent,
        crashes=tally.crashes,
        queue=lease.queue,
        since=since,
        body=digest(lease.codec, lease.body) or "",
    )


def follow_ups_invoked(ends: Sequence[Settlement]) -> list[Fact]:
    """The follow-ups that these ends are to bring."""
    return [push_invoked(job) for end in ends for job in end.follow_ups]


def follow_ups_stored(settlement: Settlement, end: End, verdict: Verdict | None = None) -> list[Fact]:
    """What became of the follow-ups of one end. Where a unique key decides, nobody is told here."""
    done = "fail" if verdict is Verdict.STALE else end
    return [
        PushEnd(id=job.id.hex(), end="ok", status="created", stands=job.id.hex())
        if done == "ok" and job.unique is None
        else PushEnd(id=job.id.hex(), end="info" if done == "ok" else done)
        for job in settlement.follow_ups
    ]


def recalled(session: SessionId, known: Collection[Fence]) -> Fact:
    """A recall is about to be made."""
    return Recalled(session=session, known=tuple(sorted(fence.id.hex() for fence in known)))


def recall_ended(session: SessionId) -> Fact:
    """A recall was answered."""
    return Recalled(session=session, over=True)


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


def alter_invoked(id: Id, change: Change) -> Fact:
    """A job is about to be changed."""
    return AlterInvoke(
        id=id.hex(),
        change=change.kind,
        attempts=change.attempts or 0,
        timed=change.kind == "run" or change.run_at is not UNSET,
        expires=None if change.expires is UNSET else change.expires,
        body=digest(change.codec, change.body) or "",
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
