"""What a worker gets of an application: its tasks, with all that stands around their functions.

A task that uses no dependency, in an application without middleware, is given as it is, so that the way of its
jobs through the worker costs nothing more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Any

from noria.app.inject import Injected, Values, in_order, shared_by_all
from noria.app.onion import Middleware, call_through
from noria.app.providers import Overrides, Reader
from noria.app.task import Defined
from noria.errors import ConfigError, shown
from noria.model.task import Around, Elsewhere, Executor, TaskDef
from noria.worker.context import Context

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class Surroundings:
    """Binds tasks for one worker; the values of scope "app" are its own.

    Args:
        tasks: all of the application's.
        middleware: the outermost first.
        overrides: for tests: what makes a value instead of a provider.
        lifespan: the application's own, opened before everything of scope "app" and closed after it.
        leave: tasks of these executors are given as they are, since what stands around them is in other processes.

    Raises:
        ConfigError: an override is for a provider that no task uses, or cannot be called.
        TaskDefinitionError: an override cannot be called with what it asks for.

    Attributes:
        tasks: what the worker runs, by name.
        lifespan: what the worker opens; None if there is nothing to open.
    """

    def __init__(
        self,
        tasks: Sequence[Defined],
        *,
        middleware: Sequence[Middleware] = (),
        overrides: Overrides | None = None,
        lifespan: Lifespan | None = None,
        leave: Collection[Executor] = (),
    ) -> None:
        self._layers = tuple(middleware)
        self._reader = Reader(dict(overrides or {}))
        self._shared: Values = {}
        self._leave = leave
        self._check_overrides(tasks)
        self.tasks = {each.definition.name: self._bind(each) for each in tasks}
        self._to_share = [each for each in in_order(self._reader.providers) if each.scope == "app"]
        self._lifespan = lifespan
        self.lifespan = self._open if self._to_share else lifespan

    def _check_overrides(self, tasks: Sequence[Defined]) -> None:
        if not self._reader.overrides:
            return
        plain = Reader()
        for each in tasks:
            plain.read(each.definition.name, each.needs)
        for provider, instead in self._reader.overrides.items():
            if not callable(instead):
                raise ConfigError(f"{shown(instead)} cannot stand in for {shown(provider)}: give a function")
            if provider not in plain.functions:
                raise ConfigError(f"no task depends on {shown(provider)}; there is nothing to override")

    def _bind(self, task: Defined) -> TaskDef:
        definition, needs = task.definition, task.needs
        if definition.executor in self._leave or (not needs and not self._layers):
            return definition
        injected = Injected(
            definition.handler,
            definition.takes_context,
            self._reader.read(definition.name, needs),
            self._shared,
        )
        if definition.executor == "async":
            return replace(definition, handler=self._on_loop(injected), takes_context=True)
        return replace(definition, around=self._off_loop(injected), takes_context=True)

    def _on_loop(self, injected: Injected) -> Callable[..., Awaitable[Any]]:
        layers = self._layers

        async def handler(context: Context, /, *args: Any, **kwargs: Any) -> Any:
            return await call_through(layers, context, lambda: injected.on_loop(context, args, kwargs))

        return handler if layers else injected.alone

    def _off_loop(self, injected: Injected) -> Around:
        layers = self._layers

        async def around(
            context: Context, args: tuple[Any, ...], kwargs: dict[str, Any], elsewhere: Elsewhere
        ) -> Any:
            return await call_through(
                layers, context, lambda: injected.off_loop(context, args, kwargs, elsewhere)
            )

        return around if layers else injected.off_loop

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Any]:
        lifespan = self._lifespan or nullcontext
        async with lifespan() as state, shared_by_all(self._to_share, self._shared):
            yield state
