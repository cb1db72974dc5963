"""The real worker on the real SQLite engine, in virtual time: many processes, kills and pauses, one thread.

One seed gives one run: the same options, the same order of callbacks, the same faults, the same digest. A run
has two phases: while jobs are enqueued, workers are killed, paused and drained; then everything heals, and
every job must come to its end. The history is judged by `noria.testing.checker`.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from noria import aio
from noria.backends.contract import Batch, Change
from noria.backends.sqlite import SqliteBackend
from noria.ids import Id, IdSource, SessionId, seeded
from noria.testing.checker import Rules, Verdict, check, describe
from noria.testing.events import About, Event, Fact, Fault
from noria.testing.history import Recorder
from noria.testing.machine import Slow, VirtualClock, VirtualJournals, VirtualThreads
from noria.testing.recording import RecordingBackend
from noria.testing.scenario import Handlers, Options, new_job
from noria.testing.virtual import Process, VirtualLoop, current_process
from noria.worker.outside import Outside
from noria.worker.settings import WorkerSettings
from noria.worker.worker import Worker

HEALED_WITHIN = 600.0
"""Virtual seconds after the last fault within which every job must have ended."""


class Build(Struct, frozen=True):
    """How the system is put together; broken builds replace a part, and must be caught.

    Attributes:
        backend: wraps the backend of each process.
        worker: makes the worker of each process.
    """

    backend: Callable[[Any], Any] = lambda backend: backend
    worker: Callable[..., Worker] = Worker


SOUND = Build()


class Run(Struct, frozen=True):
    """What a simulation gave.

    Attributes:
        digest: a hash of the whole history: equal for equal seeds and code.
    """

    options: Options
    events: list[Event]
    verdict: Verdict
    digest: str

    def report(self) -> str:
        """Findings for people, with their slices of the history."""
        return describe(self.events, self.verdict)


def simulate(options: Options, build: Build = SOUND) -> Run:
    """Make one run and judge it."""
    loop = VirtualLoop(options.seed)
    # The dead leave tasks behind that never end: that is their point, and nobody needs to hear of it.
    loop.set_exception_handler(lambda loop, context: None)
    try:
        events = loop.run_until_complete(_World(loop, options, build).play())
    finally:
        loop.close()
    verdict = check(events, Rules(lateness=None))
    digest = hashlib.blake2b(msgspec.json.encode(events), digest_size=8).hexdigest()
    return Run(options, events, verdict, digest)


@contextmanager
def burial() -> Iterator[None]:
    """While runs are made: what the dead left behind is collected without a word.

    A coroutine that is collected runs its `finally` blocks, which fail, since their loop is closed.
    """
    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        yield
        gc.collect()
    finally:
        sys.unraisablehook = before


class _Memory(Recorder):
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


class _Witness(RecordingBackend):
    """Records, and remembers whose each start is, so that handlers can say it."""

    def __init__(self, inner: Any, recorder: Recorder, holders: dict[tuple[str, int], int]) -> None:
        super().__init__(inner, recorder)
        self._holders = holders

    async def lease(self, session: SessionId, wants: Any, limit: int, wait: float) -> Batch:
        batch = await super().lease(session, wants, limit, wait)
        for lease in batch.leases:
            self._holders[lease.id.hex(), lease.starts] = session
        return batch


class _World:
    """One machine: a store, its processes, and what befalls them."""

    def __init__(self, loop: VirtualLoop, options: Options, build: Build) -> None:
        self._loop = loop
        self._options = options
        self._build = build
        self._dice = seeded(options.seed + 1)
        self._clock = VirtualClock(loop)
        self._recorder = _Memory(self._clock)
        self._journals = VirtualJournals(options.lossy)
        self._holders: dict[tuple[str, int], int] = {}
        self._store = SqliteBackend(
            ":memory:", runtime=Path(), clock=self._clock, ids=self._ids(), inline=True
        )
        self._handlers = Handlers(self._recorder.note, lambda id, starts: self._holders[id, starts])
        self._alive: dict[str, tuple[Process, Worker | None]] = {}
        self._tasks: list[asyncio.Task[Any]] = []
        self._names = 0
        self._pushed: list[Id] = []

    def _ids(self) -> IdSource:
        return IdSource(self._clock, self._dice.randbytes)

    async def play(self) -> list[Event]:
        """Phase one with faults, phase two without; then the last look."""
        self._recorder.note(About(seed=str(self._options.seed), options=repr(self._options)))
        await self._store.start()
        for _ in range(self._options.workers):
            self._spawn()
        await asyncio.gather(self._produce(), self._nemesis(), self._operate())
        self._heal()
        await self._rest()
        await self._look()
        return self._recorder.events

    # -- processes -----------------------------------------------------------------------------------------

    def _connect(self) -> Any:
        sibling = self._store.sibling(self._ids())
        inner = self._build.backend(Slow(sibling, self._dice, self._options.latency))
        return _Witness(inner, self._recorder, self._holders)

    def _spawn(self) -> None:
        self._names += 1
        process = self._loop.process(f"worker{self._names}")
        self._alive[process.name] = (process, None)
        self._tasks.append(process.start(self._work(process)))

    async def _work(self, process: Process) -> None:
        backend = self._connect()
        await backend.start()
        worker = self._build.worker(
            backend, self._handlers.tasks(), settings=self._settings(), outside=self._outside(process)
        )
        self._alive[process.name] = (process, worker)
        await worker.run()
        self._alive.pop(process.name, None)
        process.dead = True

    def _settings(self) -> WorkerSettings:
        options = self._options
        return WorkerSettings(
            queues=("a", "b"),
            concurrency=options.concurrency,
            threads=2,
            ttl=options.ttl,
            beat=options.beat,
            grace=options.grace,
        )

    def _outside(self, process: Process) -> Outside:
        return Outside(
            clock=self._clock,
            entropy=self._dice.randbytes,
            journals=self._journals,
            threads=lambda loop, breather: VirtualThreads(self._loop),
            host="simulated",
            pid=int(process.name.removeprefix("worker")),
            stand_in=False,
        )

    # -- what happens --------------------------------------------------------------------------------------

    async def _produce(self) -> None:
        backend = self._connect()
        await backend.start()
        ids = self._ids()
        for _ in range(self._options.jobs):
            await aio.sleep(self._dice.random() * self._options.span / self._options.jobs)
            job = new_job(ids.next(), self._dice, self._options, self._clock.wall())
            (receipt,) = await backend.push([job])
            self._pushed.append(receipt.id)

    async def _nemesis(self) -> None:
        options = self._options
        plan = ["kill"] * options.kills + ["pause"] * options.pauses + ["drain"] * options.drains
        self._dice.shuffle(plan)
        for number, what in enumerate(plan):
            await aio.sleep(self._dice.random() * options.span / len(plan))
            if self._alive:
                name = self._dice.choice(sorted(self._alive))
                await self._befall(f"{what}{number}", what, name)

    async def _befall(self, fault: str, what: str, name: str) -> None:
        process, worker = self._alive[name]
        told = Fault(phase="begin", name=fault, what=what, target=name)
        self._recorder.note(told)
        if what == "kill":
            process.kill()
            self._alive.pop(name)
        elif what == "pause":
            process.pause()
            await aio.sleep(self._dice.uniform(0.1, 3 * self._options.ttl))
            process.resume()
        elif worker is not None:
            worker.drain()
        await aio.sleep(self._dice.random() * self._options.ttl)
        self._recorder.note(msgspec.structs.replace(told, phase="end"))
        if what != "pause":
            self._spawn()

    async def _operate(self) -> None:
        backend = self._connect()
        await backend.start()
        deeds = ["cancel"] * self._options.cancels + ["retry"] * self._options.retries
        for kind in deeds:
            await aio.sleep(self._dice.random() * self._options.span / len(deeds))
            if self._pushed:
                await backend.alter([self._dice.choice(self._pushed)], Change(kind=kind))  # type: ignore[arg-type]  # one of the literals

    def _heal(self) -> None:
        for process, _ in self._alive.values():
            process.resume()
        self._spawn()

    async def _rest(self) -> None:
        """Wait until every job has ended. A poison job may kill the last worker: there is always a new one."""
        until = self._loop.time() + HEALED_WITHIN
        while self._loop.time() < until:
            await aio.sleep(1.0)
            for name in [name for name, (process, _) in self._alive.items() if process.dead]:
                self._alive.pop(name)
                self._spawn()
            records = await self._store.get(self._pushed)
            if all(record is None or record.state.final for record in records):
                return

    async def _look(self) -> None:
        await aio.sleep(self._options.ttl)
        witness = _Witness(self._store, self._recorder, self._holders)
        await witness.look(sorted(set(self._pushed)))
