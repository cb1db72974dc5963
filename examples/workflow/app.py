"""A list page whose job enqueues one job for each entry, and two that wait for them: for the good end, and for the bad.

Run it with `python examples/workflow/app.py`; it works in a folder that it removes again.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from noria import Backoff, Context, Noria

app = Noria()
PRICES = {"tea": 4, "milk": 2, "bread": 3}


@app.task(retry=Backoff(base=0.1))
async def fetch_list(ctx: Context, shop: str) -> list[str]:
    """Its first attempt breaks after it has asked for its follow-ups, which are forgotten with it."""
    details = [ctx.enqueue(fetch_detail, shop, name) for name in PRICES]
    waiting = [
        ctx.enqueue(report.options(after=details), shop),
        ctx.enqueue(alarm.options(after=details, on="failure"), shop),
    ]
    if ctx.attempt == 1:
        raise ConnectionError("the connection was lost")
    print(f"list of {shop}: {len(details)} entries, attempt {ctx.attempt}")
    return [each.id for each in waiting]


@app.task
async def fetch_detail(shop: str, name: str) -> int:
    """One entry of the list."""
    print(f"detail {name}")
    return PRICES[name]


@app.task
async def report(shop: str) -> str:
    """Runs when all details have succeeded."""
    print(f"all of {shop} is there")
    return f"{shop} is done"


@app.task
async def alarm(shop: str) -> None:
    """Runs when all details have ended, and one of them has not succeeded."""
    print(f"{shop} is incomplete")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        app.url = f"sqlite:///{Path(folder) / 'noria.db'}"
        async with app:
            first = await fetch_list.enqueue("a.example")
            worker = app.worker()
            running = asyncio.create_task(worker.run())
            good, bad = [app.job(id) for id in await first]
            print(await good.result(timeout=60))
            error = (await bad.status()).error
            assert error is not None
            print(f"alarm {(await bad.status()).state}: {error.message}")
            worker.drain()
            await running


if __name__ == "__main__":
    asyncio.run(main())
