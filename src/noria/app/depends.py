"""How a task says what it needs: `Annotated[T, Depends(provider)]`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn

Scope = Literal["job", "app"]


@dataclass(frozen=True, slots=True)
class Depends:
    """Marks a parameter whose value a worker makes: `pool: Annotated[Pool, Depends(open_pool)]`.

    It is no argument of the task's jobs.

    Attributes:
        provider: makes the value: a function, a coroutine function, or a generator of either kind that yields
            once and cleans up afterwards. It may take a `Context` and dependencies of its own.
        scope: "job": made for each start of a job, and shared within it. "app": made once in each worker,
            before its first job, and closed after its last.
    """

    provider: Callable[..., Any]
    scope: Scope = "job"


class _Injected:
    """Stands where a dependency would, when a function is called by hand without it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{name!r} was asked of a dependency that nobody made: only a worker makes them; "
            "pass it yourself when you call the function"
        )

    def __repr__(self) -> str:
        return "INJECTED"


INJECTED: Final[Any] = _Injected()
"""The default of a parameter with `Depends`, for type checkers: so they do not ask for it in `enqueue`."""
