"""What a worker takes from the process that it runs in; simulations give their own."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from noria import ids
from noria.aio import Breather, Guard
from noria.clock import Clock, SystemClock
from noria.ids import Entropy
from noria.worker.journal import FileJournals, Journals
from noria.worker.processes import Launch, Processes, ProcessPool
from noria.worker.settings import WorkerSettings
from noria.worker.threads import ThreadPool, Threads

JOURNALS: Final = "journals"
"""Where run journals live in the private folder of a store."""
MakeProcesses = Callable[[asyncio.AbstractEventLoop, WorkerSettings, Guard], Processes]
"""(the worker's loop, its settings, what makes a fault in a callback heard of) -> where handlers run in processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Time, randomness, files, threads and processes.

    Attributes:
        clock, entropy: time and randomness.
        journals: where run journals live.
        threads: makes the pool of `def` handlers.
        processes: makes the pool of handlers that run in processes; None if there can be none.
        stand_in: whether a thread renews the session while the loop is blocked.
        host, pid, version: who this process is, for people.
        load: how many want a processor of this host.
        public_url: where persons reach a front, without a slash at its end; empty if that is not known.
    """

    clock: Clock
    entropy: Entropy
    journals: Journals
    threads: Callable[[asyncio.AbstractEventLoop, Breather], Threads]
    host: str
    pid: int
    processes: MakeProcesses | None = None
    stand_in: bool = True
    version: str = ""
    load: Callable[[], float] = lambda: 0.0
    public_url: str = ""


def real_outside(runtime: Path, pid: int, launch: Launch | None = None, public_url: str = "") -> Outside:
    """The machine itself.

    Args:
        runtime: a private directory of the backend's on this host.
        launch: how processes for jobs are started, if any task needs them.
        public_url: as in `Outside`.
    """
    host = socket.gethostname()
    return Outside(
        clock=SystemClock(),
        entropy=ids.system_entropy,
        journals=FileJournals(runtime / JOURNALS, host),
        threads=lambda loop, breather: ThreadPool(loop, breather, "noria-thread"),
        host=host,
        pid=pid,
        processes=None if launch is None else _pool_of(launch),
        version=_version(),
        load=_load,
        public_url=public_url,
    )


def _pool_of(launch: Launch) -> MakeProcesses:
    return lambda loop, settings, guarded: ProcessPool(
        loop,
        launch,
        guarded=guarded,
        job_limit=settings.process_job_limit,
        memory_limit=settings.process_memory_limit,
    )


def _version() -> str:
    from importlib import metadata  # a tenth of the time in which Noria is imported, and only workers need it

    try:
        return metadata.version("noria")
    except metadata.PackageNotFoundError:  # run from a folder that is not installed
        return ""


def _load() -> float:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has none; a container may forbid it
        return 0.0
