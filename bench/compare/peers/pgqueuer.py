"""PgQueuer on PostgreSQL.

https://pgqueuer.readthedocs.io/en/latest/guides/performance-tuning/: a larger `batch_size` for short jobs (1,000, the
best of a few tried), a connection pool for high throughput, `pgq autovac` after installation, and `durability` at its
default, the only level at which PostgreSQL loses nothing. The worker is started as its page "Programmatic run" does,
on uvloop, which its command line takes too.
It keeps no results; https://pgqueuer.readthedocs.io/en/latest/guides/completion-tracking/ tells that a job has ended,
which is what a round trip waits for here, without the 50 ms for which the watcher gathers notifications by default;
what remains is the worker's buffer of ended jobs, which it writes every 100 ms when it is idle.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.core.completion import CompletionWatcher
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import JobId

from bench.compare.client import Client
from bench.compare.setting import NAP, SLOTS, URL, tally


class Peer(Client):
    """It has a call for many."""

    _queries: Queries
    _watcher: CompletionWatcher | None = None

    async def open(self) -> None:
        """Connect."""
        self._stack = AsyncExitStack()
        pool = await self._stack.enter_async_context(asyncpg.create_pool(URL, min_size=5, max_size=20))
        self._driver = await self._stack.enter_async_context(AsyncpgPoolDriver(pool))
        self._queries = Queries(self._driver)

    async def close(self) -> None:
        """Disconnect."""
        await self._stack.aclose()

    async def prepare(self) -> None:
        """Make its tables, as `pgq install` and `pgq autovac` do."""
        await self._queries.install()
        await self._queries.optimize_autovacuum()

    async def enqueue(self, task: str, number: int) -> str:
        """Enqueue."""
        [id] = await self._queries.enqueue(task, b"%d" % number)
        return str(id)

    async def bulk(self, task: str, numbers: Sequence[int]) -> list[str]:
        """Enqueue many."""
        n = len(numbers)
        payloads: list[bytes | None] = [b"%d" % number for number in numbers]
        return [str(id) for id in await self._queries.enqueue([task] * n, payloads, [0] * n)]

    async def trip(self, number: int) -> int:
        """Enqueue, and wait until it has ended well; there is no value but the one that was sent."""
        id = await self.enqueue("echo", number)
        if self._watcher is None:
            watcher = CompletionWatcher(self._driver, queries=self._queries, debounce=timedelta(0))
            self._watcher = await self._stack.enter_async_context(watcher)
        status = await self._watcher.wait_for(JobId(int(id)))
        assert status == "successful", status
        return number

    async def left(self) -> int:
        """What waits and what runs."""
        return sum(each.count for each in await self._queries.queue_size())


client = Peer()


async def main() -> None:
    """Work until SIGTERM, as docs/guides/programmatic-run has it."""
    async with asyncpg.create_pool(URL, min_size=5, max_size=20) as pool:
        worker = PgQueuer.from_asyncpg_pool(pool)

        @worker.entrypoint("echo")
        async def echo(job: Job) -> None:
            tally.mark()

        @worker.entrypoint("nap")
        async def nap(job: Job) -> None:
            tally.begin()
            await asyncio.sleep(NAP)
            tally.mark()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.shutdown.set)
        # A bound must be twice the batch at least.
        await worker.run(batch_size=SLOTS // 2 or 1_000, max_concurrent_tasks=SLOTS or None)


if __name__ == "__main__":
    uvloop.run(main())
