"""taskiq on Redis streams, which its documentation names for acknowledgements.

https://taskiq-python.github.io/guide/cli.html: `--max-prefetch` for high message rates, `--no-parse` against casts
of arguments; https://github.com/taskiq-python/taskiq-redis: `xread_count`. One worker process, 20 tasks at once,
the best of a few tried for tasks that do nothing. Messages by orjson; on uvloop, which its worker takes if it is there.
Without results it acknowledges when a task has been executed, which is the same moment.
"""

from __future__ import annotations

import asyncio

import redis.asyncio
from taskiq.serializers import ORJSONSerializer
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

from bench.compare.client import Client
from bench.compare.setting import NAP, RESULTS, URL, tally

broker = RedisStreamBroker(URL, xread_count=100, consumer_id="0").with_serializer(ORJSONSerializer())
results: RedisAsyncResultBackend[int] = RedisAsyncResultBackend(
    URL, result_ex_time=3600, serializer=ORJSONSerializer()
)
if RESULTS:
    broker = broker.with_result_backend(results)


@broker.task(task_name="echo")
async def echo(n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


@broker.task(task_name="nap")
async def nap(n: int) -> int:
    """Wait for 0.1 s."""
    tally.begin()
    await asyncio.sleep(NAP)
    tally.mark()
    return n


class Peer(Client):
    """It has no call for many."""

    async def open(self) -> None:
        """Connect, and make the stream and its group."""
        await broker.startup()

    async def close(self) -> None:
        """Disconnect."""
        await broker.shutdown()

    async def enqueue(self, task: str, number: int) -> str:
        """Enqueue."""
        return str((await {"echo": echo, "nap": nap}[task].kiq(number)).task_id)

    async def value(self, id: str) -> int:
        """Wait; it polls."""
        while not await results.is_result_ready(id):
            await asyncio.sleep(0.001)
        return (await results.get_result(id)).return_value

    async def left(self) -> int:
        """What the group has not read, and what has not been acknowledged."""
        async with redis.asyncio.Redis.from_url(URL) as server:
            [group] = await server.xinfo_groups("taskiq")
            return int(group["lag"] or 0) + int(group["pending"])


client = Peer()
