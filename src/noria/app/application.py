"""The application: its tasks, its backend, and what its users do with both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypeVar, Unpack

from noria import ids
from noria.app.binding import Binding, decode_anything
from noria.app.config import backend_url, runtime_folder
from noria.app.connect import connect, read_url, without_credentials
from noria.app.dead import DeadLetters
from noria.app.declare import Declare
from noria.app.job import Draft, Job
from noria.app.lifespan import as_lifespan
from noria.app.link import Links
from noria.app.options import WorkerOptions, check_names, nearest
from noria.app.sync import Sync, enqueue_many
from noria.app.task import TaskFunction
from noria.backends.contract import Backend
from noria.clock import Clock, SystemClock
from noria.errors import ConfigError, InvalidOption, TaskDefinitionError, UnknownTask, shown
from noria.ids import Entropy, IdSource
from noria.model.task import TaskDef
from noria.worker import Worker
from noria.worker.outside import real_outside
from noria.worker.settings import WorkerSettings
from noria.worker.worker import Observer

R = TypeVar("R")
L = TypeVar("L", bound=Callable[[], Any])


class Noria:
    """An application: declares tasks, enqueues their jobs, and makes workers that run them.

    Nothing is opened before `async with app:`, which may be nested, and entered in several event loops.

    Args:
        url: the backend, such as `sqlite:///noria.db`; left out, `NORIA_URL` says it, or it is that one.
        backend: the backend itself, instead of a URL; only one event loop at a time can use it.
        runtime: with `backend`, the private folder for a worker's journals.
        clock, entropy: time and randomness, for tests.

    Attributes:
        url: as given; another one may be set while the application is not open.
        task: the decorator that declares tasks; see `Declare`.
        sync: the same for code without an event loop; see `Sync`.
        dead: the failed jobs that nobody has dealt with; see `DeadLetters`.

    Raises:
        ConfigError: both a URL and a backend are given, or the URL names no backend that exists.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        backend: Backend | None = None,
        runtime: Path | None = None,
        clock: Clock | None = None,
        entropy: Entropy = ids.system_entropy,
    ) -> None:
        if backend is not None and url is not None:
            raise ConfigError("an application has one backend; give a url or a backend, not both")
        if url is not None:
            read_url(url)
        self.url = url
        self._backend = backend
        self._runtime = runtime
        self._clock: Clock = clock or SystemClock()
        self._entropy = entropy
        self._ids = IdSource(self._clock, entropy)
        self._links = Links(self._connect, shared=backend is not None)
        self._tasks: dict[str, TaskFunction[..., Any, ..., Any]] = {}
        self._definitions: dict[str, TaskDef] = {}
        self._lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
        self.task = Declare(self._register, {})
        self.dead = DeadLetters(self._links)
        self.sync = Sync(self, self._links)

    # -- open and closed -----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open the backend for this event loop, or hold it open once more.

        Raises:
            ConfigError: the backend cannot be used as configured; the message says the remedy.
            Unavailable: it cannot be reached.
        """
        await self._links.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the backend, if nobody else in this event loop holds it open."""
        await self._links.leave()

    @property
    def backend(self) -> Backend:
        """The backend that is open on this event loop; for those who build on its contract.

        Raises:
            NotRunning: the application is not open here.
        """
        return self._links.here().backend

    def _connect(self) -> Backend:
        return self._backend or connect(self._where, self._clock, self._ids)

    @property
    def _where(self) -> str:
        return self.url if self.url is not None else backend_url()

    # -- tasks ---------------------------------------------------------------------------------------------

    @property
    def tasks(self) -> Mapping[str, TaskDef]:
        """Every declared task by name, as a worker sees it."""
        return MappingProxyType(self._definitions)

    def find_task(self, name: str) -> TaskFunction[..., Any, ..., Any]:
        """The task of this name, to enqueue jobs by name.

        Raises:
            UnknownTask: none is declared; the message names the nearest one.
        """
        found = self._tasks.get(name) if isinstance(name, str) else None
        if found is None:
            raise UnknownTask(f"no task {shown(name)} is declared; {nearest(name, self._tasks)}")
        return found

    def _register(self, definition: TaskDef, binding: Binding, /) -> TaskFunction[..., Any, ..., Any]:
        name = definition.name
        taken = self._definitions.get(name)
        if taken is not None:
            raise TaskDefinitionError(
                f"task {name!r} is declared twice, in {taken.handler.__module__} and "
                f"{definition.handler.__module__}; give one of them another name: @app.task(name=...)"
            )
        task: TaskFunction[..., Any, ..., Any] = TaskFunction(
            definition, binding, self._links, self._ids, self._clock
        )
        self._definitions[name] = definition
        self._tasks[name] = task
        return task

    # -- jobs ----------------------------------------------------------------------------------------------

    async def enqueue_many(self, drafts: Iterable[Draft[R]]) -> list[Job[R]]:
        """Enqueue many jobs, described by `task.job(...)`, in pushes of at most 1,000.

        Returns:
            a job for each draft, in order. On return all of them are stored.

        Raises:
            Unavailable, Unknown: some pushes may not have been done. Calling it again with the same drafts is
                safe, and enqueues only what is missing.
            NotRunning: the application is not open on this event loop.
        """
        return await enqueue_many(self._links, list(drafts))

    def job(self, id: str) -> Job[Any]:
        """A job by its id, whoever enqueued it. Nothing is read yet; its value comes as JSON has it.

        Raises:
            InvalidInput: the id is not a UUID.
        """
        return Job(ids.from_text(id), self._links, self._clock, decode_anything, created=False)

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

    def worker(self, *, observer: Observer | None = None, **settings: Unpack[WorkerOptions]) -> Worker:
        """Make a worker for this application's tasks, inside `async with app:`; then await its `run()`.

        Args:
            observer: hears of each recorded outcome, on the event loop; must not raise.
            settings: as in `WorkerSettings`.

        Raises:
            InvalidOption: a setting is unknown, of the wrong type or out of range.
            ConfigError: no task is declared.
            NotRunning: the application is not open on this event loop.
        """
        check_names("a worker", settings, WorkerOptions.__annotations__)
        if observer is not None and not callable(observer):
            raise InvalidOption(f"observer must be a function, not {shown(observer)}", field="observer")
        return Worker(
            self.backend,
            self.tasks,
            settings=WorkerSettings(**settings),
            outside=real_outside(self._runtime_folder(), os.getpid()),
            lifespan=self._lifespan,
            observer=observer,
        )

    def _runtime_folder(self) -> Path:
        if self._backend is None:
            return runtime_folder(read_url(self._where).path)
        if self._runtime is None:
            raise ConfigError("a worker needs a private folder: give Noria(backend=..., runtime=...) one")
        return self._runtime

    def __repr__(self) -> str:
        where = without_credentials(self._where) if self._backend is None else type(self._backend).__name__
        return f"<Noria {where}, {len(self._tasks)} tasks>"
