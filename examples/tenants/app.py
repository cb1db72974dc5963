"""Three tenants on one worker: one with very many jobs, one with ten, and one that has paid for more turns.

Run it with `python examples/tenants/app.py`; it works in a folder that it removes again.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path

from noria import Noria

CROWD = 2_000
GOLD = 300
FEW = 10

app = Noria()
app.group("tenant", weights={"gold": 3})
done: list[str] = []
warm = asyncio.Event()


@app.task(group=("tenant", "tenant"))
async def convert(tenant: str, document: int) -> None:
    """A little work for one of the tenants."""
    await asyncio.sleep(0.002)
    done.append(tenant)
    if len(done) == 100:
        warm.set()


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        app.url = f"sqlite:///{Path(folder) / 'noria.db'}"
        async with app:
            await app.enqueue_many([convert.job("crowd", n) for n in range(CROWD)])
            worker = app.worker(concurrency=4)
            running = asyncio.create_task(worker.run())
            await warm.wait()
            before = len(done)
            jobs = await app.enqueue_many([convert.job("small", n) for n in range(FEW)])
            jobs += await app.enqueue_many([convert.job("gold", n) for n in range(GOLD)])
            for job in jobs:
                await job
            worker.drain()
            await running
            report(before)


def report(before: int) -> None:
    """Say whose turn it was since the others came."""
    since = done[before:]
    last = len(since) - since[::-1].index("small")
    print(f"{CROWD} jobs of one tenant were there first, and {before} of them were done when the others came")
    print(f"the {FEW} jobs of the small one were done among the next {last}")
    while_gold = Counter(since[: len(since) - since[::-1].index("gold")])
    print(f"for each job of the crowd, gold had {while_gold['gold'] / while_gold['crowd']:.1f}")


if __name__ == "__main__":
    asyncio.run(main())
