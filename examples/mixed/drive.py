"""Runs the tasks of app.py in a worker of its own, and tells what happened.

python examples/mixed/drive.py
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import Awaitable, Iterable
from pathlib import Path

from app import app, careless, collapse, crunch, fetch, render

from noria import JobFailed


async def main() -> None:
    """Three scenes: good manners, a crash, and a blocked loop."""
    # The group owns the worker: whatever goes wrong in here, it ends before the application is closed.
    async with app, asyncio.TaskGroup() as group:
        worker = app.worker(concurrency=50, threads=4)
        running = group.create_task(worker.run())
        await worker.started.wait()
        await side_by_side()
        await crashed()
        await blocked()
        worker.drain()
        print(f"\nThe worker ended: {(await running).value}.")


async def side_by_side() -> None:
    """Thread jobs that sleep for a second do not hold up jobs on the loop."""
    print("Four `def` jobs sleep for one second each, in threads; meanwhile 40 `async def` jobs run.")
    slow = await app.enqueue_many(render.job(page) for page in range(4))
    quick = await app.enqueue_many(fetch.job(page) for page in range(40))
    began = time.perf_counter()
    await asyncio.gather(timed("  40 on the loop", began, quick), timed("  4 in threads", began, slow))


async def crashed() -> None:
    """A process job that ends its process takes nobody with it."""
    print("\nNow a job ends its own process, each time it is started; another computes beside it.")
    broken, good = await collapse.options(crashes=2).enqueue(), await crunch.enqueue(27)
    print(f"  the other one: {await good} steps")
    try:
        await broken
    except JobFailed as error:
        print(f"  {error.text}")


async def blocked() -> None:
    """A blocking call on the loop stops everybody; the log of the worker names the culprit."""
    print("\nNow one `async def` job blocks the loop for two seconds. What the worker logs:\n")
    job = await careless.enqueue(2.0)
    # The log comes from a thread of the worker: the loop, with all that awaits on it, stands still.
    await job


async def timed(what: str, began: float, jobs: Iterable[Awaitable[object]]) -> None:
    """Await jobs, and print how long it took."""
    await asyncio.gather(*jobs)
    print(f"{what} took {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    logging.basicConfig(format="  %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        app.url = f"sqlite:///{Path(folder, 'mixed.db')}"
        asyncio.run(main())
