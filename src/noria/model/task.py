"""A task as a worker sees it: a function, how it runs, and how its arguments and result cross the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from noria.model.backoff import Backoff
from noria.model.groups import Rate
from noria.model.job import Lane
from noria.model.unique import Unique

Executor = Literal["async", "thread", "process"]

LANES: Final[dict[Executor, Lane]] = {
    "async": Lane.LOOP,
    "thread": Lane.THREAD,
    "process": Lane.PROCESS,
}
"""The lane in which jobs for each kind of slot are pushed, and leased again."""

APART: Final[frozenset[Executor]] = frozenset({"process"})
"""Executors whose handlers run in other processes."""

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

Elsewhere = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a function where a task's handler runs that is not on the loop, and gives what it returns or raises."""

Around = Callable[[Any, tuple[Any, ...], dict[str, Any], Elsewhere], Awaitable[Any]]
"""What runs on the loop in place of a handler that runs off it; see `TaskDef.around`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDef:
    """Everything that is decided about a task when it is declared.

    Attributes:
        name, queue: validated names.
        handler: the user's function.
        executor: "async" runs it on the loop, "thread" in the thread pool, "process" in a process of its own.
        takes_context: whether its first parameter is the `Context`.
        attempts, crash_budget, timeout, retry, priority, keep: defaults of its jobs; a job may carry its own
            `timeout` and `retry`, which win.
        unpack: decodes and validates a body: (body, codec) -> positional and keyword arguments.
            Raises `InvalidArguments`.
        pack_result: encodes what the handler returned: value -> (bytes, codec). Raises `ResultTooLarge`, or
            `InvalidResult` for a value that cannot be encoded.
        around: for a handler that runs off the loop: called on the loop in its place, with the context, the
            positional and keyword arguments, and a way to run a function where the handler runs; gives what
            the handler returned; then `takes_context` is set. None: nothing stands around the handler.
        tags: words that its jobs carry, unless a job has its own.
        unique: how its jobs are unique, unless one says it itself.
        safe: whether its jobs change nothing, so that a GET may make them.
        description: for people; the function's own words.
        group: the family of its jobs' groups, and where the key is in the arguments, or what finds it there.
        rate: how often its jobs may start; needs: the resources of which each needs a token.
    """

    name: str
    queue: str
    handler: Callable[..., Any]
    executor: Executor
    takes_context: bool
    attempts: int
    crash_budget: int
    timeout: float | None
    retry: Backoff
    priority: int
    keep: float | None
    unpack: Callable[[bytes, str], Arguments]
    pack_result: Callable[[Any], tuple[bytes, str]]
    around: Around | None = None
    tags: tuple[str, ...] = ()
    unique: Unique | None = None
    safe: bool = False
    description: str = ""
    group: tuple[str, str | Callable[..., Any]] | None = None
    rate: Rate | None = None
    needs: tuple[str, ...] = ()
