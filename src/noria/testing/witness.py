"""Who writes down what the processes of a simulation do."""

from __future__ import annotations

from typing import Any

from noria.backends.contract import Batch, WorkerCard
from noria.ids import SessionId
from noria.testing.events import Event, Fact
from noria.testing.history import Recorder
from noria.testing.machine import VirtualClock
from noria.testing.recording import RecordingBackend
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
    """Records, and remembers whose each start and session is."""

    def __init__(
        self,
        inner: Any,
        recorder: Recorder,
        holders: dict[tuple[str, int], int],
        owners: dict[SessionId, str],
    ) -> None:
        super().__init__(inner, recorder)
        self._holders = holders
        self._owners = owners

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
