"""The usual steps of contract tests, in words: sessions, and what they lease and settle."""

from __future__ import annotations

from typing import Any

from noria.backends.contract import Batch, Fence, Verdict, Want, WorkerCard
from noria.ids import Id, SessionId
from noria.model.job import Lease
from noria.model.outcome import Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.contract.store import Store
from tests.contract.words import QUEUE, TASK, one

WHY = Failure("exception", "it broke", "ValueError", "Traceback: it broke")
_OUTCOME = {
    State.SUCCEEDED: Outcome.SUCCEEDED,
    State.FAILED: Outcome.FAILED,
    State.RETRYING: Outcome.FAILED,
    State.SCHEDULED: Outcome.SNOOZED,
    State.QUEUED: Outcome.RELEASED,
    State.PARKED: Outcome.RELEASED,
    State.CANCELLED: Outcome.CANCELLED,
    State.EXPIRED: Outcome.TIMED_OUT,
}
"""The usual outcome of a start that makes its job this."""
ENDS = [
    (State.SUCCEEDED, Outcome.SUCCEEDED),
    (State.FAILED, Outcome.FAILED),
    (State.FAILED, Outcome.TIMED_OUT),
    (State.RETRYING, Outcome.FAILED),
    (State.RETRYING, Outcome.TIMED_OUT),
    (State.SCHEDULED, Outcome.SNOOZED),
    (State.QUEUED, Outcome.RELEASED),
    (State.PARKED, Outcome.RELEASED),
    (State.CANCELLED, Outcome.CANCELLED),
    (State.EXPIRED, Outcome.TIMED_OUT),
]
"""Every way in which a start can end: what its job becomes, and how the start itself is told."""


async def worker(store: Store, **card: Any) -> SessionId:
    """A session that knows the usual task and serves the usual queue."""
    given = {"worker": "w", "host": "h", "pid": 7, "tasks": (TASK,), "queues": (QUEUE,), "ttl": 10.0, **card}
    return await store.open(WorkerCard(**given))


async def batch(store: Store, session: SessionId, limit: int = 100, queue: str = QUEUE) -> Batch:
    """Lease whatever there is, without waiting."""
    return await store.lease(session, [Want(queue, limit)], limit, 0.0)


async def take(store: Store, session: SessionId, limit: int = 100, queue: str = QUEUE) -> list[Lease]:
    """The leases of `batch`."""
    return (await batch(store, session, limit, queue)).leases


async def take_all(store: Store, session: SessionId, queue: str = QUEUE) -> list[Lease]:
    """Lease until there is nothing more."""
    leases: list[Lease] = []
    while more := await take(store, session, 1_000, queue):
        leases += more
    return leases


async def running(store: Store, **fields: Any) -> tuple[SessionId, Lease]:
    """One job, held by a session of its own."""
    id = await one(store, **fields)
    session = await worker(store)
    leases = await take(store, session, queue=fields.get("queue", QUEUE))
    return session, next(lease for lease in leases if lease.id == id)


def end(lease: Lease | Fence, state: State = State.SUCCEEDED, **fields: Any) -> Settlement:
    """The usual end of a start that makes its job this."""
    given: dict[str, Any] = {"outcome": _OUTCOME.get(state, Outcome.FAILED), "state": state}
    if state is State.SUCCEEDED:
        given["result"] = b'"value"'
    else:
        given["failure"] = WHY
    return Settlement(id=lease.id, starts=lease.starts, **{**given, **fields})


async def settle(
    store: Store, session: SessionId, lease: Lease | Fence, state: State = State.SUCCEEDED, **fields: Any
) -> Verdict:
    """End one start."""
    return (await store.settle(session, [end(lease, state, **fields)]))[0]


def fence(lease: Lease) -> Fence:
    """What identifies a lease."""
    return Fence(lease.id, lease.starts)


async def crash(store: Store, id: Id, times: int) -> None:
    """Have the process of a job die this often while it runs; nothing else may be ready in its queue."""
    for _ in range(times):
        session = await worker(store)
        (lease,) = await take(store, session)
        assert lease.id == id
        await store.end(session, started=[fence(lease)])
