"""Making a task's dependencies around each start of its jobs, and undoing them in reverse order.

Each runs where the task runs: on the loop for an `async def`, in the job's own thread for a `def`. What can only
run on the loop runs there in any case, before the thread begins, with all that it needs itself.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, Final

from noria.app.providers import Provider
from noria.model.task import Elsewhere

Values = dict[Provider, Any]

_NO_CONTEXT: Final = None
_HIDDEN: Final = AssertionError("no provider hides a failure")
"""What type checkers, not knowing this, think could follow."""


def in_order(providers: Iterable[Provider], seen: dict[Provider, None] | None = None) -> list[Provider]:
    """These and all that they need, each once and after its own needs."""
    seen = {} if seen is None else seen
    for each in providers:
        if each not in seen:
            in_order(filter(None, each.needs.values()), seen)
            seen[each] = None
    return list(seen)


class Injected:
    """Calls one task's function with its dependencies.

    Args:
        function: the task's function.
        takes_context: whether it takes the context first.
        providers: for each of its dependencies, by parameter.
        shared: the values of scope "app", once the worker has made them.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        takes_context: bool,
        providers: Mapping[str, Provider],
        shared: Values,
    ) -> None:
        self._function = function
        self._takes_context = takes_context
        self._providers = providers
        self._shared = shared
        own = [each for each in in_order(providers.values()) if each.scope == "job"]
        only_loop = set(in_order(each for each in own if each.is_async))
        self._all = own
        self._before = [each for each in own if each in only_loop]
        self._inside = [each for each in own if each not in only_loop]

    async def alone(self, context: Any, /, *args: Any, **kwargs: Any) -> Any:
        """As `on_loop`, called as a function is."""
        return await self.on_loop(context, args, kwargs)

    async def on_loop(self, context: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """For an `async def`: everything runs on the loop."""
        if not self._providers:
            return await self._function(*self._first(context, args), **kwargs)
        async with AsyncExitStack() as stack:
            values = await _make_all(self._all, stack, dict(self._shared), context)
            return await self._function(*self._first(context, args), **kwargs, **self._chosen(values))
        raise _HIDDEN

    async def off_loop(
        self, context: Any, args: tuple[Any, ...], kwargs: dict[str, Any], elsewhere: Elsewhere
    ) -> Any:
        """For a `def`: what needs the loop runs on it, the rest with the function where that runs."""
        async with AsyncExitStack() as stack:
            values = await _make_all(self._before, stack, dict(self._shared), context)
            return await elsewhere(lambda: self._in_place(context, args, kwargs, values))
        raise _HIDDEN

    def _in_place(self, context: Any, args: tuple[Any, ...], kwargs: dict[str, Any], values: Values) -> Any:
        with ExitStack() as stack:
            for each in self._inside:
                values[each] = _make_plain(each, stack, _arguments(each, values, context))
            return self._function(*self._first(context, args), **kwargs, **self._chosen(values))
        raise _HIDDEN

    def _first(self, context: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (context, *args) if self._takes_context else args

    def _chosen(self, values: Values) -> dict[str, Any]:
        return {name: values[provider] for name, provider in self._providers.items()}


@asynccontextmanager
async def shared_by_all(providers: Iterable[Provider], values: Values) -> AsyncIterator[None]:
    """Make everything of scope "app" for the life of a worker, and put it into `values`."""
    async with AsyncExitStack() as stack:
        for each in providers:
            try:
                await _make_all([each], stack, values, _NO_CONTEXT)
            except Exception as error:
                error.add_note(
                    f"This was the dependency {each.name!r} of scope 'app': no worker starts without it."
                )
                raise
        yield
    values.clear()


async def _make_all(
    providers: Iterable[Provider], stack: AsyncExitStack, values: Values, context: Any
) -> Values:
    for each in providers:
        arguments = _arguments(each, values, context)
        if each.kind == "coroutine":
            values[each] = await each.function(**arguments)
        elif each.kind == "async generator":
            values[each] = await _enter(asynccontextmanager(each.function)(**arguments), stack)
        else:
            values[each] = _make_plain(each, stack, arguments)
    return values


def _make_plain(provider: Provider, stack: AsyncExitStack | ExitStack, arguments: dict[str, Any]) -> Any:
    if provider.kind != "generator":
        value = provider.function(**arguments)
        if inspect.iscoroutine(value):
            value.close()
            raise TypeError(f"dependency {provider.name!r} gives a coroutine; make it an `async def`")
        return value
    manager = contextmanager(provider.function)(**arguments)
    value = manager.__enter__()

    def leave(*error: Any) -> bool:
        manager.__exit__(*error)
        return False

    stack.push(leave)
    return value


async def _enter(manager: AbstractAsyncContextManager[Any], stack: AsyncExitStack) -> Any:
    """A provider sees a failure and may raise another, but hides it from nobody: or what is around would commit."""
    value = await manager.__aenter__()

    async def leave(*error: Any) -> bool:
        await manager.__aexit__(*error)
        return False

    stack.push_async_exit(leave)
    return value


def _arguments(provider: Provider, values: Values, context: Any) -> dict[str, Any]:
    return {name: context if each is None else values[each] for name, each in provider.needs.items()}
