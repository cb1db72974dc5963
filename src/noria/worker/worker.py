"""The worker: its parts, wired; its life from open to drained."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Final

from noria import aio, ids
from noria.aio import Breather, Crew
from noria.backends.contract import Backend, Evidence, Orders, Verdict, Vitals
from noria.errors import ConfigError
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.schedule import Schedule
from noria.model.settlement import Settlement
from noria.model.task import Executor, TaskDef
from noria.model.wording import shares
from noria.worker.drain import CLEAN_UP, Exit, finish
from noria.worker.ending import Ending, WorkerFault
from noria.worker.feed import Feed
from noria.worker.held import Run
from noria.worker.journal import Journal
from noria.worker.keeper import Beat, StandIn
from noria.worker.midrun import Midrun
from noria.worker.orders import Listener, cancel
from noria.worker.outside import Outside
from noria.worker.processes import Processes
from noria.worker.relief import Relief
from noria.worker.run import Runner
from noria.worker.settings import WorkerSettings, last_words
from noria.worker.settle import Settler
from noria.worker.sweep import Sweeper
from noria.worker.tenure import NONE, Tenure, card_of
from noria.worker.timer import Timer
from noria.worker.vitals import vitals_of
from noria.worker.watchdog import Watchdog, culprit

log = logging.getLogger("noria.worker")

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]
Observer = Callable[[Run, Settlement], None]

_CLOSING: Final = 2.0
"""Seconds that parts get to end."""
_BURST_WAIT: Final = 0.05
"""Seconds that a lease waits in burst mode, in which nobody waits for work to come."""


class Worker:
    """Runs the jobs of an application's tasks until it is drained. Make it inside a running loop.

    Args:
        backend: started by the caller, who also closes it.
        tasks: the tasks it knows, by name.
        settings: how much it runs at once, and how patient it is.
        outside: time, randomness, journals and threads.
        lifespan: opened before the first job; what it yields is `Context.state`.
        observer: hears of each recorded outcome.
        schedules: the timers of the application's code, by name; None: it does nothing about any timer.

    Raises:
        ConfigError: there is no task.
    """

    runner_class: ClassVar[type[Runner]] = Runner

    def __init__(
        self,
        backend: Backend,
        tasks: Mapping[str, TaskDef],
        *,
        settings: WorkerSettings,
        outside: Outside,
        lifespan: Lifespan | None = None,
        observer: Observer | None = None,
        schedules: Mapping[str, Schedule] | None = None,
    ) -> None:
        if not tasks:
            raise ConfigError("this application declares no tasks: a worker would have nothing to do")
        self._backend, self._tasks = backend, tasks
        self._settings = settings
        self._outside = outside
        self._lifespan: Lifespan = lifespan or contextlib.nullcontext
        self._observer = observer
        self._replacing = False
        self._done = NONE
        self._loop = asyncio.get_running_loop()
        self._chance = ids.jitter_source(outside.entropy)
        self.ending = Ending()
        self.started = asyncio.Event()
        self.leaving: Callable[[str], None] = lambda why: None
        self._crew = Crew("noria", self.ending.fail)
        self._kinds = {task.executor for task in tasks.values()}
        self._pool = outside.threads(self._loop, Breather.of(self._loop))
        self._processes = self._make_processes()
        self._settler = self._make_settler()
        self._midrun = self._make_midrun()
        self._runner = self._make_runner()
        self._feed = self._make_feed()
        self._beat = self._make_beat()
        self._sweeper = self._make_sweeper()
        self._timer = Timer.of(backend, schedules, outside, settings.poll)
        self._tenure = self._make_tenure()
        self._stand_in = self._make_stand_in() if outside.stand_in else None
        self._unlisten: Callable[[], None] = lambda: None

    # -- life ----------------------------------------------------------------------------------------------

    async def run(self) -> Exit:
        """Work until `drain` is called or, in burst mode, until there is nothing to do.

        Returns:
            whether all that had begun was finished.

        Raises:
            WorkerFault: a part of the worker failed, or was cancelled by others. Its session is left to others, so
                that what had begun counts as crashed.
            BackendError: the session could not be opened.
        """
        if not self.ending.begin():
            return Exit.CLEAN  # the application was left before this began
        try:
            async with self._lifespan() as state:
                self._runner.state = state
                await self._sweeper.bury()
                if self._processes is not None:
                    await self._processes.open()
                await self._tenure.open()
                self._start_parts()
                self.started.set()
                return await self._work()
        finally:
            try:
                await self._close_parts()
            finally:
                self.ending.finish()

    async def _work(self) -> Exit:
        try:
            await self.ending.stop.wait()
        except asyncio.CancelledError:
            # Where a job has cancelled everything on the loop, the parts have ended too, and are heard of first.
            await aio.turns(2)
            if self.ending.fault is None:
                # Whoever cancels `run` wants it to end now; jobs that are handed back need not be waited for.
                self.drain(now=True)
                with contextlib.suppress(WorkerFault):
                    await self._shut_down()
                raise
        return await self._shut_down()

    def drain(self, *, now: bool = False) -> None:
        """Stop leasing, finish what runs within the grace, hand back the rest; called again: do not wait."""
        self.ending.drain(now=now)

    def hear_of(self, death: Evidence) -> None:
        """Somebody saw a process of this machine die: if it was a worker, its jobs run again at once."""
        self._sweeper.hear_of(death)

    def _replace(self, why: str) -> None:
        if self.ending.stop.is_set():
            return
        log.warning("draining, to be replaced by a new process: %s", why)
        self._replacing = True
        self.leaving(why)
        self.ending.stop.set()  # who asks it to drain as well does not mean to hasten it

    def _start_parts(self) -> None:
        self._crew.start("settle", self._settler.run())
        for each in (self._midrun, self._beat, self._feed, self._timer):
            for name, part in each.parts().items():
                self._crew.start(name, part)
        self._crew.start("sweep", self._sweeper.run())
        self._crew.start("watchdog", self._make_watchdog().run())
        if self._stand_in is not None:
            self._stand_in.start()

    async def _close_parts(self) -> None:
        if self._stand_in is not None:
            self._stand_in.close()
        self._midrun.close()
        late = await self._crew.aclose(_CLOSING)
        if late:
            log.error("these parts did not end: %s", ", ".join(late))
        self._runner.close()
        self._pool.close()
        if self._processes is not None:
            await self._processes.aclose()

    # -- the parts -----------------------------------------------------------------------------------------

    @property
    def _slots(self) -> dict[Executor, int]:
        slots: dict[Executor, int] = {"async": self._settings.concurrency, "thread": self._settings.threads}
        return {**slots, "process": self._settings.process_slots} if "process" in self._kinds else slots

    def _make_processes(self) -> Processes | None:
        if "process" not in self._kinds:
            return None
        if self._outside.processes is None:
            raise ConfigError('this worker has no processes, and a task says executor="process"')
        return self._outside.processes(self._loop, self._settings, self._crew.guarded)

    @property
    def _unsettled(self) -> int:
        """Outcomes that may wait to be recorded before leasing stops."""
        return 2 * sum(self._slots.values()) + 1_000

    @property
    def _places(self) -> int:
        """Starts whose outcomes are open, at most: those that run, ask, wait, are on their way, and held ready."""
        return sum(self._slots.values()) + self._settings.max_asking + self._unsettled + 2 * MAX_BATCH

    def _make_settler(self) -> Settler:
        return Settler(self._backend, self._unsettled, self._recorded, self._chance)

    def _make_midrun(self) -> Midrun:
        midrun = Midrun(self._loop, self._backend, self._outside, self._settings.max_asking, self._chance)
        midrun.connect(self._settler.add, lambda: self._beat.hurry(), lambda: self._runner, self._processes)
        return midrun

    def _make_runner(self) -> Runner:
        return self.runner_class(
            loop=self._loop,
            tasks=self._tasks,
            slots=self._slots,
            pool=self._pool,
            processes=self._processes,
            clock=self._outside.clock,
            chance=self._chance.random,
            settle=self._midrun.settle,
            freed=lambda: self._feed.freed(),
            guarded=self._crew.guarded,
            scribe=self._midrun.scribe,
        )

    def _make_feed(self) -> Feed:
        return Feed(
            queue=self._backend,
            runner=self._runner,
            settling=self._settler,
            queues=self._settings.weighted(self._queues),
            kinds=self._kinds,
            wait=_BURST_WAIT if self._settings.burst else self._settings.poll,
            chance=self._chance,
            dry=self._dry,
            guarded=self._crew.guarded,
        )

    def _make_beat(self) -> Beat:
        return Beat(
            sessions=self._backend,
            clock=self._outside.clock,
            beat=self._settings.beat,
            vitals=self._vitals,
            obey=self._obey,
        )

    def _make_sweeper(self) -> Sweeper:
        return Sweeper(
            store=self._backend,
            journals=self._outside.journals,
            clock=self._outside.clock,
            beat=self._settings.beat,
            poll=self._settings.poll,
            chance=self._chance,
            condemned=self._lost,
        )

    def _make_stand_in(self) -> StandIn:
        return StandIn(
            connect=self._backend.control,
            beat=self._beat,
            every=self._settings.beat,
            blocked_after=self._settings.blocked_after,
            clock=self._outside.clock,
            vitals=self._vitals,
            culprit=lambda: culprit(self._loop, self._runner.held.values()),
            relieve=Relief(self._loop, self._feed, self._settler, self._crew.guarded).relieve,
            failed=self._stand_in_failed,
        )

    def _make_watchdog(self) -> Watchdog:
        settings = self._settings
        return Watchdog(
            every=settings.beat,
            memory_limit=settings.memory_limit,
            patience=settings.grace if settings.supervised else None,
            strays=self._runner.strays,
            replace=self._replace,
        )

    def _make_tenure(self) -> Tenure:
        card = card_of(self._outside, self._settings, self._tasks, self._queues, self._slots)
        return Tenure(
            sessions=self._backend,
            journals=self._outside.journals,
            card=card,
            places=self._places,
            begun=self._begun,
            chance=self._chance,
        )

    @property
    def _queues(self) -> tuple[str, ...]:
        return self._settings.queues or tuple(sorted({task.queue for task in self._tasks.values()}))

    # -- sessions ------------------------------------------------------------------------------------------

    def _begun(self, session: SessionId, journal: Journal) -> None:
        self._unlisten()
        listener = Listener(self._backend, self._beat.hurry, self._settings.beat)
        self._unlisten = self._crew.start("orders", listener.run(session))
        self._runner.keep(journal, self._places)
        self._beat.session = session
        self._settler.reset(session)
        self._midrun.reset(session)
        self._feed.reset(session)

    def _obey(self, session: SessionId, orders: Orders) -> None:
        if session != self._tenure.session or session == NONE:
            return
        if orders.lost:
            self._lost(session)
        elif session == self._done:
            self.ending.stop.set()
        for order in orders.cancels:
            cancel(order.fence, order.note, self._runner, self._feed)
        self._feed.rest(orders.command is not None)
        self._midrun.hurry()
        # Asked again, a drain would not wait: an order is repeated with each renewal.
        if orders.command == "stop" and not self.ending.stop.is_set():
            self.drain()

    def _lost(self, session: SessionId) -> None:
        """If it is this worker's, what the session held is others' now: stop it all, and begin anew."""
        if session != self._tenure.session:
            return
        held = shares("job", {"to go on elsewhere": len(self._runner.held)})
        log.error("session %016x has been ended, a new one begins: %s", session, held)
        self._tenure.lose()
        self._feed.reset(NONE)
        self._settler.reset(NONE)
        self._midrun.reset(NONE)
        self._runner.lose()
        self._crew.start("reopen", self._tenure.reopen(self.ending.stop))

    # -- what the parts tell -------------------------------------------------------------------------------

    def _recorded(self, end: Settlement, verdict: Verdict) -> None:
        run = self._runner.held.get(end.id)
        self._runner.forget(end.id, end.starts)
        self._timer.settled(end)
        if verdict is Verdict.STALE:
            id = ids.to_text(end.id)
            log.warning("%s start %d: its outcome came too late and changes nothing", id, end.starts)
            self._beat.hurry()
        elif self._observer is not None and run is not None:
            self._observer(run, end)
        self._feed.wake()

    def _dry(self) -> None:
        # Silent sessions may hold jobs that are to run again, and nobody else may ever look.
        if self._settings.burst and self._tenure.session != NONE and not self._sweeper.undecided:
            # A session that others have ended finds nothing either: the next renewal tells which it is.
            self._done = self._tenure.session
            self._beat.hurry()

    def _stand_in_failed(self, error: BaseException) -> None:
        """From the keeper's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to hear of it
            self._loop.call_soon_threadsafe(self.ending.fail, "the stand-in", error)

    def _vitals(self) -> Vitals:
        lag, load, stopping = self._beat.pulse.lag, self._outside.load(), self.ending.stop.is_set()
        return vitals_of(self._slots, self._runner.free, self._feed, self._settler, lag, load, stopping)

    # -- the end -------------------------------------------------------------------------------------------

    async def _shut_down(self) -> Exit:
        self._feed.close()
        if self.ending.fault is not None:
            # Their jobs go on elsewhere once the session is over; here, nobody would record their outcomes.
            with contextlib.suppress(Exception):  # what failed may fail again; the first time counts
                self._runner.lose()
            await aio.happened(asyncio.Event(), CLEAN_UP)
            raise self.ending.fault
        kept = last_words(self._settings.grace)
        clean = await finish(self._runner, self.ending.hasten, self._settings.grace - kept)
        if not (await self._midrun.flushed(kept / 2) and await self._settler.flushed(kept)):
            clean = False
            log.error("the backend did not record the last outcomes; their jobs run again")
        await self._tenure.close()
        if self._replacing:
            return Exit.REPLACE
        return Exit.CLEAN if clean else Exit.CUT
