"""A bare consumer loop on PostgreSQL, written by hand on asyncpg: what is possible, and no product.

It has no retries, leases, time limits, unique keys, results, records or logging. Jobs are claimed 1,000 at a time by
an UPDATE that skips locked rows, each runs as an asyncio task, and what has ended is deleted by one statement per
turn on a second connection. NOTIFY wakes it up.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import Final

import asyncpg
import msgspec
import uvloop

from bench.compare.client import Client
from bench.compare.peers.bare import TASKS
from bench.compare.setting import SLOTS, URL

_BATCH: Final = 1_000
_LIMIT: Final = SLOTS or 2_000
_MAKE: Final = """
CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL, held boolean NOT NULL);
CREATE INDEX jobs_ready ON jobs (id) WHERE NOT held
"""
_ADD: Final = """
WITH added AS (INSERT INTO jobs (body, held) SELECT body, false FROM unnest($1::bytea[]) AS given (body) RETURNING id)
SELECT id, pg_notify('jobs', '') FROM (SELECT array_agg(id) AS id FROM added) AS all_of_them
"""
_CLAIM: Final = """
WITH next AS (SELECT id FROM jobs WHERE NOT held ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE jobs SET held = true FROM next WHERE jobs.id = next.id RETURNING jobs.id, body
"""
_END: Final = "DELETE FROM jobs WHERE id = ANY($1::bigint[])"


class Body(msgspec.Struct, array_like=True):
    """A job: its task and argument."""

    task: str
    number: int


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Body).decode


class Worker:
    """Claims and deletes on two connections, so that neither waits for the other."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._ended: list[int] = []
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._done = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Until stopped; then what runs ends first."""
        async with asyncpg.create_pool(URL, min_size=3, max_size=3) as pool:
            listener = await pool.acquire()
            await listener.add_listener("jobs", lambda *_: self._news.set())
            ending = asyncio.create_task(self._end(pool))
            while not self._stopping:
                await self._claim(pool)
            if self._running:
                await asyncio.wait(self._running)
            self._done.set()
            await ending
            await listener.reset()
            await pool.release(listener)

    def stop(self) -> None:
        """Claim no more."""
        self._stopping = True
        self._news.set()
        self._room.set()

    async def _claim(self, pool: asyncpg.Pool) -> None:
        self._news.clear()
        self._room.clear()
        if len(self._running) >= _LIMIT:
            await self._room.wait()
            return
        rows = await pool.fetch(_CLAIM, min(_BATCH, _LIMIT - len(self._running)))
        for id, data in rows:
            task = asyncio.create_task(self._job(id, _decode(data)))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        if not rows:
            try:
                await asyncio.wait_for(self._news.wait(), 1)
            except TimeoutError:
                return

    async def _job(self, id: int, body: Body) -> None:
        await TASKS[body.task](body.number)
        self._ended.append(id)
        self._done.set()

    async def _end(self, pool: asyncpg.Pool) -> None:
        while self._ended or self._running or not self._stopping:
            await self._done.wait()
            self._done.clear()
            ended, self._ended = self._ended, []
            self._room.set()
            if ended:
                await pool.execute(_END, ended)


class Bare(Client):
    """Its call for many is one statement."""

    async def open(self) -> None:
        """Connect."""
        self._pool = await asyncpg.create_pool(URL, min_size=5, max_size=20)

    async def close(self) -> None:
        """Disconnect."""
        await self._pool.close()

    async def prepare(self) -> None:
        """Make the table."""
        await self._pool.execute(_MAKE)

    async def enqueue(self, task: str, number: int) -> str:
        """Insert one row."""
        [id] = await self.bulk(task, [number])
        return id

    async def bulk(self, task: str, numbers: Sequence[int]) -> list[str]:
        """Insert many."""
        ids = await self._pool.fetchval(_ADD, [_encode(Body(task, number)) for number in numbers])
        return [str(id) for id in ids]

    async def left(self) -> int:
        """A row is deleted when its job has ended."""
        return int(await self._pool.fetchval("SELECT count(*) FROM jobs"))


client = Bare()


async def main() -> None:
    """Work until SIGTERM."""
    worker = Worker()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.run()


if __name__ == "__main__":
    uvloop.run(main())
