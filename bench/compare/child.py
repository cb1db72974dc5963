"""What producers and readers of a peer do in processes of their own: `python -m bench.compare.child ROLE QUESTION`.

Runs in the peer's environment. BENCH_PEER names the module in `peers/` whose `client` does the work; a client
that blocks is wrapped, so that there is one copy of each role.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final

from bench.answer import answer
from bench.compare.client import Awaitable, Blocking, Client
from bench.compare.setting import tally
from bench.tally import COUNT, LAST

CALLERS: Final = 100
AT_ONCE: Final = 5_000
"""Jobs of one call for many."""
_WARM: Final = 20
_LOST: Final = 10.0
"""Seconds after which a job's result counts as lost."""


def _client() -> Client:
    found: Client | Blocking = importlib.import_module(
        f"bench.compare.peers.{os.environ['BENCH_PEER']}"
    ).client
    return Awaitable(found) if isinstance(found, Blocking) else found


async def prepare(client: Client) -> None:
    """Make what the peer needs on an empty server, such as its tables."""
    await client.prepare()


async def enqueue(
    client: Client, *, n: int, way: str, task: str, delay: float, ids: str | None
) -> dict[str, float]:
    """Enqueue n jobs; the seconds that it took."""
    assert not delay, "peers are not asked for delays"
    start = time.perf_counter()
    found = await _WAYS[way](client, task, n)
    seconds = time.perf_counter() - start
    if ids is not None:
        Path(ids).write_text("\n".join(found))
    return {"seconds": seconds}


async def _one_by_one(client: Client, task: str, n: int) -> list[str]:
    return [await client.enqueue(task, i) for i in range(n)]


async def _at_once(client: Client, task: str, n: int) -> list[str]:
    found = [""] * n
    numbers = iter(range(n))

    async def call() -> None:
        for i in numbers:
            found[i] = await client.enqueue(task, i)

    await asyncio.gather(*(call() for _ in range(CALLERS)))
    return found


async def _bulk(client: Client, task: str, n: int) -> list[str]:
    found: list[str] = []
    for start in range(0, n, AT_ONCE):
        found += await client.bulk(task, range(start, min(n, start + AT_ONCE)))
    return found


_WAYS: Final[dict[str, Callable[[Client, str, int], Coroutine[Any, Any, list[str]]]]] = {
    "one by one": _one_by_one,
    "100 at once": _at_once,
    "bulk": _bulk,
}


async def check(client: Client, *, ids: str) -> dict[str, Any]:
    """Read every result back, until one is missing or wrong, and count what the server still holds."""
    right = 0
    for number, id in enumerate(Path(ids).read_text().split()):
        if await asyncio.wait_for(client.value(id), _LOST) != number:
            break
        right += 1
    return {"right": right, "open": await client.left(), "last": 0}


async def left(client: Client) -> int:
    """Jobs that the server still holds and that have not ended."""
    return await client.left()


async def trips(client: Client, *, n: int, pause: float) -> list[float]:
    """Enqueue, wait for the value, and again."""
    found = []
    for i in _paced(n):
        await asyncio.sleep(_CHANCE.uniform(0, pause))
        start = time.perf_counter()
        value = await asyncio.wait_for(client.trip(i), _LOST)
        found.append((time.perf_counter() - start) * 1000)
        assert value == i, (value, i)
    return found[_WARM:]


async def picks(client: Client, *, n: int) -> list[float]:
    """Milliseconds from the call that enqueues a job to the end of its handler, and again."""
    found, numbers = [], tally.numbers
    for i in _paced(n):
        before, end = numbers[COUNT], time.monotonic() + _LOST
        start = time.time_ns()
        await client.enqueue("echo", i)
        while numbers[COUNT] == before:
            assert time.monotonic() < end, f"job {i} was not run within {_LOST:g} s"
            await asyncio.sleep(0.0005)
        found.append((numbers[LAST] - start) / 1e6)
    return found[_WARM:]


_CHANCE: Final = random.Random(1)


def _paced(n: int) -> Iterator[int]:
    return iter(range(n + _WARM))


def _role(role: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    async def run(question: dict[str, Any]) -> Any:
        client = _client()
        await client.open()
        try:
            return await role(client, **question)
        finally:
            await client.close()

    return lambda **question: _runner()(run(question))


def _runner() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """On uvloop where the peer's environment has it, as where its worker runs on it."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    run: Callable[[Coroutine[Any, Any, Any]], Any] = uvloop.run
    return run


if __name__ == "__main__":
    answer({role.__name__: _role(role) for role in (prepare, enqueue, check, left, trips, picks)})
