"""The worker: its parts, wired; its life from open to drained."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import Enum
from typing import Any, ClassVar, Final

from noria import aio, ids
from noria.aio import Breather, Crew
from noria.backends.contract import Backend, Fence, Orders, Verdict, Vitals, WorkerCard
from noria.errors import BackendError, ConfigError, NoriaError
from noria.ids import SessionId
from noria.model import outcome as ends
from noria.model.outcome import Failure, Settlement
from noria.model.task import TaskDef
from noria.worker.feed import Feed
from noria.worker.journal import Journal
from noria.worker.keeper import Beat, StandIn
from noria.worker.outside import Outside
from noria.worker.run import Doom, Run, Runner, label
from noria.worker.settings import WorkerSettings
from noria.worker.settle import Settler
from noria.worker.sweep import Sweeper
from noria.worker.tenure import NONE, Tenure

log = logging.getLogger("noria.worker")

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]
Observer = Callable[[Run, Settlement], None]

_LAST_WORDS: Final = 2.0
"""Seconds kept back from the grace, at most, to record the last outcomes."""
_CLEAN_UP: Final = 0.05
"""Seconds that coroutines get to clean up after they were cancelled."""
_BURST_WAIT: Final = 0.05
"""Seconds that a lease waits in burst mode, in which nobody waits for work to come."""


class Exit(Enum):
    """How a worker came to its end.

    CLEAN: all that it had begun was finished. CUT: the grace was over; running jobs were handed back, or
    outcomes could not be recorded any more.
    """

    CLEAN = "clean"
    CUT = "cut"


class WorkerFault(NoriaError):
    """A part of the worker failed. It stops at once and loudly; its jobs run again elsewhere."""


class Worker:
    """Runs the jobs of an application's tasks until it is drained. Make it inside a running loop.

    Args:
        backend: started by the caller, who also closes it.
        tasks: the tasks it knows, by name.
        settings: how much it runs at once, and how patient it is.
        outside: time, randomness, journals and threads.
        lifespan: opened before the first job; what it yields is `Context.state`.
        observer: hears of each recorded outcome.

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
    ) -> None:
        if not tasks:
            raise ConfigError("this application declares no tasks: a worker would have nothing to do")
        self._backend = backend
        self._tasks = tasks
        self._settings = settings
        self._outside = outside
        self._lifespan = lifespan
        self._observer = observer
        self._loop = asyncio.get_running_loop()
        self._chance = ids.jitter_source(outside.entropy)
        self._fault: tuple[str, BaseException] | None = None
        self._stop, self._hasten = asyncio.Event(), asyncio.Event()
        self.started = asyncio.Event()
        self._crew = Crew("noria", self._failed)
        self._pool = outside.threads(self._loop, Breather(self._loop))
        self._settler = self._make_settler()
        self._runner = self._make_runner()
        self._feed = self._make_feed()
        self._beat = self._make_beat()
        self._sweeper = self._make_sweeper()
        self._tenure = self._make_tenure()
        self._stand_in = self._make_stand_in() if outside.stand_in else None
        self._unlisten: Callable[[], None] = lambda: None

    # -- life ----------------------------------------------------------------------------------------------

    async def run(self) -> Exit:
        """Work until `drain` is called or, in burst mode, until there is nothing to do.

        Returns:
            whether all that had begun was finished.

        Raises:
            WorkerFault: a part of the worker failed.
            BackendError: the session could not be opened.
        """
        try:
            async with self._resources() as state:
                self._runner.state = state
                await self._sweeper.bury()
                await self._tenure.open()
                self._start_parts()
                self.started.set()
                return await self._work()
        finally:
            await self._close_parts()

    async def _work(self) -> Exit:
        try:
            await self._stop.wait()
        except asyncio.CancelledError:
            # Whoever cancels `run` wants it to end now, and jobs that are handed back need not be waited for.
            self.drain(now=True)
            with contextlib.suppress(WorkerFault):
                await self._shut_down()
            raise
        return await self._shut_down()

    def drain(self, *, now: bool = False) -> None:
        """Stop leasing, finish what runs within the grace, hand back the rest; called again: do not wait."""
        if now or self._stop.is_set():
            self._hasten.set()
        self._stop.set()

    def _resources(self) -> AbstractAsyncContextManager[Any]:
        return self._lifespan() if self._lifespan is not None else contextlib.nullcontext()

    def _start_parts(self) -> None:
        self._crew.start("beat", self._beat.run())
        self._crew.start("turn", self._beat.turn())
        self._crew.start("settle", self._settler.run())
        for name, part in self._feed.parts().items():
            self._crew.start(name, part)
        self._crew.start("sweep", self._sweeper.run())
        if self._stand_in is not None:
            self._stand_in.start()

    async def _close_parts(self) -> None:
        if self._stand_in is not None:
            self._stand_in.close()
        late = await self._crew.aclose(_LAST_WORDS)
        if late:
            log.error("these parts did not end: %s", ", ".join(late))
        self._runner.close()
        self._pool.close()

    # -- the parts -----------------------------------------------------------------------------------------

    @property
    def _slots(self) -> int:
        return self._settings.concurrency + self._settings.threads

    def _make_settler(self) -> Settler:
        most = 2 * self._slots + 1_000
        return Settler(self._backend, most, self._recorded, self._chance)

    def _make_runner(self) -> Runner:
        return self.runner_class(
            loop=self._loop,
            tasks=self._tasks,
            concurrency=self._settings.concurrency,
            threads=self._settings.threads,
            pool=self._pool,
            clock=self._outside.clock,
            chance=self._chance.random,
            settle=self._settler.add,
            freed=self._freed,
            guarded=self._crew.guarded,
        )

    def _make_feed(self) -> Feed:
        return Feed(
            queue=self._backend,
            runner=self._runner,
            settling=self._settler,
            queues=self._queues,
            kinds={task.executor for task in self._tasks.values()},
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
        )

    def _make_stand_in(self) -> StandIn:
        return StandIn(
            connect=self._backend.control,
            beat=self._beat,
            every=self._settings.beat,
            blocked_after=self._settings.blocked_after,
            clock=self._outside.clock,
            vitals=self._vitals,
            culprit=self._culprit,
            failed=self._stand_in_failed,
        )

    def _make_tenure(self) -> Tenure:
        outside = self._outside
        card = WorkerCard(
            worker=self._settings.name or f"{outside.host}-{outside.pid}"[-128:],
            host=outside.host,
            pid=outside.pid,
            tasks=tuple(sorted(self._tasks)),
            queues=self._queues,
            ttl=self._settings.ttl,
            slots=self._slots,
        )
        return Tenure(
            sessions=self._backend,
            journals=outside.journals,
            card=card,
            begun=self._begun,
            chance=self._chance,
        )

    @property
    def _queues(self) -> tuple[str, ...]:
        return self._settings.queues or tuple(sorted({task.queue for task in self._tasks.values()}))

    # -- sessions ------------------------------------------------------------------------------------------

    def _begun(self, session: SessionId, journal: Journal) -> None:
        self._unlisten()
        self._unlisten = self._crew.start("orders", self._listen(session))
        self._runner.journal = journal
        self._beat.session = session
        self._settler.reset(session)
        self._feed.reset(session)

    def _obey(self, session: SessionId, orders: Orders) -> None:
        if session != self._tenure.session or session == NONE:
            return
        if orders.lost:
            self._lost(session)
        for fence in orders.cancels:
            self._cancel(fence)

    def _lost(self, session: SessionId) -> None:
        """What the session held is others' now: stop it all, and begin anew."""
        held = len(self._runner.held)
        log.error("session %016x was ended by others: its %d jobs go on elsewhere", session, held)
        self._tenure.lose()
        self._feed.reset(NONE)
        self._settler.reset(NONE)
        self._runner.lose()
        self._crew.start("reopen", self._tenure.reopen(self._stop))

    def _cancel(self, fence: Fence) -> None:
        run = self._runner.held.get(fence.id)
        if run is None or run.lease.starts != fence.starts or run.settled:
            return
        if run.slot >= 0:
            self._runner.doom(run, Doom.CANCEL)
        else:
            self._feed.drop(run)
            self._runner.refuse(run, ends.after_cancel(Failure.of("cancelled", "cancelled before it began")))

    async def _listen(self, session: SessionId) -> None:
        """Hear at once of a session's orders, which the next beat would bring as well."""
        while True:
            try:
                async with self._backend.listen([f"session:{session}"]) as hints:
                    async for hint in hints:
                        if not hint.reset:
                            self._beat.hurry()
            except BackendError as error:
                log.warning("orders come with the beat for a while, since listening failed: %s", error)
            await aio.sleep(self._settings.beat)

    # -- what the parts tell -------------------------------------------------------------------------------

    def _freed(self) -> None:
        self._feed.freed()

    def _recorded(self, end: Settlement, verdict: Verdict) -> None:
        run = self._runner.held.get(end.id)
        self._runner.forget(end.id, end.starts)
        if verdict is Verdict.STALE:
            id = ids.to_text(end.id)
            log.warning("%s start %d: its outcome came too late and changes nothing", id, end.starts)
            self._beat.hurry()
        elif self._observer is not None and run is not None:
            self._observer(run, end)
        self._feed.wake()

    def _dry(self) -> None:
        if self._settings.burst and self._tenure.session != NONE:
            self._stop.set()

    def _failed(self, part: str, error: BaseException) -> None:
        if self._fault is None:
            self._fault = part, error
            log.critical("%s failed: %r; the worker stops", part, error)
        self._stop.set()

    def _stand_in_failed(self, error: BaseException) -> None:
        """From the keeper's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to hear of it
            self._loop.call_soon_threadsafe(self._failed, "the stand-in", error)

    def _vitals(self) -> Vitals:
        free = self._runner.free
        return Vitals(
            running=self._slots - free["async"] - free["thread"],
            buffered=self._feed.buffered,
            unsettled=self._settler.unsettled,
            settled=self._settler.settled,
            lag=self._beat.pulse.lag,
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        )

    def _culprit(self) -> str:
        """From the keeper's thread: the job that runs on the loop now; empty if none does."""
        task = asyncio.current_task(self._loop)
        for run in list(self._runner.held.values()):
            if run.handle is not None and run.handle is task:
                return label(run.lease)
        return ""

    # -- the end -------------------------------------------------------------------------------------------

    async def _shut_down(self) -> Exit:
        self._feed.close()
        if self._fault is not None:
            part, error = self._fault
            # Their jobs go on elsewhere once the session is over; here, nobody would record their outcomes.
            with contextlib.suppress(Exception):  # what failed may fail again; the first time counts
                self._runner.lose()
            await aio.happened(asyncio.Event(), _CLEAN_UP)
            raise WorkerFault(f"{part} failed: {error!r}; its jobs run again elsewhere") from error
        last_words = min(_LAST_WORDS, self._settings.grace / 4)
        clean = await self._finish(self._settings.grace - last_words)
        if not await self._settler.flushed(last_words):
            clean = False
            log.error("the backend did not record the last outcomes; their jobs run again")
        await self._tenure.close()
        return Exit.CLEAN if clean else Exit.CUT

    async def _finish(self, seconds: float) -> bool:
        """Let running jobs end; then hand back those that have not."""
        end = self._loop.time() + seconds
        while self._runner.unfinished() and not self._hasten.is_set() and self._loop.time() < end:
            await aio.happened(self._hasten, 0.02)
        left_over = self._runner.unfinished()
        for run in left_over:
            self._runner.doom(run, Doom.DRAIN)
        # A handler that had its chance is handed back as it is.
        await aio.happened(asyncio.Event(), _CLEAN_UP if left_over else 0)
        for run in self._runner.unfinished():
            self._runner.hand_back(run)
        return not left_over
