"""A small application at work: producers, workers that stall and die, an operator; and every step written down.

One seed is one history. Nothing here judges: the checker does, and it must find nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noria.backends.contract import Backend, Change, Fence, Pause, QueueRef, Resume, Vitals, Want, WorkerCard
from noria.ids import Id, SessionId
from noria.model.job import Lease, NewJob
from noria.model.outcome import Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import FINAL, State
from noria.testing.checker import Rules, Verdict, check, describe
from noria.testing.events import Effect, RunEnd, RunStart
from noria.testing.history import Recorder, read_history
from noria.testing.recording import RecordingBackend
from tests.contract.store import Store
from tests.contract.words import QUEUE, TASK

ENDS = [
    (State.SUCCEEDED, Outcome.SUCCEEDED),
    (State.SUCCEEDED, Outcome.SUCCEEDED),
    (State.RETRYING, Outcome.FAILED),
    (State.FAILED, Outcome.FAILED),
    (State.SCHEDULED, Outcome.SNOOZED),
    (State.QUEUED, Outcome.RELEASED),
    (State.CANCELLED, Outcome.CANCELLED),
]
DONE = (State.SUCCEEDED, Outcome.SUCCEEDED)


class Workload:
    """Random steps from a seed on one backend, and then everything brought to rest."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        seed: int,
        wrap: Callable[[Backend], Backend] = lambda backend: backend,
    ) -> None:
        self.store = store
        self.rng = random.Random(seed)
        self.folder = folder
        self.recorder = Recorder(folder, "all", clock=store.clock)
        self.backend = RecordingBackend(wrap(store.backend), self.recorder)
        self.ids: list[Id] = []
        self.sessions: list[SessionId] = []
        self.held: list[tuple[SessionId, Lease]] = []
        self.stale: list[tuple[SessionId, Lease]] = []

    async def verdict(self, steps: int) -> Verdict:
        """Work, rest, and what the checker says about it."""
        await self.open()
        for _ in range(steps):
            self.tick()
            step = self.rng.choice([
                self.push, self.push, self.work, self.work, self.work, self.settle_held, self.die, self.wake,
                self.operate, self.steer, self.look, self.pass_time,
            ])  # fmt: skip
            await step()
        await self.rest()
        return check(read_history(self.folder), Rules(lateness=None))

    def explain(self, verdict: Verdict) -> str:
        return describe(read_history(self.folder), verdict)

    def tick(self) -> None:
        self.store.clock.advance(0.001)

    # -- steps

    async def open(self) -> None:
        card = WorkerCard(worker="w", host="h", pid=1, tasks=(TASK,), queues=(QUEUE,), ttl=1e6)
        self.sessions.append(await self.backend.open(card))

    async def push(self) -> None:
        rng = self.rng
        job = NewJob(
            id=self.store.ids.next(),
            task=TASK,
            queue=QUEUE,
            body=b"[]",
            delay=rng.choice([0.0, 0.0, 2.0]),
            attempts=rng.choice([1, 3]),
            crash_budget=rng.choice([1, 2, 3]),
            unique=rng.choice([None, "a", "b"]),
            keep=rng.choice([None, None, 0.0]),
            expires=rng.choice([None, None, self.store.clock.wall() + 6]),
        )
        self.ids.append(job.id)
        await self.backend.push([job])
        if rng.random() < 0.2:
            await self.backend.push([job])

    async def work(self) -> None:
        """Lease some, and run them; some are not settled yet."""
        session = self.sessions[-1]
        batch = await self.backend.lease(session, [Want(QUEUE, 3)], 3, 0.0)
        for lease in batch.leases:
            self.tick()
            self.held.append((session, lease))
            if self.rng.random() < 0.7:
                await self.finish(self.rng.choice(ENDS))

    async def settle_held(self) -> None:
        if self.held:
            self.rng.shuffle(self.held)
            await self.finish(self.rng.choice(ENDS))

    async def finish(self, how: tuple[State, Outcome]) -> None:
        """Run the last of the held jobs and settle it, sometimes twice."""
        session, lease = self.held.pop()
        end = self.run(session, lease, how)
        for _ in range(self.rng.choice([1, 1, 2])):
            self.tick()
            await self.backend.settle(session, [end])

    def run(self, session: SessionId, lease: Lease, how: tuple[State, Outcome]) -> Settlement:
        """What a handler tells, and the settlement that its worker makes of it."""
        state, outcome = how
        fence: dict[str, Any] = {"id": lease.id.hex(), "session": session, "starts": lease.starts}
        self.recorder.note(RunStart(**fence, attempt=lease.tally.spent + 1))
        self.tick()
        self.recorder.note(Effect(**fence), RunEnd(**fence, outcome=outcome.word))
        if state is State.RETRYING and lease.tally.spent + 1 >= lease.tally.attempts:
            state = State.FAILED
        value = f'"{lease.id.hex()} {lease.starts}"'.encode() if state is State.SUCCEEDED else None
        failure = None if value else Failure("exception", "as the seed wants it")
        return Settlement(
            lease.id, lease.starts, outcome, state, self.rng.choice([0.0, 1.5]), value, failure=failure
        )

    async def die(self) -> None:
        """A worker is paused; meanwhile its session ends and its jobs go on elsewhere."""
        if self.rng.random() < 0.5:
            return
        session = self.sessions[-1]
        with self.recorder.fault(f"f{len(self.sessions)}", "pause"):
            self.tick()
            mine = [lease for holder, lease in self.held if holder == session]
            begun = [Fence(lease.id, lease.starts) for lease in mine[::2]]
            await self.backend.end(session, if_beat=None, started=self.rng.choice([None, begun]))
            self.tick()
        self.stale += [each for each in self.held if each[0] == session]
        self.held = [each for each in self.held if each[0] != session]
        await self.open()

    async def wake(self) -> None:
        """The paused worker goes on as if nothing had happened."""
        if self.stale:
            session, lease = self.stale.pop(self.rng.randrange(len(self.stale)))
            end = self.run(session, lease, self.rng.choice(ENDS))
            self.tick()
            await self.backend.settle(session, [end])
            await self.backend.renew(session, Vitals())

    async def steer(self) -> None:
        """Pause the queue for a while, or resume it."""
        until = self.store.clock.wall() + self.rng.choice([2.0, 6.0])
        await self.backend.steer(QueueRef(QUEUE), self.rng.choice([Pause(until=until), Resume()]))

    async def operate(self) -> None:
        if self.ids:
            now = self.store.clock.wall()
            changes = [
                *(
                    Change(kind=kind)
                    for kind in ("cancel", "cancel", "cancel", "retry", "discard", "run", "erase")
                ),
                Change(kind="retry", delay=1.0, attempts=2),
                Change(kind="edit", run_at=now + self.rng.choice([-1.0, 2.0])),
                Change(kind="edit", expires=self.rng.choice([None, now + 6])),
                Change(kind="move", queue=QUEUE),
            ]
            await self.backend.alter([self.rng.choice(self.ids)], self.rng.choice(changes))

    async def look(self) -> None:
        if self.ids:
            from noria.backends.contract import Parts

            await self.backend.get(self.rng.sample(self.ids, min(3, len(self.ids))), Parts.RESULT)

    async def pass_time(self) -> None:
        self.store.clock.advance(self.rng.choice([0.1, 1.0, 3.0]))
        await self.backend.sweep(100)

    async def rest(self) -> None:
        """Finish everything, then look at it for the last time."""
        while self.held:
            await self.finish(DONE)
        for _ in range(100):
            self.store.clock.advance(5)
            await self.backend.sweep(1_000)
            batch = await self.backend.lease(self.sessions[-1], [Want(QUEUE, 100)], 100, 0.0)
            self.held += [(self.sessions[-1], lease) for lease in batch.leases]
            while self.held:
                await self.finish(DONE)
            if all(found is None or found.state in FINAL for found in await self.store.backend.get(self.ids)):
                break
        self.tick()
        await self.backend.look(self.ids)
