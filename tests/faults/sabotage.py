"""Errors put into the parts of a worker, and clocks put beside its writes, in a process that is to have them."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noria.backends.sqlite.gate import Gate


class Sabotage(Exception):
    """What no part of a worker expects."""


def prepare(environment: Mapping[str, str]) -> None:
    """Do what the environment asks for."""
    folder = Path(environment["FLEET_FOLDER"])
    if part := environment.get("FLEET_BREAKS"):
        break_part(part, folder / "break")
    if "FLEET_TIMES_WRITES" in environment:
        time_writes(folder / f"writes-{os.getpid()}.txt")


def break_part(part: str, sign: Path) -> None:
    """From the moment at which the file `sign` is there, a part of the worker raises what nobody expects.

    Args:
        part: a coroutine that runs for ever, or a method that is called again and again, as in
            "noria.worker.feed:Feed.run".
    """
    module, _, name = part.partition(":")
    owner, _, method = name.partition(".")
    kind = getattr(importlib.import_module(module), owner)
    before = getattr(kind, method)

    def broken(self: Any, *args: Any, **kwargs: Any) -> Any:
        if sign.exists():
            raise Sabotage(part)
        return before(self, *args, **kwargs)

    async def broken_while_it_runs(self: Any, *args: Any, **kwargs: Any) -> None:
        running = asyncio.ensure_future(before(self, *args, **kwargs))
        try:
            while not sign.exists():
                await asyncio.wait([running], timeout=0.05)
        finally:
            running.cancel()
        raise Sabotage(part)

    setattr(kind, method, broken_while_it_runs if inspect.iscoroutinefunction(before) else broken)


def time_writes(path: Path) -> None:
    """Write down for each write transaction: when it asked, began and ended, and how long its thread, although it was
    ready to run, got no processor before and after it began.

    The waiting is all that comes before the first statement: the lock file, and SQLite's own lock behind it.
    """
    lines = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    enter, leave = Gate.__enter__, Gate.__exit__
    begun: dict[int, tuple[float, float, float, float]] = {}

    def timed_enter(gate: Gate) -> None:
        asked, starved = time.monotonic(), _starved()
        enter(gate)
        begun[id(gate)] = asked, starved, time.monotonic(), _starved()

    def timed_exit(gate: Gate, *error: object) -> None:
        asked, starved_asking, began, starved_begun = begun.pop(id(gate))
        ended, starved = time.monotonic(), _starved()
        leave(gate, *error)
        line = f"{asked} {began} {ended} {starved_begun - starved_asking} {starved - starved_begun}\n"
        os.write(lines, line.encode())

    Gate.__enter__ = timed_enter  # type: ignore[method-assign]  # the point of this module
    Gate.__exit__ = timed_exit  # type: ignore[method-assign]  # as above


def _starved() -> float:
    """Seconds for which this thread was ready to run and had no processor."""
    with open("/proc/thread-self/schedstat", "rb") as file:
        return int(file.read().split()[1]) / 1e9
