"""A SQLite engine in the hands of a test: opened on a clock that stands still, asked one call at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noria.backends.contract import Want, WorkerCard
from noria.backends.sql.call import Call
from noria.backends.sql.push import Push
from noria.backends.sql.sessions import Open
from noria.backends.sqlite.engine import Engine
from noria.backends.sqlite.lease import Take
from noria.backends.sqlite.settings import MEMORY, Settings
from noria.ids import IdSource, SessionId
from noria.model.job import Lease, NewJob, Receipt
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.manual import ManualClock

QUEUE = "mail"
CARD = WorkerCard(worker="w1", host="h1", pid=1, tasks=("t",), queues=(QUEUE,))


class Bench:
    """An engine, with the calls that most tests need."""

    def __init__(self, path: str | Path = MEMORY, clock: ManualClock | None = None, **settings: Any) -> None:
        self.clock = clock or ManualClock()
        self.ids = IdSource(self.clock)
        self.settings = Settings(path=str(path), runtime=Path("unused"), **settings)
        self.engine = Engine(self.settings, self.clock)
        self.engine.open()

    def ask(self, call: Call) -> Any:
        """The reply of one call; raised, if it is an exception."""
        (reply,) = self.engine.apply([call])
        if isinstance(reply, Exception):
            raise reply
        return reply

    def job(self, **fields: Any) -> NewJob:
        given: dict[str, Any] = {"id": self.ids.next(), "task": "t", "queue": QUEUE, "body": b"[]", **fields}
        return NewJob(**given)

    def push(self, *jobs: NewJob) -> list[Receipt]:
        receipts: list[Receipt] = self.ask(Push(jobs))
        return receipts

    def open(self) -> SessionId:
        session: SessionId = self.ask(Open(self.ids.session(), CARD))
        return session

    def lease(self, session: SessionId, n: int = 100) -> list[Lease]:
        leases: list[Lease] = self.ask(Take(session, [Want(QUEUE, n)], n)).batch.leases
        return leases

    def close(self) -> None:
        self.engine.close()


def succeeded(lease: Lease, result: bytes | None = b"1", codec: str = "json") -> Settlement:
    """The end of a start that went well."""
    return Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=result, codec=codec)


def ids_of(rows: Sequence[Any]) -> list[bytes]:
    """The ids of jobs, receipts, leases or records."""
    return [row.id for row in rows]
