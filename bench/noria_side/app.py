"""The application of the benchmark, for its producers and for `noria worker bench.noria_side.app:app`."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from bench import busy
from bench.tally import Tally
from noria import Noria

KEEP: Final = 0 if os.environ.get("BENCH_RESULTS") == "0" else None
"""Seconds for which records of succeeded jobs are kept: none at all where results are off."""

GROUPS: Final = 100_000
"""So that ten of a million jobs are of the same group."""

tally = Tally(Path(os.environ["BENCH_TALLY"]) if "BENCH_TALLY" in os.environ else None)


def make_app() -> Noria:
    """By its URL, or, for a store with a small retention cap, with a backend object: no URL can say that."""
    keep = os.environ.get("BENCH_KEEP")
    if keep is None:
        return Noria()
    from noria.app.config import runtime_folder
    from noria.backends.sqlite import SqliteBackend
    from noria.clock import SystemClock
    from noria.ids import IdSource

    path, clock = Path(os.environ["BENCH_STORE"]), SystemClock()
    runtime = runtime_folder(path)
    backend = SqliteBackend(
        path, runtime=runtime, clock=clock, ids=IdSource(clock), keep_succeeded_at_most=int(keep)
    )
    return Noria(backend=backend, runtime=runtime)


app = make_app()
app.group("key", limit=1)


@app.task(keep=KEEP)
async def echo(n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


@app.task(group=("key", lambda n: n % GROUPS))
async def bound(n: int) -> int:
    """The same in a group of which one runs at once."""
    tally.mark()
    return n


@app.task
async def nap(n: int) -> int:
    """Wait for 0.1 s."""
    tally.begin()
    await asyncio.sleep(0.1)
    tally.mark()
    return n


@app.task
def crunch(n: int) -> int:
    """Compute in a thread until the measurement is over."""
    busy.crunch(tally)
    return n


@app.lifespan
async def beside() -> AsyncIterator[None]:
    """What a worker's loop has to do beside its jobs."""
    if "BENCH_BUSY" not in os.environ:
        yield
        return
    work = asyncio.create_task(busy.turns(tally))
    yield
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
