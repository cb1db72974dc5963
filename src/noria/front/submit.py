"""Pushes jobs, with the keys that make repeats harmless."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct

from noria.backends.contract import Parts
from noria.errors import BackendError, Conflict, QueueFull, Unknown
from noria.front.desk import Desk
from noria.front.enqueue import Order, record_of
from noria.front.idempotency import Once
from noria.front.intake import Ticket
from noria.front.principal import Principal
from noria.front.problem import Problem, problem_of
from noria.ids import Id, to_text
from noria.model.claim import NEW, Enqueued
from noria.model.job import NewJob, Receipt, Record

_TRIES: Final = 3


class Accepted(Struct, frozen=True):
    """A job that now stands for a request.

    Attributes:
        how: as `Job.enqueued`; or "replayed": by the same request before, or one that chose the same id for the same
            job.
        record: as it stood.
    """

    how: Enqueued | Literal["replayed"]
    record: Record

    @property
    def stands(self) -> bool:
        """Whether it is another job, with the same unique key."""
        return self.how in STANDS


STANDS: Final = frozenset({"existing", "updated", "merged"})
"""Words that say so."""


async def accept(desk: Desk, who: Principal, order: Order, once: Once | None) -> Accepted:
    """Enqueue a job, or find the one that stands for it already.

    Raises:
        Problem: the key was used for another request, or the id for another job; its job is gone; a unique key was to
            be free and is not, or its job is not this key's to see; the queue is full for this key; or nobody knows
            whether the job is stored.
    """
    for _ in range(_TRIES):
        if order.named and (found := await _standing(desk, order, once)) is not None:
            return found
        try:
            async with desk.intake.admit(who, order.job.queue) as ticket:
                return await _push(desk, who, order, once, ticket)
        except Conflict:
            # A key conflicts with the request that has won; unless that was forgotten just now. A chosen id conflicts
            # with a job of another task that has come just now: the next look finds it.
            first = None if once is None or order.named else await once.first(desk.backend)
        except Problem as problem:
            # A full queue takes nothing new; what it has taken before it still answers for.
            first = None if once is None or problem.code != "queue_full" else await once.first(desk.backend)
            if first is None:
                raise
        if first is not None:
            return Accepted("replayed", await _still_there(desk, who, first))
    raise Problem(
        "backend_down", "the idempotency key changes with every look at it; ask again", retry_after=1
    )


async def _push(desk: Desk, who: Principal, order: Order, once: Once | None, ticket: Ticket) -> Accepted:
    docs = () if once is None else (once.claim(order.job.id),)
    try:
        [receipt] = await desk.link.push_one(order.job, docs)
    except Unknown as error:
        raise uncertain(error, safe=once is not None) from error
    except Conflict:
        ticket.stored = 0
        raise
    except QueueFull as error:
        ticket.stored = 0
        raise problem_of(error) from error
    if receipt.status in NEW or (receipt.why == "id" and not order.named):
        how: Enqueued = "replaced" if receipt.status == "replaced" else "created"
        return Accepted(how, record_of(order.job, desk.clock.wall()))
    ticket.stored = 0
    if receipt.why == "id":
        [record] = await desk.backend.get([receipt.id], Parts.BODY | Parts.RESULT)
        if record is None:
            raise _gone(receipt.id)
        return await _same(desk, order, once, record)
    return await _existing(desk, who, order, once, receipt)


async def _standing(desk: Desk, order: Order, once: Once | None) -> Accepted | None:
    """What stands already for a job whose id the client chose; None if nothing does.

    Raises:
        Problem: the key was used for another request, the id for another job, or the job is gone.
    """
    first = None if once is None else await once.first(desk.backend)
    if first is not None and first != order.job.id:  # a unique key had that one stand for it
        [record] = await desk.backend.get([first], Parts.RESULT)
        if record is None:
            raise _gone(first)
        return Accepted("replayed", record)
    [record] = await desk.backend.get([order.job.id], Parts.BODY | Parts.RESULT)
    if record is not None:
        return await _same(desk, order, once if first is not None else None, record)
    if first is not None:
        raise _gone(first)
    return None


async def _same(desk: Desk, order: Order, claimed: Once | None, record: Record) -> Accepted:
    """The job of the id that the client chose, if it is the same: its task and arguments tell.

    Everything else may have been changed since.

    Args:
        claimed: the key that stands for this request, to be forgotten if it is refused.

    Raises:
        Problem: it is another job.
    """
    if record.task == order.job.task and _alike(record, order.job):
        return Accepted("replayed", record)
    if claimed is not None:
        await desk.backend.write([claimed.release()])
    text = to_text(record.id)
    raise Problem(
        "id_conflict",
        f"job {text} is there already, and is of another task or has other arguments: choose another id",
        job_id=text,
    )


def _alike(record: Record, job: NewJob) -> bool:
    """Whether both have the same arguments, however these are spelt."""
    if record.body is None or record.codec != job.codec:
        return False
    return record.body == job.body or bool(msgspec.json.decode(record.body) == msgspec.json.decode(job.body))


async def _existing(
    desk: Desk, who: Principal, order: Order, once: Once | None, receipt: Receipt
) -> Accepted:
    [seen] = await seen_by(desk, who, [receipt.id])
    if order.reject or not seen:
        if once is not None:
            await desk.backend.write([once.release()])
        raise taken(receipt.id if seen else None)
    if once is not None:
        await desk.backend.write([once.amend(receipt.id)])
    assert receipt.status != "rejected", "that was raised"
    return Accepted(receipt.status, await _still_there(desk, who, receipt.id))


async def seen_by(desk: Desk, who: Principal, ids: Sequence[Id]) -> list[bool]:
    """Which of these jobs a key may see. Of one that is gone nobody knows whose it was."""
    if not who.limited or not ids:
        return [True] * len(ids)
    records = await desk.backend.get(ids)
    return [record is not None and who.sees(record.queue, record.task) for record in records]


def taken(id: Id | None) -> Problem:
    """Another live job has the unique key; without an id it is one that this key may not see."""
    if id is None:
        return Problem("unique_conflict", "a live job that this key may not see stands for this request")
    text = to_text(id)
    return Problem("unique_conflict", f"job {text} is live and has this unique key", job_id=text)


async def _still_there(desk: Desk, who: Principal, id: Id) -> Record:
    [record] = await desk.backend.get([id], Parts.RESULT)
    if record is None:
        raise _gone(id)
    if not who.sees(record.queue, record.task):
        raise taken(None)
    return record


def _gone(id: Id) -> Problem:
    text = to_text(id)
    why = f"job {text} stands for this request; it has ended, and is no longer kept"
    return Problem("result_expired", why, job_id=text)


def uncertain(error: BackendError, *, safe: bool) -> Problem:
    """A push that failed: certainly not done, or perhaps. `safe`: whether repeating it makes no second job."""
    if not isinstance(error, Unknown):
        return problem_of(error)
    how = (
        "repeat the request with the same Idempotency-Key"
        if safe
        else "it had no Idempotency-Key, so that repeating it may make a second job"
    )
    return Problem(
        "backend_down",
        f"the backend did not answer in time, and the job may be stored: {how}",
        retry_after=1,
        retry_safe=safe,
    )
