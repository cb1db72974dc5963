"""Whoever asks, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, get_args

from msgspec import Struct

Scope = Literal[
    "jobs:enqueue",
    "jobs:read",
    "jobs:manage",
    "questions:answer",
    "queues:manage",
    "schedules:manage",
    "metrics",
    "admin",
]
SCOPES: Final[tuple[str, ...]] = get_args(Scope)
"""What a key may be allowed; `admin` is all of them, and what none of the others allows."""


class Principal(Struct, frozen=True):
    """A key, or whoever needs none.

    Attributes:
        id: what tells it from others; also the space in which its idempotency keys are its own.
        scopes: of `SCOPES`.
        queues, tasks: names, or beginnings of names with a `*` behind; empty is all.
        rate: requests a second, at most; None leaves it to the front.
        depth: jobs that may wait in a queue into which it enqueues; None is any number.
        stored: whether it is a key of the store, with limits of its own.
    """

    id: str
    scopes: frozenset[str]
    queues: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    rate: float | None = None
    depth: int | None = None
    stored: bool = False

    def may(self, scope: str) -> bool:
        """Whether it has a scope."""
        return scope in self.scopes or "admin" in self.scopes

    @property
    def limited(self) -> bool:
        """Whether it sees only some queues or tasks."""
        return bool(self.queues or self.tasks)

    def sees(self, queue: str, task: str) -> bool:
        """Whether jobs of this queue and task are its own to see and to change."""
        return self.sees_queue(queue) and self.sees_task(task)

    def sees_queue(self, queue: str) -> bool:
        """Whether it may use a queue."""
        return not self.queues or matches(queue, self.queues)

    def sees_task(self, task: str) -> bool:
        """Whether it may use a task."""
        return not self.tasks or matches(task, self.tasks)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of these, or begins as one that ends in `*`."""
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in patterns)


EVERYBODY: Final = Principal("open", frozenset({"admin"}))
"""Whoever asks without a key where none is needed."""
MASTER: Final = Principal("static", frozenset({"admin"}))
"""The holder of the front's own key."""
