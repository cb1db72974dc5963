"""SAQ on Redis.

https://saq-py.readthedocs.io/: `concurrency` of the worker (50 is the best of a few tried for jobs that do nothing),
`dump` and `load` of the queue (orjson), hiredis; on uvloop. A `ttl` of -1 keeps no result. A worker sweeps for stuck
jobs as soon as it starts, and takes those that it has just moved but not yet marked for stuck: they run twice or lose
their results. So the server is swept before the measurement, which keeps every worker from it for an hour.

`apply` is how its documentation has a value awaited; it looks every millisecond here, and not every 500. `refresh` is
told of the end, but by a subscription that each wait begins anew after it has read the job: an end in between is never
heard, and the wait lasts for all of its time.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import orjson
import uvloop
from saq import Job, Queue
from saq.worker import start

from bench.compare.client import Client
from bench.compare.setting import CONNECTIONS, NAP, RESULTS, SLOTS, URL, tally

_URL: Final = f"{URL}?max_connections={CONNECTIONS}"
queue = Queue.from_url(_URL, name="compare", dump=orjson.dumps, load=orjson.loads)
_TTL = 3600 if RESULTS else -1
_POLL: Final = 0.001
"""Seconds between two looks for a value."""


async def echo(ctx: dict[str, Any], *, n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


async def nap(ctx: dict[str, Any], *, n: int) -> int:
    """Wait for 0.1 s."""
    tally.begin()
    await asyncio.sleep(NAP)
    tally.mark()
    return n


settings = {
    "queue": queue,
    "functions": [echo, nap],
    "concurrency": SLOTS or 50,
    "shutdown_grace_period_s": 10,
}


class Peer(Client):
    """It has no call for many that does not wait for their results."""

    async def open(self) -> None:
        """Connect."""
        await queue.connect()

    async def close(self) -> None:
        """Disconnect."""
        await queue.disconnect()

    async def prepare(self) -> None:
        """Sweep, for the next hour too."""
        await queue.sweep(3600)

    async def enqueue(self, task: str, number: int) -> str:
        """Enqueue."""
        job = await queue.enqueue(task, n=number, ttl=_TTL)
        assert job is not None, "no job has this key yet"
        return str(job.key)

    async def trip(self, number: int) -> int:
        """Enqueue and wait."""
        return int(await queue.apply("echo", timeout=10, poll_interval=_POLL, n=number, ttl=_TTL))

    async def value(self, id: str) -> int:
        """Read it; of a job that has ended it is there."""
        job: Job | None = await queue.job(id)
        assert job is not None, f"there is no job {id}"
        await job.refresh(10)
        return int(job.result)

    async def left(self) -> int:
        """What waits and what runs."""
        return int(await queue.count("incomplete"))


client = Peer()

if __name__ == "__main__":
    uvloop.install()
    start("bench.compare.peers.saq.settings")
