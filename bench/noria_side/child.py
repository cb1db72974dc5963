"""What Noria's producers and readers do in processes of their own, on uvloop as its workers do."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import apsw
import uvloop

from bench.answer import answer
from bench.noria_side import app as ours
from bench.tally import COUNT, LAST
from noria import ids as id_codec
from noria.app.connect import read_url
from noria.app.job import Job
from noria.app.task import Enqueuer
from noria.backends.contract import Parts
from noria.backends.sqlite.connection import gate_of, open_connection
from noria.backends.sqlite.settings import Settings
from noria.model.state import State

CALLERS: Final = 100
AT_ONCE: Final = 25_000
"""Jobs of one `enqueue_many`."""
_WARM: Final = 20
_LOST: Final = 10.0
"""Seconds after which a job counts as lost."""
_PAGE: Final = 1_000


async def enqueue(*, n: int, way: str, task: str, delay: float, ids: str | None) -> dict[str, float]:
    """Enqueue n jobs; the seconds that it took."""
    found = ours.app.find_task(task)
    async with ours.app:
        start = time.perf_counter()
        jobs = await _WAYS[way](found.options(delay=delay) if delay else found, n)
        seconds = time.perf_counter() - start
    if ids is not None:
        Path(ids).write_text("\n".join(job.id for job in jobs))
    return {"seconds": seconds}


async def _one_by_one(task: Enqueuer[[int], int], n: int) -> list[Job[int]]:
    return [await task.enqueue(i) for i in range(n)]


async def _at_once(task: Enqueuer[[int], int], n: int) -> list[Job[int]]:
    jobs: list[Job[int]] = []
    numbers = iter(range(n))

    async def call() -> None:
        for i in numbers:
            jobs.append(await task.enqueue(i))

    await asyncio.gather(*(call() for _ in range(CALLERS)))
    return jobs


async def _bulk(task: Enqueuer[[int], int], n: int) -> list[Job[int]]:
    jobs: list[Job[int]] = []
    for start in range(0, n, AT_ONCE):
        drafts = (task.job(i) for i in range(start, min(n, start + AT_ONCE)))
        jobs += await ours.app.enqueue_many(drafts)
    return jobs


_WAYS: Final[dict[str, Callable[[Enqueuer[[int], int], int], Coroutine[Any, Any, list[Job[int]]]]]] = {
    "one by one": _one_by_one,
    "100 at once": _at_once,
    "bulk": _bulk,
}


async def check(*, ids: str) -> dict[str, Any]:
    """Read every result back, and count what has not ended."""
    wanted = [id_codec.from_text(line) for line in Path(ids).read_text().split()]
    right, last = 0, 0.0
    async with ours.app:
        for start in range(0, len(wanted), _PAGE):
            page = wanted[start : start + _PAGE]
            for record in await ours.app.backend.get(page, Parts.BODY | Parts.RESULT):
                if record is not None and record.state is State.SUCCEEDED and record.result is not None:
                    right += record.body == b'{"n":%b}' % record.result and record.starts == 1
                    last = max(last, record.finished or 0.0)
        states = await _states()
    return {"right": right, "open": _unended(states), "states": states, "last": round(last * 1e9)}


async def left() -> int:
    """Jobs that have not ended."""
    async with ours.app:
        return _unended(await _states())


def _unended(states: dict[str, int]) -> int:
    return sum(count for state, count in states.items() if not State[state.upper()].final)


async def counts() -> dict[str, int]:
    """Jobs by state."""
    async with ours.app:
        return await _states()


async def _states() -> dict[str, int]:
    total: dict[str, int] = {}
    for queue in (await ours.app.backend.counts()).queues.values():
        for state, count in queue.states.items():
            total[state.word] = total.get(state.word, 0) + count
    return total


async def trips(*, n: int, pause: float) -> list[float]:
    """Enqueue, await the value, and again."""
    chance = random.Random(1)
    found = []
    async with ours.app:
        for i in range(n + _WARM):
            await asyncio.sleep(chance.uniform(0, pause))
            start = time.perf_counter()
            value = await (await ours.echo.enqueue(i))
            found.append((time.perf_counter() - start) * 1000)
            assert value == i
    return found[_WARM:]


async def picks(*, n: int) -> list[float]:
    """Milliseconds from the call that enqueues a job to the end of its handler, and again."""
    found, numbers = [], ours.tally.numbers
    async with ours.app:
        for i in range(n + _WARM):
            before, end = numbers[COUNT], time.monotonic() + _LOST
            start = time.time_ns()
            await ours.echo.enqueue(i)
            while numbers[COUNT] == before:
                assert time.monotonic() < end, f"job {i} was not run within {_LOST:g} s"
                await asyncio.sleep(0.0005)
            found.append((numbers[LAST] - start) / 1e6)
    return found[_WARM:]


async def describe() -> dict[str, Any]:
    """Pragmas as each of Noria's connections has them."""
    url = read_url(os.environ["NORIA_URL"])
    async with ours.app:
        settings = Settings(path=str(url.path), runtime=url.path.parent, synchronous=url.synchronous)
        connection = open_connection(settings, gate_of(settings), create=False)
        names = ("journal_mode", "synchronous", "wal_autocheckpoint", "page_size")
        found = {name: connection.pragma(name) for name in names}
        connection.close()
    return {**found, "sqlite": apsw.sqlite_lib_version()}


def _run(role: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    def run(**question: Any) -> Any:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(role(**question))

    return run


if __name__ == "__main__":
    answer({role.__name__: _run(role) for role in (enqueue, check, counts, left, trips, picks, describe)})
