"""The machine of a simulation: a store, its processes, what befalls them, and how it all comes to rest."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from noria import aio
from noria.backends.sqlite import SqliteBackend
from noria.ids import Id, IdSource, SessionId, seeded
from noria.model.job import NewJob
from noria.model.schedule import KIND
from noria.testing import timetables
from noria.testing.audience import Audience
from noria.testing.deeds import Deed, Handlers
from noria.testing.events import About, Event, Fault, Left, Probed
from noria.testing.findings import Finding
from noria.testing.machine import VirtualClock, VirtualJournals, VirtualThreads
from noria.testing.nemesis import Nemesis
from noria.testing.people import Operator, Producer
from noria.testing.planner import Planner
from noria.testing.scenario import QUEUES, SLOT, Options, command
from noria.testing.timetables import Timekeeper, stood
from noria.testing.virtual import Process, VirtualLoop
from noria.testing.wire import Weather, Wire
from noria.testing.witness import Memory, Witness
from noria.testing.workforce import Workforce
from noria.worker.outside import Outside
from noria.worker.settings import OUTAGE_AT_MOST, WorkerSettings
from noria.worker.worker import Worker

HEALED_WITHIN: Final = 600.0
"""Virtual seconds after the last fault within which every job must have ended."""
_PROBED_WITHIN: Final = 30.0
"""Virtual seconds within which a worker that has nothing else to do must have done its probe."""


class Build(Struct, frozen=True):
    """How the system is put together; broken builds replace a part, and must be caught.

    Attributes:
        backend: wraps the backend of each process.
        worker: makes the worker of each process.
    """

    backend: Callable[[Any], Any] = lambda backend: backend
    worker: Callable[..., Worker] = Worker


SOUND = Build()


class World:
    """One machine: a store, its processes, and what befalls them."""

    def __init__(self, loop: VirtualLoop, options: Options, build: Build) -> None:
        self._loop = loop
        self._options = options
        self._build = build
        self._dice = seeded(options.seed + 1)
        self._clock = VirtualClock(loop)
        self._recorder = Memory(self._clock)
        self._journals = VirtualJournals(options.lossy)
        self._holders: dict[tuple[str, int], int] = {}
        self._owners: dict[SessionId, str] = {}
        self._schedules = timetables.declared(options)
        self._timers: set[str] = set()
        self._store = SqliteBackend(
            ":memory:", runtime=Path(), clock=self._clock, ids=self._ids(), inline=True
        )
        self._asked: list[Id] = []
        self._handlers = Handlers(
            self._recorder.note,
            lambda id, starts: self._holders[id, starts],
            clock=self._clock,
            ids=IdSource(self._clock, seeded(options.seed + 5).randbytes),
            asked=self._asked,
        )
        self._weather = self._make_weather()
        self._workers = Workforce(loop, self._make_worker, self._recorder.note, self._weather.has_cancelled)
        self._producers: dict[Process, asyncio.Task[Any]] = {}
        self._audience = self._make_audience()

    async def play(self) -> list[Event]:
        """Phase one with faults, phase two without; then the last look."""
        options = self._options
        self._recorder.note(About(seed=str(options.seed), options=repr(options), command=command(options)))
        await self._store.start()
        for _ in range(self._options.workers):
            self._workers.spawn()
        self._hire_producers()
        self._audience.open()
        supervision = aio.launch(self._loop, self._workers.supervise(), contextvars.Context())
        await asyncio.gather(self._make_nemesis().run(), self._operate(), self._produced())
        await self._heal()
        await self._stop_timers()
        await self._rest()
        await self._audience.close()
        self._weather.over = True
        await self._weather.settled()
        await self._workers.fallen()
        supervision.cancel()
        await self._probe()
        await self._leave()
        await aio.sleep(self._options.ttl)
        await self._look()
        return list(self._recorder.events)

    @property
    def calls(self) -> int:
        """How many calls of the store were made."""
        return self._weather.calls

    def mishaps(self) -> list[Finding]:
        """Workers that failed by themselves."""
        return [
            Finding("W16", f"{each.name} failed: {each.error!r}, caused by {each.error.__cause__!r}")
            for each in self._workers.mishaps
        ]

    # -- what there is -------------------------------------------------------------------------------------

    def _ids(self) -> IdSource:
        return IdSource(self._clock, self._dice.randbytes)

    def _make_weather(self) -> Weather:
        options = self._options
        return Weather(
            seeded(options.seed + 2),
            share=options.trouble,
            kinds=options.troubles,
            latest=2 * options.ttl,
            script=dict(options.script),
            note=self._recorder.note,
        )

    def _make_audience(self) -> Audience:
        chance = seeded(self._options.seed + 3)
        return Audience(
            self._loop,
            self._options,
            clock=self._clock,
            chance=chance,
            connect=lambda: self._connect(chance),
            asked=self._asked,
            note=self._recorder.note,
            fallen=self._weather.has_cancelled,
        )

    async def _connect(self, chance: random.Random | None = None) -> Any:
        dice = chance or self._dice
        ids = IdSource(self._clock, dice.randbytes)
        wire = Wire(self._store.sibling(ids), self._weather, dice, self._options.latency)
        backend = self._witness(self._build.backend(wire))
        await backend.start()
        return backend

    def _witness(self, backend: Any) -> Witness:
        return Witness(
            backend, self._recorder, self._holders, self._owners, asked=self._asked, timers=self._timers
        )

    async def _make_worker(self, process: Process) -> Worker:
        return self._build.worker(
            await self._connect(),
            self._handlers.tasks(),
            settings=self._settings(process),
            outside=self._outside(process),
            schedules=timetables.begun(self._schedules, self._clock.wall()),
        )

    def _settings(self, process: Process) -> WorkerSettings:
        options = self._options
        return WorkerSettings(
            queues=(*QUEUES, _queue_of(process)),
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

    def _make_nemesis(self) -> Nemesis:
        return Nemesis(
            self._options,
            self._dice,
            clock=self._clock,
            weather=self._weather,
            workers=self._workers,
            producers=list(self._producers),
            note=self._recorder.note,
        )

    # -- phase one -----------------------------------------------------------------------------------------

    def _hire_producers(self) -> None:
        count = self._options.producers
        for number in range(count):
            process = self._loop.process(f"producer{number + 1}")
            share = len(range(number, self._options.jobs, count))
            self._producers[process] = process.start(self._produce(share))
        if self._options.flows:
            process = self._loop.process("planner")
            self._producers[process] = process.start(self._plan())

    async def _produce(self, jobs: int) -> None:
        producer = Producer(await self._connect(), self._options, self._clock, self._dice, self._asked)
        await producer.run(self._ids(), jobs)

    async def _plan(self) -> None:
        chance = seeded(self._options.seed + 6)
        planner = Planner(await self._connect(chance), self._options, self._clock, chance, self._asked)
        await planner.run(IdSource(self._clock, chance.randbytes))

    async def _produced(self) -> None:
        """Wait until each has done its share, or is dead."""
        while not all(task.done() or process.dead for process, task in self._producers.items()):
            await aio.sleep(0.2)
        for task in self._producers.values():
            if task.done():
                task.result()

    async def _operate(self) -> None:
        operator = Operator(await self._connect(), self._options, self._clock, self._dice, self._asked)
        await operator.run()

    # -- phase two -----------------------------------------------------------------------------------------

    async def _heal(self) -> None:
        for process, _ in self._workers.alive.values():
            process.resume()
        self._weather.calm = True
        self._set_clock()
        self._workers.spawn()
        await self._weather.settled()

    def _set_clock(self) -> None:
        """Set the clock right: what is due by it would else be an age away."""
        told = Fault(phase="begin", name="the clock is set right", what="clock")
        self._recorder.note(told)
        self._clock.mend()
        self._recorder.note(msgspec.structs.replace(told, phase="end"))

    async def _stop_timers(self) -> None:
        """Wait until timers are up to date, and have no more jobs enqueued."""
        keeper = Timekeeper(
            self._witness(self._store),
            self._clock,
            self._ids(),
            within=HEALED_WITHIN,
            note=self._recorder.note,
        )
        await keeper.stop(self._schedules)

    async def _rest(self) -> None:
        """Wait until every job has ended. A poison job may kill the last worker: there is always a new one."""
        until = self._loop.time() + HEALED_WITHIN
        while self._loop.time() < until:
            await aio.sleep(1.0)
            records = await self._store.get(self._asked)
            if all(record is None or record.state.final for record in records):
                return

    async def _probe(self) -> None:
        """Ask each worker that is alive, and has nothing else to do, whether it works."""
        while self._loop.time() < self._weather.last + OUTAGE_AT_MOST or self._busy():
            await aio.sleep(0.2)
        backend, ids = await self._connect(), self._ids()
        self._workers.replace_fallen()
        probes = {ids.next(): process for process, _ in self._workers.alive.values()}
        self._recorder.note(*(Probed(id=id.hex(), target=each.name) for id, each in probes.items()))
        body = msgspec.json.encode(Deed())
        jobs = [
            NewJob(id=id, task="act", queue=_queue_of(process), body=body, delay=0.5)
            for id, process in probes.items()
        ]
        await backend.push(jobs)
        self._asked += probes
        until = self._loop.time() + _PROBED_WITHIN
        while self._loop.time() < until:
            await aio.sleep(0.5)
            if all(record and record.state.final for record in await self._store.get(list(probes))):
                return

    def _busy(self) -> bool:
        alive = [process for process, _ in self._workers.alive.values() if not process.dead]
        return any(self._handlers.busy[process] for process in alive)

    async def _leave(self) -> None:
        """Drain all workers, and count what they leave behind. What others have left, time will tell them."""
        there = set(self._workers.alive)
        await self._workers.dismiss(self._options.grace + 10.0)
        open = {member.session for member in await self._store.fleet()}
        self._recorder.note(
            Left(what="workers", count=len(self._workers.alive)),
            Left(what="sessions", count=sum(self._owners.get(session) in there for session in open)),
            Left(what="run journals", count=sum(owner in there for owner in self._journals.owners())),
        )

    async def _look(self) -> None:
        witness = self._witness(self._store)
        await witness.scan(SLOT)
        self._recorder.note(*(stood(doc, final=True) for doc in await witness.scan(KIND)))
        await witness.look(sorted(set(self._asked)))


def _queue_of(process: Process) -> str:
    """The queue that no other worker serves."""
    return f"only-{process.name}"
