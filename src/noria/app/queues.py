"""The queues that an application declares: their limits, which it brings to the backend, and their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypedDict, Unpack

import msgspec

from noria.app.options import check_names
from noria.backends.contract import Backend, DocWrite, QueueRef
from noria.errors import ConfigError
from noria.model.names import check_name
from noria.model.queue import (
    Limit,
    QueueLimits,
    check_circle,
    check_limit,
    check_sense,
    check_weights,
    difference,
    read_limits,
)

KIND: Final = "queue"
"""Of the documents that say what code has declared last."""


class QueueOptions(TypedDict, total=False):
    """What can be said about a queue when it is declared."""

    order: Literal["oldest", "newest"]
    """Which of two jobs of one priority runs first; "newest" wants a `max_age`; "oldest" if left out."""
    ageing: float
    """Seconds of waiting that are worth one step of priority; an hour if left out."""
    max_age: float | None
    """Seconds that a job may wait, from its due time on, without having begun; then it expires."""
    max_length: int | None
    """How many jobs may wait, scheduled ones and retries included; enqueueing more raises `QueueFull`."""
    concurrency: int | None
    """How many of its jobs run at once, in all workers together."""
    high_water: Mapping[str, int] | None
    """Other queues, each with a number: while so many jobs wait in one of these, none of this queue begins."""
    weight: int
    """How large its share of a worker is while other queues have jobs too: 1 to 1000; 1 if left out."""


class Queues:
    """The queues that an application's code declares."""

    def __init__(self) -> None:
        self._limits: dict[str, QueueLimits] = {}
        self._weights: dict[str, int] = {}

    def declare(self, name: str, **options: Unpack[QueueOptions]) -> None:
        """Declare a queue: the order of its jobs, how many may wait and for how long, and how many may run.

        A queue needs no declaration; without one it has no limits. The limits are brought to the backend when the
        application is opened. What a person has changed since, by REST or the CLI, stays: of each limit the last word
        is that of who changed it last, and code changes it by declaring another value than the last time.

        Args:
            name: of the queue.
            options: see `QueueOptions`.

        Raises:
            InvalidOption: an option is unknown, of the wrong type or out of range, or the newest jobs come first and
                none is ever too old, or the queue would be held by itself; `field` names one.
            InvalidName: the name has a form that no backend accepts.
            ConfigError: the queue is declared already.
        """
        check_name("queue", name)
        check_names("a queue", options, QueueOptions.__annotations__)
        if name in self._limits:
            raise ConfigError(f"queue {name!r} is declared twice; say all about it in one app.queue(...)")
        given: dict[str, Any] = dict(options)
        weight = given.pop("weight", 1)
        check_weights({name: weight})
        said = {field: value for field, value in given.items() if value is not None}
        for field, value in said.items():
            check_limit(field, value)
        limits = QueueLimits(**said)
        check_sense(limits)
        check_circle(
            name, {**{each: old.high_water for each, old in self._limits.items()}, name: limits.high_water}
        )
        self._limits[name] = limits
        self._weights[name] = weight

    @property
    def weights(self) -> Mapping[str, int]:
        """The weights of those that are declared."""
        return self._weights

    async def apply(self, backend: Backend) -> None:
        """Bring to a backend what has changed since code last declared its queues there.

        Raises:
            BackendError: the backend does not answer.
            InvalidOption: with what a person has set, a queue would be held by itself.
        """
        names = list(self._limits)
        docs = await backend.read(KIND, names) if names else []
        told = [None if doc is None else _read(doc.data) for doc in docs]
        changed = [
            (name, before) for name, before in zip(names, told, strict=True) if before != self._limits[name]
        ]
        for name, before in changed:
            if (
                before is not None
                and before.high_water
                and before.high_water != self._limits[name].high_water
            ):
                # Together with what others had before, what is new might make a circle.
                await backend.steer(QueueRef(name), Limit(high_water=None))
        for name, before in changed:
            now = self._limits[name]
            change = difference(before, now)
            if change.named():
                await backend.steer(QueueRef(name), change)
            # Last: who dies before this does the same again at the next start.
            await backend.write([DocWrite(KIND, name, msgspec.json.encode(now))])


def _read(data: bytes) -> QueueLimits | None:
    try:
        return read_limits(data)
    except msgspec.DecodeError:
        # Of a version that knows other words: as if nothing had been declared.
        return None
