"""Jobs on the event loop, jobs in threads and jobs in processes, side by side in one worker."""

from __future__ import annotations

import asyncio
import os
import time

from noria import Noria

app = Noria()


@app.task
async def fetch(page: int) -> int:
    """Waits, as for a web server. A hundred of these wait at once on one event loop."""
    await asyncio.sleep(0.1)
    return page


@app.task
def render(page: int) -> int:
    """Blocks, as a library without asyncio does. A `def` runs in a thread, so it blocks nobody else."""
    time.sleep(1.0)
    return page


@app.task(executor="process")
def crunch(number: int) -> int:
    """Computes. In a process of its own it has a core for itself, and holds up neither loop nor threads."""
    steps = 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        steps += 1
    return steps


@app.task(executor="process")
def collapse() -> None:
    """Ends its process, as a bug in a C library does. The worker and all other jobs go on."""
    os._exit(3)


@app.task
async def careless(seconds: float) -> None:
    """The mistake: a blocking call in an `async def` stops every other job on the loop while it lasts.

    The worker keeps its session all the same, and its log says which task it was and where it stood.
    """
    time.sleep(seconds)  # noqa: ASYNC251 - the point of this example
