"""Who writes down what the processes of a simulation do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noria.backends.contract import Batch, Doc, DocWrite, WorkerCard
from noria.ids import Id, SessionId
from noria.model.job import NewJob, Receipt
from noria.model.schedule import KIND
from noria.testing.events import Event, Fact
from noria.testing.history import Recorder
from noria.testing.machine import VirtualClock
from noria.testing.recording import RecordingBackend
from noria.testing.timetables import stood
from noria.testing.virtual import current_process


class Memory(Recorder):
    """A recorder that keeps events in memory, under the name of the process that runs."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.events: list[Event] = []

    def note(self, *facts: Fact) -> None:
        process = current_process()
        proc = process.name if process is not None else "world"
        for fact in facts:
            now = self.clock
            self.events.append(Event(now.monotonic(), now.wall(), proc, len(self.events), fact))

    def close(self) -> None:
        pass


class Witness(RecordingBackend):
    """Records, and remembers whose each start and session is.

    Args:
        inner, recorder: as of `RecordingBackend`.
        holders, owners: get the session of each start, and the process of each session; shared.
        asked: gets the ids of jobs that timers enqueue; shared.
        timers: those that were seen already; shared.
    """

    def __init__(
        self,
        inner: Any,
        recorder: Recorder,
        holders: dict[tuple[str, int], int],
        owners: dict[SessionId, str],
        *,
        asked: list[Id],
        timers: set[str],
    ) -> None:
        super().__init__(inner, recorder)
        self._holders = holders
        self._owners = owners
        self._asked = asked
        self._timers = timers

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        self._asked += [job.id for job in jobs if job.extras.schedule]
        return await super().push(jobs, docs)

    async def scan(self, kind: str, *args: Any, **kwargs: Any) -> list[Doc]:
        docs = await super().scan(kind, *args, **kwargs)
        if kind == KIND:
            new = [doc for doc in docs if doc.name not in self._timers]
            self._recorder.note(*map(stood, new))
            self._timers.update(doc.name for doc in new)
        return docs

    async def open(self, card: WorkerCard) -> SessionId:
        session = await super().open(card)
        process = current_process()
        self._owners[session] = process.name if process is not None else ""
        return session

    async def lease(self, session: SessionId, wants: Any, limit: int, wait: float) -> Batch:
        batch = await super().lease(session, wants, limit, wait)
        for lease in batch.leases:
            self._holders[lease.id.hex(), lease.starts] = session
        return batch
