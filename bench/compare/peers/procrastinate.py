"""Procrastinate on PostgreSQL.

https://procrastinate.readthedocs.io/en/stable/howto/production/delete_finished_jobs.html: jobs are deleted when they
have ended, so that the table stays small. `concurrency` of 20 and a pool of 10 connections are the best of a few
tried for jobs that do nothing. It listens for new jobs. On uvloop. It keeps no results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import uvloop
from procrastinate import App, PsycopgConnector

from bench.compare.client import Client
from bench.compare.setting import NAP, SLOTS, URL, tally

app = App(connector=PsycopgConnector(conninfo=URL, min_size=2, max_size=10))


@app.task(name="echo")
async def echo(n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


@app.task(name="nap")
async def nap(n: int) -> int:
    """Wait for 0.1 s."""
    tally.begin()
    await asyncio.sleep(NAP)
    tally.mark()
    return n


class Peer(Client):
    """It has a call for many."""

    async def open(self) -> None:
        """Connect."""
        await app.open_async()

    async def close(self) -> None:
        """Disconnect."""
        await app.close_async()

    async def prepare(self) -> None:
        """Make its tables."""
        await app.schema_manager.apply_schema_async()

    async def enqueue(self, task: str, number: int) -> str:
        """Defer."""
        return str(await {"echo": echo, "nap": nap}[task].defer_async(n=number))

    async def bulk(self, task: str, numbers: Sequence[int]) -> list[str]:
        """Defer many."""
        found = {"echo": echo, "nap": nap}[task]
        return [str(id) for id in await found.batch_defer_async(*({"n": number} for number in numbers))]

    async def left(self) -> int:
        """What waits and what runs."""
        found = await app.job_manager.list_queues_async()
        return sum(queue["todo"] + queue["doing"] for queue in found)


client = Peer()


async def _work() -> None:
    async with app.open_async():
        await app.run_worker_async(concurrency=SLOTS or 20, delete_jobs="always")


if __name__ == "__main__":
    uvloop.run(_work())
