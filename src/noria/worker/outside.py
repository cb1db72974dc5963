"""What a worker takes from the process that it runs in; simulations give their own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from noria import ids
from noria.aio import Breather
from noria.clock import Clock, SystemClock
from noria.ids import Entropy
from noria.worker.journal import FileJournals, Journals
from noria.worker.threads import ThreadPool, Threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Time, randomness, files and threads.

    Attributes:
        clock, entropy: time and randomness.
        journals: where run journals live.
        threads: makes the pool of `def` handlers.
        stand_in: whether a thread renews the session while the loop is blocked.
        host, pid: who this process is, for people.
    """

    clock: Clock
    entropy: Entropy
    journals: Journals
    threads: Callable[[asyncio.AbstractEventLoop, Breather], Threads]
    host: str
    pid: int
    stand_in: bool = True


def real_outside(runtime: Path, pid: int) -> Outside:
    """The machine itself; `runtime` is a private directory of the backend's on this host."""
    host = socket.gethostname()
    return Outside(
        clock=SystemClock(),
        entropy=ids.system_entropy,
        journals=FileJournals(runtime / "journals", host),
        threads=lambda loop, breather: ThreadPool(loop, breather, "noria-thread"),
        host=host,
        pid=pid,
    )
