"""The application: its tasks, its backend, and what its users do with both."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypeVar, Unpack
from uuid import UUID

from noria import ids
from noria.app import apart, catalog
from noria.app.binding import decode_anything
from noria.app.catalog import TaskSheet
from noria.app.config import backend_url, public_url, runtime_folder
from noria.app.connect import connect, read_url, without_credentials
from noria.app.dead import DeadLetters
from noria.app.declare import Declare, check_free, define
from noria.app.doubts import worker_settings
from noria.app.job import Draft, Job
from noria.app.launch import launch_of
from noria.app.lifespan import as_lifespan
from noria.app.link import Links
from noria.app.onion import Layers, Middleware
from noria.app.options import WorkerOptions, nearest
from noria.app.providers import Overrides
from noria.app.questions import Questions
from noria.app.queues import Queues
from noria.app.router import AnyTask, Router, as_router
from noria.app.schedules import Schedules
from noria.app.surround import Surroundings
from noria.app.sync import Sync, drafts_of, enqueue_many
from noria.app.task import Defined, Home, Seat, TaskFunction
from noria.app.ties import Families
from noria.app.timers import Timers
from noria.backends.contract import Backend
from noria.clock import Clock, SystemClock
from noria.errors import ConfigError, InvalidOption, UnknownTask, shown
from noria.ids import Entropy, IdSource
from noria.model.schedule import Schedule
from noria.model.task import APART, Executor, TaskDef
from noria.model.wording import count
from noria.worker import Worker
from noria.worker.outside import real_outside
from noria.worker.processes import Launch
from noria.worker.worker import Observer

R = TypeVar("R")
M = TypeVar("M", bound=Middleware)
L = TypeVar("L", bound=Callable[[], Any])


class Noria:
    """An application: declares tasks, enqueues their jobs, and makes workers that run them.

    Nothing is opened before `async with app:`, which may be nested, and entered in several event loops.

    Args:
        url: the backend, such as `sqlite:///noria.db`; left out, `NORIA_URL` says it, or it is that one.
        backend: the backend itself, instead of a URL; only one event loop at a time can use it.
        runtime: with `backend`, the private folder for a worker's journals.
        middleware: layers around every job, the outermost first; see `Middleware`.
        clock, entropy: time and randomness, for tests.

    Attributes:
        url: as given; another one may be set while the application is not open.
        task: the decorator that declares tasks; see `Declare`.
        sync: the same for code without an event loop; see `Sync`.
        dead: the failed jobs that nobody has dealt with; see `DeadLetters`.
        group, resource: declare families of groups, and resources; see `Families`.
        queue: declares limits and the weight of a queue; see `Queues.declare`.
        questions: what jobs ask of persons; see `Questions`.
        every, cron: decorators that give a task a timer; see `Timers`.
        schedules: the timers that there are, from code and from persons; see `Schedules`.

    Raises:
        ConfigError: both a URL and a backend are given, the URL names no backend that exists, or something is
            no middleware.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        backend: Backend | None = None,
        runtime: Path | None = None,
        middleware: Sequence[Middleware] = (),
        clock: Clock | None = None,
        entropy: Entropy = ids.system_entropy,
    ) -> None:
        if backend is not None and url is not None:
            raise ConfigError("an application has one backend; give a url or a backend, not both")
        if url is not None:
            read_url(url)
        self.url, self._backend, self._runtime = url, backend, runtime
        clock = clock or SystemClock()
        self._queues = Queues()
        self.queue = self._queues.declare
        self._links = Links(
            self._connect, lambda: self._home.clock, self._queues.apply, shared=backend is not None
        )
        self._layers = Layers(middleware)
        self._home = Home(
            links=self._links,
            ids=IdSource(clock, entropy),
            clock=clock,
            entropy=entropy,
            layers=self._layers,
            families=Families(),
            weights=self._queues.weights,
        )
        self.group, self.resource = self._home.families.group, self._home.families.resource
        self._staged = False
        self._tasks: dict[str, AnyTask] = {}
        self._definitions: dict[str, TaskDef] = {}
        self._lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
        self.task = Declare(self._declare, {})
        self._timers = Timers(self._home)
        self.every, self.cron = self._timers.every, self._timers.cron
        self.schedules = Schedules(self._links, self._home, self.find_task)
        self.dead = DeadLetters(self._links)
        self.questions = Questions(self._links, self._home)
        self.sync = Sync(self, self._links)

    # -- open and closed -----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open the backend for this event loop, or hold it open once more.

        Raises:
            ConfigError: the backend cannot be used as configured; the message says the remedy.
            Unavailable: it cannot be reached.
        """
        apart.refuse_opening()
        await self._links.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the backend, if nobody else in this event loop holds it open.

        A worker that still runs drains first; after an exception it hands back at once what it runs.
        """
        await self._links.leave(now=error is not None)

    @property
    def backend(self) -> Backend:
        """The backend that is open on this event loop; for those who build on its contract.

        Raises:
            NotRunning: the application is not open here.
        """
        return self._links.here().backend

    @property
    def home(self) -> Home:
        """What its tasks share; for who builds on an application, such as its front door."""
        return self._home

    @property
    def where(self) -> str | None:
        """The URL of the backend: as given, or else as the environment says now; None if `backend` was given."""
        if self._backend is not None:
            return None
        return self.url if self.url is not None else backend_url()

    def _connect(self) -> Backend:
        where = self.where
        if where is not None:
            return connect(where, self._home.clock, self._home.ids)
        assert self._backend is not None
        return self._backend

    # -- tasks ---------------------------------------------------------------------------------------------

    @property
    def tasks(self) -> Mapping[str, TaskDef]:
        """Every declared task by name, as a worker sees it."""
        return MappingProxyType(self._definitions)

    def find_task(self, name: str) -> AnyTask:
        """The task of this name, to enqueue jobs by name.

        Raises:
            UnknownTask: none is declared; the message names the nearest one.
        """
        found = self._tasks.get(name) if isinstance(name, str) else None
        if found is None:
            raise UnknownTask(f"no task {shown(name)} is declared; {nearest(name, self._tasks)}")
        return found

    def sheets(self) -> list[TaskSheet]:
        """Every declared task as others may know it, with JSON schemas of its arguments and result."""
        return [
            catalog.sheet_of(task.definition, task.signature, self._home.families.ties_of(task.definition))
            for task in self._tasks.values()
        ]

    def _declare(self, function: Callable[..., Any], options: Mapping[str, Any], /) -> AnyTask:
        defined = define(function, options)
        check_free(defined.definition, self._definitions)
        task: AnyTask = TaskFunction(Seat(defined, None))
        self._take(task, defined)
        return task

    def include(self, router: Router, *, prefix: str = "", queue: str | None = None) -> None:
        """Take in the tasks of a router; from now on their jobs can be enqueued.

        Args:
            prefix: put before the names of its tasks, such as "billing."; a prefix of the router's own follows it.
            queue: where the jobs of its tasks wait, instead of where the router says; a task that names a queue
                itself keeps it.

        Raises:
            TaskDefinitionError: a name is taken, or the router was included before. Nothing was taken in.
            InvalidName: the prefix or the queue has a form that no backend accepts.
        """
        known = dict(self._definitions)
        placed = as_router(router).placed(prefix, queue)
        for _, defined in placed:
            check_free(defined.definition, known)
            known[defined.definition.name] = defined.definition
        router.taken()
        for task, defined in placed:
            self._take(task, defined)

    def _take(self, task: AnyTask, defined: Defined) -> None:
        task.seat.defined, task.seat.home = defined, self._home
        self._tasks[task.name] = task
        self._definitions[task.name] = defined.definition

    def middleware(self, layer: M) -> M:
        """Add a layer around every job, inside of those that are there; also as a decorator over a function.

        Workers that exist already do without it.

        Raises:
            ConfigError: it is no middleware.
        """
        self._layers.add(layer)
        return layer

    # -- timers --------------------------------------------------------------------------------------------

    def declared_schedules(self, clock: Clock | None = None) -> Mapping[str, Schedule]:
        """The timers that this code declares, by name, as a worker begins them; for who makes workers."""
        return self._timers.declared(clock or self._home.clock)

    # -- jobs ----------------------------------------------------------------------------------------------

    async def enqueue_many(self, drafts: Iterable[Draft[R]], *, conn: object | None = None) -> list[Job[R]]:
        """Enqueue many jobs, described by `task.job(...)`, in pushes of at most 1,000.

        Args:
            conn: a connection of psycopg 3 or asyncpg to the database of this application's PostgreSQL backend: the
                jobs are enqueued in its transaction, and are there if and when that commits.

        Returns:
            a job for each draft, in order. On return all of them are stored.

        Raises:
            InvalidInput: it is no list of drafts.
            Conflict: a job of another task has the id of one of them. With `conn`, undo the transaction.
            Unavailable, Unknown: some pushes may not have been done. Calling it again with the same drafts is
                safe, and enqueues only what is missing.
            NotRunning: the application is not open on this event loop.
            ConfigError: `conn` is given, and the backend is not PostgreSQL.
        """
        return await enqueue_many(self._links, drafts_of(drafts), conn)

    def job(self, id: str | UUID) -> Job[Any]:
        """A job by its id, whoever enqueued it. Nothing is read yet; its value comes as JSON has it.

        Raises:
            InvalidInput: the id is not a UUID.
        """
        return Job(ids.from_text(id), self._links, self._home.clock, decode_anything)

    # -- workers -------------------------------------------------------------------------------------------

    def lifespan(self, function: L) -> L:
        """Declare what workers need while they run, such as connections: a decorator, used at most once.

        The function takes nothing and is an async generator that yields once, or returns an async context
        manager. What it yields is `Context.state` in every job. A worker opens it before its first job and
        closes it after its last.

        Raises:
            ConfigError: it is of another kind, or there is one already.
        """
        if self._lifespan is not None:
            raise ConfigError("an application has one lifespan; let it open everything that its tasks need")
        self._lifespan = as_lifespan(function)
        return function

    def worker(
        self,
        *,
        observer: Observer | None = None,
        overrides: Overrides | None = None,
        **settings: Unpack[WorkerOptions],
    ) -> Worker:
        """Make a worker for this application's tasks, inside `async with app:`; then await its `run()`.

        Logs a warning of settings that are probably not meant: a queue that no task uses, or no slots for tasks.

        Args:
            observer: hears of each recorded outcome, on the event loop; must not raise.
            overrides: for tests: for some providers of dependencies, others that stand in for them.
            settings: as in `WorkerSettings`.

        Raises:
            InvalidOption: a setting is unknown, of the wrong type or out of range.
            ConfigError: no task is declared, an override is for what no task depends on, a task runs in processes
                and they could not import the application, or this is such a process, or a test that has a worker.
            NotRunning: the application is not open on this event loop.
        """
        apart.refuse_worker()
        if observer is not None and not callable(observer):
            raise InvalidOption(f"observer must be a function, not {shown(observer)}", field="observer")
        if self._staged:
            raise ConfigError("inside noria.testing.run a worker runs already; wait for its jobs, or drain()")
        surroundings = self.surroundings(overrides, leave=APART)
        checked = worker_settings(settings, self.tasks, self._queues.weights)
        worker = Worker(
            self.backend,
            surroundings.tasks,
            settings=checked,
            outside=real_outside(self._runtime_folder(), os.getpid(), self._launch(overrides), public_url()),
            lifespan=catalog.announcing(
                self.backend, self.sheets(), surroundings.lifespan, self._home.families
            ),
            observer=observer,
            schedules=self.declared_schedules(),
        )
        self._links.here().workers.add(worker)
        return worker

    def surroundings(
        self,
        overrides: Overrides | None = None,
        *,
        lifespan: bool = True,
        leave: Collection[Executor] = (),
    ) -> Surroundings:
        """The tasks as one worker runs them, inside middleware and with their dependencies; for who makes workers.

        Args:
            lifespan: whether the application's own is opened with them.
            leave: tasks of these executors are left as they are.

        Raises:
            ConfigError: an override is for what no task depends on.
        """
        return Surroundings(
            [task.seat.defined for task in self._tasks.values()],
            middleware=self._layers.layers,
            overrides=overrides,
            lifespan=self._lifespan if lifespan else None,
            leave=leave,
        )

    def _launch(self, overrides: Overrides | None) -> Launch | None:
        launch = launch_of(self, url=self.where, has_state=self._lifespan is not None)
        if launch is not None and overrides:
            raise ConfigError(
                'overrides do not reach tasks with executor="process"; noria.testing runs them here'
            )
        return launch

    @contextmanager
    def staged(self, backend: Backend, clock: Clock, ids: IdSource) -> Iterator[None]:
        """Use another backend and another time for a while; for `noria.testing`.

        Raises:
            ConfigError: the application is open.
        """
        home, known = self._home, (self._home.clock, self._home.ids, self._staged)
        with self._links.borrowed(lambda: backend):
            home.clock, home.ids, self._staged = clock, ids, True
            try:
                yield
            finally:
                home.clock, home.ids, self._staged = known

    def _runtime_folder(self) -> Path:
        where = self.where
        if where is not None:
            return runtime_folder(read_url(where).path)
        if self._runtime is None:
            raise ConfigError("a worker needs a private folder: give Noria(backend=..., runtime=...) one")
        return self._runtime

    def __repr__(self) -> str:
        where = self.where
        what = type(self._backend).__name__ if where is None else without_credentials(where)
        return f"<Noria {what}, {count(len(self._tasks), 'task')}>"
