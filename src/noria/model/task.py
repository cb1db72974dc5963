"""A task as a worker sees it: a function, how it runs, and how its arguments and result cross the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from noria.model.backoff import Backoff
from noria.model.job import Lane

Executor = Literal["async", "thread"]

LANES: Final[dict[Executor, Lane]] = {"async": Lane.LOOP, "thread": Lane.THREAD}
"""The lane in which jobs for each kind of slot are pushed, and leased again."""

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDef:
    """Everything that is decided about a task when it is declared.

    Attributes:
        name, queue: validated names.
        handler: the user's function.
        executor: "async" runs it on the loop, "thread" in the thread pool.
        takes_context: whether its first parameter is the `Context`.
        attempts, crash_budget, timeout, retry, priority, keep: defaults of its jobs; a job may carry its own
            `timeout` and `retry`, which win.
        unpack: decodes and validates a body: (body, codec) -> positional and keyword arguments.
            Raises `InvalidArguments`.
        pack_result: encodes what the handler returned: value -> (bytes, codec). Raises `ResultTooLarge`, or
            `InvalidResult` for a value that cannot be encoded.
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
