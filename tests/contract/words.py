"""The usual steps of contract tests, in words: jobs, pushed and looked at. `workers` has those of who runs them."""

from __future__ import annotations

from typing import Any

from noria.backends.contract import Parts
from noria.ids import Id
from noria.model.job import NewJob, Record
from noria.model.state import State
from tests.contract.store import Store

ALONE = frozenset(State) - {State.WAITING}
"""The states of jobs that have no group; those that have one wait in `test_groups` and `test_lines`."""
QUEUE = "mail"
TASK = "send"


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


async def record(store: Store, id: Id, parts: Parts = Parts.NONE) -> Record:
    """A record that is there."""
    found = (await store.get([id], parts))[0]
    assert found is not None, "there is no record"
    return found


async def state(store: Store, id: Id) -> State:
    """Where a job stands."""
    return (await record(store, id)).state


async def swept(store: Store) -> None:
    """Sweep until there is nothing left to move."""
    while (await store.sweep(1_000)).more:
        pass
