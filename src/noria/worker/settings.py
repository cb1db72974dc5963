"""What can be said about a worker; every default is what an expert would set."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from noria.errors import InvalidOption, shown
from noria.model.limits import BEAT, GRACE, MAX_ASKING, MIB, POLL, TTL
from noria.model.names import check_name
from noria.model.queue import check_weights


def _cores() -> int:
    return os.cpu_count() or 1


def _threads() -> int:
    return min(32, _cores() + 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Settings of one worker process.

    Attributes:
        queues: the queues it serves; empty means every queue of the application's tasks.
        weights: for a queue, how large its share is while others have jobs too; 1 where nothing is said. As
            `Noria.queue` says it, unless it is given here.
        name: a label for people; two workers may share it. Empty: made of host and process id.
        concurrency: `async def` jobs that run at once.
        threads: `def` jobs that run at once.
        process_slots: jobs of `executor="process"` that run at once, each in a process of its own.
        max_asking: jobs that wait for the answer of a person at once, beside those that run; further ones wait in
            their slots until they may ask.
        process_job_limit: jobs after which such a process is replaced; 0: never.
        process_memory_limit: bytes of memory above which such a process is replaced once its job has ended;
            0: never.
        memory_limit: bytes of memory above which the worker drains, to be replaced by a new process; 0: never.
        supervised: somebody replaces this process when it asks for it, as `noria worker --processes` does; it
            then asks as well when a handler outlives its time limit by `grace`, since its slot would stay taken.
        ttl: seconds without a sign of life after which others may end its session.
        beat: seconds between signs of life; at most a third of `ttl`.
        grace: seconds that the whole stop may take when it is asked for: running jobs get these but for the last
            ones, at most 2 and at most a quarter, which are kept to record outcomes.
        poll: seconds between looks when no hint comes.
        blocked_after: seconds after which a blocked event loop is reported.
        burst: stop as soon as there is nothing to do.

    Raises:
        InvalidOption: a value has the wrong type or is out of range.
        InvalidName: a queue or the worker has a form that no backend accepts.
    """

    queues: tuple[str, ...] = ()
    weights: Mapping[str, int] = field(default_factory=dict)
    name: str = ""
    concurrency: int = 100
    threads: int = field(default_factory=_threads)
    process_slots: int = field(default_factory=_cores)
    max_asking: int = MAX_ASKING
    process_job_limit: int = 0
    process_memory_limit: int = 0
    memory_limit: int = 0
    supervised: bool = False
    ttl: float = TTL
    beat: float = BEAT
    grace: float = GRACE
    poll: float = POLL
    blocked_after: float = 1.0
    burst: bool = False

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, getattr(self, each.name), str(each.type))
        for queue in (*self.queues, *self.weights):
            check_name("queue", queue)
        check_weights(self.weights)
        if self.name:
            check_name("worker", self.name)
        if self.concurrency < 1:
            raise InvalidOption(
                f"concurrency must be 1 or more, not {shown(self.concurrency)}", field="concurrency"
            )
        if self.max_asking < 1:
            raise InvalidOption(
                f"max_asking must be 1 or more, not {shown(self.max_asking)}", field="max_asking"
            )
        for name in ("threads", "process_slots", "process_job_limit", "process_memory_limit", "memory_limit"):
            if getattr(self, name) < 0:
                raise InvalidOption(f"{name} must be 0 or more, not {shown(getattr(self, name))}", field=name)
        if self.beat * 3 > self.ttl:
            raise InvalidOption(
                f"beat ({self.beat:g} s) must be at most a third of ttl ({self.ttl:g} s), "
                "so that two lost beats do not end the session",
                field="beat",
            )

    def weighted(self, queues: Collection[str]) -> dict[str, int]:
        """These queues with their weights."""
        return {queue: self.weights.get(queue, 1) for queue in queues}


def last_words(grace: float) -> float:
    """Seconds of the grace that are kept back to record the last outcomes."""
    return min(2.0, grace / 4)


OUTAGE_AT_MOST: Final = 2.0
"""Seconds between two tries, at most, while the backend is away: work must go on within 5 when it is back, and a try
may meet a connection that is itself in a pause."""

_MAX_MEMORY: Final = 2**50

MAX_UNSETTLED_BYTES = 8 * MIB
"""Outcomes that wait to be recorded; above this, leasing stops."""


def _check(name: str, value: object, kind: str) -> None:
    if kind == "float":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        least = 0.0 if name == "grace" else 0.001
        # Written so that NaN fails as well.
        if not number or not least <= value <= 86_400:  # type: ignore[operator]  # a number by now
            raise InvalidOption(f"{name} must be {least:g} to 86400 seconds, not {shown(value)}", field=name)
    elif kind == "int":
        most = _MAX_MEMORY if name.endswith("memory_limit") else 100_000
        if not isinstance(value, int) or isinstance(value, bool) or value > most:
            raise InvalidOption(f"{name} must be a whole number up to {most}, not {shown(value)}", field=name)
    elif kind == "bool" and not isinstance(value, bool):
        raise InvalidOption(f"{name} must be True or False, not {shown(value)}", field=name)
    elif kind == "str" and not isinstance(value, str):
        raise InvalidOption(f"{name} must be text, not {shown(value)}", field=name)
    elif kind.startswith("Mapping") and not isinstance(value, Mapping):
        raise InvalidOption(f"{name} must name queues with whole numbers, not {shown(value)}", field=name)
    elif kind.startswith("tuple") and not isinstance(value, tuple):
        raise InvalidOption(f"{name} must be a tuple of names, not {shown(value)}", field=name)
