"""arq.

https://arq-docs.helpmanual.io/: `max_jobs`, `poll_delay`, `keep_result` of the worker. It polls: every 10 ms here
instead of every 500, and waiters look every millisecond, so its latency is far better than by default. 100 jobs at
once are the best of a few tried for jobs that do nothing. On uvloop.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import uvloop
from arq import create_pool
from arq.connections import ArqRedis, RedisSettings
from arq.constants import default_queue_name
from arq.jobs import Job
from arq.worker import run_worker

from bench.compare.client import Client
from bench.compare.setting import NAP, RESULTS, SLOTS, URL, tally


async def echo(ctx: dict[str, Any], n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


async def nap(ctx: dict[str, Any], n: int) -> int:
    """Wait for 0.1 s."""
    tally.begin()
    await asyncio.sleep(NAP)
    tally.mark()
    return n


class WorkerSettings:
    """As its command line reads them."""

    functions: ClassVar = [echo, nap]
    redis_settings = RedisSettings.from_dsn(URL)
    max_jobs = SLOTS or 100
    poll_delay = 0.01
    keep_result = 3600 if RESULTS else 0
    log_results = False
    job_completion_wait = 10


class Peer(Client):
    """It has no call for many."""

    _redis: ArqRedis

    async def open(self) -> None:
        """Connect."""
        self._redis = await create_pool(WorkerSettings.redis_settings)

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()

    async def enqueue(self, task: str, number: int) -> str:
        """Enqueue."""
        job = await self._redis.enqueue_job(task, number)
        assert job is not None, "no job has this id yet"
        return job.job_id

    async def value(self, id: str) -> int:
        """Wait; it polls."""
        return int(await Job(id, self._redis).result(poll_delay=0.001))

    async def left(self) -> int:
        """What waits and what runs: a job leaves the queue when it has ended."""
        return int(await self._redis.zcard(default_queue_name))


client = Peer()

if __name__ == "__main__":
    uvloop.install()
    run_worker(WorkerSettings)  # type: ignore[arg-type]  # a class of settings, as its own command line passes it
