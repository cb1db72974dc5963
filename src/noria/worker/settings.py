"""What can be said about a worker; every default is what an expert would set."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Final

from noria.errors import InvalidOption, shown
from noria.model.limits import BEAT, GRACE, MIB, POLL, TTL
from noria.model.names import check_name


def _threads() -> int:
    return min(32, (os.cpu_count() or 1) + 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Settings of one worker process.

    Attributes:
        queues: the queues it serves; empty means every queue of the application's tasks.
        name: a label for people; two workers may share it. Empty: made of host and process id.
        concurrency: `async def` jobs that run at once.
        threads: `def` jobs that run at once.
        ttl: seconds without a sign of life after which others may end its session.
        beat: seconds between signs of life; at most a third of `ttl`.
        grace: seconds that running jobs get to end when the worker is asked to stop.
        poll: seconds between looks when no hint comes.
        blocked_after: seconds after which a blocked event loop is reported.
        burst: stop as soon as there is nothing to do.

    Raises:
        InvalidOption: a value has the wrong type or is out of range.
        InvalidName: a queue or the worker has a form that no backend accepts.
    """

    queues: tuple[str, ...] = ()
    name: str = ""
    concurrency: int = 100
    threads: int = field(default_factory=_threads)
    ttl: float = TTL
    beat: float = BEAT
    grace: float = GRACE
    poll: float = POLL
    blocked_after: float = 1.0
    burst: bool = False

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, getattr(self, each.name), str(each.type))
        for queue in self.queues:
            check_name("queue", queue)
        if self.name:
            check_name("worker", self.name)
        if self.concurrency < 1:
            raise InvalidOption(
                f"concurrency must be 1 or more, not {shown(self.concurrency)}", field="concurrency"
            )
        if self.threads < 0:
            raise InvalidOption(f"threads must be 0 or more, not {shown(self.threads)}", field="threads")
        if self.beat * 3 > self.ttl:
            raise InvalidOption(
                f"beat ({self.beat:g} s) must be at most a third of ttl ({self.ttl:g} s), "
                "so that two lost beats do not end the session",
                field="beat",
            )


OUTAGE_AT_MOST: Final = 5.0
"""Seconds between two tries, at most, while the backend is away."""

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
        if not isinstance(value, int) or isinstance(value, bool) or value > 100_000:
            raise InvalidOption(f"{name} must be a whole number up to 100000, not {shown(value)}", field=name)
    elif kind == "bool" and not isinstance(value, bool):
        raise InvalidOption(f"{name} must be True or False, not {shown(value)}", field=name)
    elif kind == "str" and not isinstance(value, str):
        raise InvalidOption(f"{name} must be text, not {shown(value)}", field=name)
    elif kind.startswith("tuple") and not isinstance(value, tuple):
        raise InvalidOption(f"{name} must be a tuple of names, not {shown(value)}", field=name)
