"""Middleware: layers around every job of an application, and a word in what it enqueues."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from msgspec.structs import replace

from noria.app import checks
from noria.errors import ConfigError, shown
from noria.model.job import Extras
from noria.worker.context import Context

CallNext = Callable[[], Awaitable[Any]]
"""Runs the layers inside and the job's function, and gives what that returned, or raises what it raised."""


class Middleware(Protocol):
    """A layer around every start of every job: an object like this, or an `async def` with these parameters."""

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        """Run on the worker's loop around a job.

        Args:
            ctx: the running job.
            call_next: awaited once, as a rule: it runs what is inside. Not to await it is to leave the job out.

        Returns:
            the job's result: what `call_next` gave, as a rule.

        Raises:
            whatever the job raised, or anything else, with the same meaning as if the job had raised it.
        """
        ...


@dataclass(slots=True)
class Outgoing:
    """A job that is about to be enqueued, for middleware that stamps it.

    Attributes:
        task, queue: their names; to read.
        tags: to read, or to replace.
        correlation_id: to read, or to replace; empty if there is none.
    """

    task: str
    queue: str
    tags: tuple[str, ...]
    correlation_id: str


@runtime_checkable
class Stamps(Protocol):
    """Middleware that also has a word in every job that the application enqueues."""

    def on_enqueue(self, job: Outgoing) -> None:
        """Set the job's tags or correlation id. What it raises, the caller of `enqueue` gets."""
        ...


class Layers:
    """The middleware of one application, the outermost first."""

    def __init__(self, given: Sequence[Middleware]) -> None:
        self.layers: list[Middleware] = []
        self.stamps: list[Stamps] = []
        for each in given:
            self.add(each)

    def add(self, layer: Middleware) -> None:
        """Add one inside of those that are there.

        Raises:
            ConfigError: it is no middleware.
        """
        if inspect.isclass(layer) or not _gives_a_coroutine(layer):
            raise ConfigError(
                f"{shown(layer)} is no middleware; give an object, or a function, that is called as "
                "`async def __call__(self, ctx, call_next)`"
            )
        try:
            inspect.signature(layer).bind(None, None)
        except TypeError:
            raise ConfigError(f"{shown(layer)}: middleware takes (ctx, call_next)") from None
        self.layers.append(layer)
        if isinstance(layer, Stamps):
            self.stamps.append(layer)

    def stamp(self, task: str, queue: str, extras: Extras) -> Extras:
        """What middleware makes of a job's extras.

        Raises:
            InvalidOption: it set something that a job cannot carry.
        """
        job = Outgoing(task, queue, extras.tags, extras.correlation_id)
        for each in self.stamps:
            each.on_enqueue(job)
        return replace(
            extras,
            tags=checks.tags("tags", job.tags),
            correlation_id=checks.key("correlation_id", job.correlation_id) if job.correlation_id else "",
        )


def _gives_a_coroutine(layer: object) -> bool:
    """Whether it is an `async def`, bound or not, or an object that is called as one."""
    called = getattr(layer, "__call__", None)  # noqa: B004 - the method itself is looked at
    return inspect.iscoroutinefunction(layer) or inspect.iscoroutinefunction(called)


def call_through(layers: Sequence[Middleware], context: Context, innermost: CallNext) -> Awaitable[Any]:
    """Run a job inside these layers; each is called anew as often as the one around it asks."""
    call_next = innermost
    for layer in reversed(layers):
        call_next = _Step(layer, context, call_next)
    return call_next()


class _Step:
    """What one layer calls to run all that is inside it."""

    __slots__ = ("_context", "_layer", "_next")

    def __init__(self, layer: Middleware, context: Context, call_next: CallNext) -> None:
        self._layer = layer
        self._context = context
        self._next = call_next

    def __call__(self) -> Awaitable[Any]:
        return self._layer(self._context, self._next)
