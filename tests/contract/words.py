"""The usual steps of contract tests, in words."""

from __future__ import annotations

from typing import Any

from noria.backends.contract import Batch, Fence, Parts, Verdict, Want, WorkerCard
from noria.ids import Id, SessionId
from noria.model.job import Lease, NewJob, Record
from noria.model.outcome import Failure, Outcome, Settlement
from noria.model.state import State
from tests.contract.store import Store

QUEUE = "mail"
TASK = "send"
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


def new(store: Store, **fields: Any) -> NewJob:
    """A job to push, unlike every other only in its id."""
    given = {"id": store.ids.next(), "task": TASK, "queue": QUEUE, "body": b'["a"]', **fields}
    return NewJob(**given)


async def enqueue(store: Store, n: int = 1, **fields: Any) -> list[Id]:
    """Push jobs that are alike, all at once; they are all created."""
    jobs = [new(store, **fields) for _ in range(n)]
    receipts = await store.push(jobs)
    assert {receipt.status for receipt in receipts} <= {"created"}
    return [job.id for job in jobs]


async def one(store: Store, **fields: Any) -> Id:
    """Push one job."""
    return (await enqueue(store, **fields))[0]


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


async def record(store: Store, id: Id, parts: Parts = Parts.NONE) -> Record:
    """A record that is there."""
    found = (await store.get([id], parts))[0]
    assert found is not None, "there is no record"
    return found


async def state(store: Store, id: Id) -> State:
    """Where a job stands."""
    return (await record(store, id)).state


async def crash(store: Store, id: Id, times: int) -> None:
    """Have the process of a job die this often while it runs; nothing else may be ready in its queue."""
    for _ in range(times):
        session = await worker(store)
        (lease,) = await take(store, session)
        assert lease.id == id
        await store.end(session, started=[fence(lease)])


async def swept(store: Store) -> None:
    """Sweep until there is nothing left to move."""
    while (await store.sweep(1_000)).more:
        pass
