"""`noria.testing.run`: an application with the real worker and the real store, in virtual time, in one thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Unpack

from noria import ids
from noria.app.application import Noria
from noria.app.binding import decode_anything
from noria.app.options import WorkerOptions, check_names
from noria.app.providers import Overrides
from noria.backends.sqlite import SqliteBackend
from noria.backends.sqlite.store import SqliteStore
from noria.clock import Clock, SystemClock
from noria.errors import ConfigError, UnknownTask, shown
from noria.ids import IdSource
from noria.testing.enqueued import Witness
from noria.testing.fleet import Fleet, StageThreads
from noria.testing.machine import ThreadProcesses, VirtualJournals
from noria.testing.mishaps import FatefulBackend, Plan
from noria.testing.stage import Stage, on_stage
from noria.testing.trial import Trial
from noria.worker.outside import Outside
from noria.worker.settings import WorkerSettings
from noria.worker.worker import Worker

Read = Callable[[str, bytes, str], dict[str, Any]]
"""A job's arguments by name: of its task, body and codec."""

_DAY: Final = 86_400.0
_SELDOM: Final = _DAY
"""Seconds between looks for what nobody told: here no hint is lost, and a year must not take long."""
_LONG: Final = 10 * 366 * _DAY
"""Seconds for which records are kept: a test looks at them after any time."""


class StageClock:
    """The time of a test: that of its stage, from a point of wall time on."""

    def __init__(self, stage: Stage, wall: float) -> None:
        self._stage = stage
        self._offset = wall - stage.now

    def wall(self) -> float:
        return self._stage.now + self._offset

    def monotonic(self) -> float:
        return self._stage.now


def make_store(clock: Clock, ids: IdSource, **settings: Any) -> SqliteBackend:
    """The store of a test: the real one, in memory, in the thread of whoever calls it."""
    return SqliteBackend(":memory:", runtime=Path(), clock=clock, ids=ids, inline=True, **settings)


class Play:
    """The store of a test, and what stands before it; the contract's suite runs through the same.

    Attributes:
        store: in memory; everybody has a sibling of it.
    """

    def __init__(
        self, store: SqliteBackend, connect: Callable[[], SqliteStore], read: Read, clock: Clock
    ) -> None:
        self.store = store
        self._connect = connect
        self._read = read
        self._clock = clock

    def witness(self, beside: Witness | None = None) -> Witness:
        """A way to the store that writes down what is pushed; into the same list as another one."""
        return Witness(self._connect(), self._read, self._clock.wall, None if beside is None else beside.seen)

    def fateful(
        self, plan: Plan, *, behind: Witness | None = None, **doing: Callable[[], None]
    ) -> FatefulBackend:
        """A worker's way to the store, which has mishaps to plan.

        Args:
            behind: it goes through this one, too.
            doing: what the plan's mishaps do, as `FatefulBackend` has it.
        """
        return FatefulBackend(self._connect() if behind is None else behind, plan, **doing)


def compose(clock: Clock, make_ids: Callable[[], IdSource], read: Read, **settings: Any) -> Play:
    """Make the store of a test, and what stands before it.

    Args:
        make_ids: called for each who opens the store.
        read: a job's arguments by name: (task, body, codec).
        settings: of the store.
    """
    store = make_store(clock, make_ids(), **settings)
    return Play(store, lambda: store.sibling(make_ids()), read, clock)


@asynccontextmanager
async def run(
    app: Noria,
    *,
    overrides: Overrides | None = None,
    now: datetime | None = None,
    patience: float = 1.0,
    **settings: Unpack[WorkerOptions],
) -> AsyncIterator[Trial]:
    """Run an application for a test: `async with noria.testing.run(app) as t:`.

    The application is open inside, on a store of its own in memory, and a worker runs. Both are the real ones;
    only time is virtual, for everything in this event loop. It stands still while a thread runs or a socket of the
    program's own is open, but no longer than `patience`, and otherwise moves as soon as everybody waits.

    Args:
        app: not open.
        overrides: for some providers of dependencies, others that stand in for them.
        now: the time at which the test begins, with a time zone; the real one if left out.
        patience: real seconds for which time stands still for threads and I/O that give no sign of life.
        settings: of the worker; see `WorkerSettings`.

    Raises:
        ConfigError: `now` or `patience` is not of its kind; the application is open, has no tasks, or an override is
            for what no task depends on; or this event loop is not asyncio's own, or is in a test already.
        InvalidOption: a setting is unknown, of the wrong type or out of range.
        Whatever keeps the worker from starting, such as an error of the application's lifespan.
    """
    check_names("noria.testing.run", settings, WorkerOptions.__annotations__)
    if not isinstance(app, Noria):
        raise ConfigError(f"noria.testing.run takes an application, not {shown(app)}")
    if settings.get("burst"):
        raise ConfigError(
            "noria.testing.run keeps its worker until the end; to wait for its jobs, await t.drain()"
        )
    if now is not None and (not isinstance(now, datetime) or now.tzinfo is None):
        raise ConfigError(f"now must be a datetime with a time zone, as datetime.now(UTC), not {shown(now)}")
    # Written so that NaN fails as well.
    if not isinstance(patience, int | float) or isinstance(patience, bool) or not 0 <= patience <= _DAY:
        raise ConfigError(f"patience must be 0 to {_DAY:g} real seconds, not {shown(patience)}")
    weights = {**app.home.weights, **settings.pop("weights", {})}
    chosen: WorkerOptions = {"ttl": _DAY, "beat": _DAY / 4, "poll": _SELDOM, "weights": weights, **settings}
    with on_stage(patience) as stage:
        clock = StageClock(stage, SystemClock().wall() if now is None else now.timestamp())
        async with _played(
            app, stage, clock, _maker(app, stage, clock, overrides, WorkerSettings(**chosen))
        ) as trial:
            yield trial


@asynccontextmanager
async def _played(
    app: Noria, stage: Stage, clock: Clock, make: Callable[[Any, int], Worker]
) -> AsyncIterator[Trial]:
    chance = ids.seeded(0).randbytes
    play = compose(
        clock, lambda: IdSource(clock, chance), _reader(app), poll=_SELDOM, keep_succeeded=_LONG, keep_dead=_LONG
    )  # fmt: skip
    witness = play.witness()

    def connect(plan: Plan, **doing: Callable[[], None]) -> FatefulBackend:
        return play.fateful(plan, behind=play.witness(witness), **doing)

    fleet = Fleet(stage, connect, make)
    async with aclosing(play.store):
        await play.store.start()
        with app.staged(witness, clock, IdSource(clock, chance)):
            async with app:
                try:
                    await fleet.hire()
                    yield Trial(app, stage, clock, play.store, witness, fleet)
                    fleet.check()
                finally:
                    await fleet.close()


def _maker(
    app: Noria, stage: Stage, clock: Clock, overrides: Overrides | None, settings: WorkerSettings
) -> Callable[[Any, int], Worker]:
    journals = VirtualJournals()

    def make(backend: Any, number: int) -> Worker:
        surroundings = app.surroundings(overrides)
        outside = Outside(
            clock=clock,
            entropy=ids.seeded(number).randbytes,
            journals=journals,
            threads=lambda loop, breather: StageThreads(stage, loop),
            processes=lambda loop, settings, guarded: ThreadProcesses(
                StageThreads(stage, loop), surroundings.tasks, clock.wall
            ),
            host="test",
            pid=number,
            stand_in=False,
        )
        return Worker(
            backend,
            surroundings.tasks,
            settings=settings,
            outside=outside,
            lifespan=surroundings.lifespan,
            schedules=app.declared_schedules(clock),
        )

    return make


def _reader(app: Noria) -> Read:
    def read(task: str, body: bytes, codec: str) -> dict[str, Any]:
        try:
            return app.find_task(task).seat.defined.binding.read(body, codec)
        except UnknownTask:
            return dict(decode_anything(body, codec))

    return read
