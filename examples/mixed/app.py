"""Jobs on the event loop and jobs in threads, side by side in one worker."""

from __future__ import annotations

import asyncio
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


@app.task
async def careless(seconds: float) -> None:
    """The mistake: a blocking call in an `async def` stops every other job on the loop while it lasts.

    The worker keeps its session all the same, and its log says which task it was and where it stood.
    """
    time.sleep(seconds)  # noqa: ASYNC251 - the point of this example
