"""A timer that is due every second, and a job that takes six: one output a run, and every skipped slot is told.

Run it with `python examples/timer_overlap/app.py`; it works for twenty seconds, in a folder that it removes again.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from noria import Context, Noria, ScheduleStatus

TAKES = 6.0
SECONDS = 20.0

app = Noria()
outputs: list[str] = []


@app.every("1s")
@app.task
async def fetch_pages(ctx: Context) -> str:
    """Slower than its timer: a system that starts it every second writes everything six times."""
    await asyncio.sleep(TAKES)
    assert ctx.slot is not None
    outputs.append(f"pages of {ctx.slot:%H:%M:%S}")
    return outputs[-1]


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        app.url = f"sqlite:///{Path(folder) / 'noria.db'}"
        async with app:
            workers = [app.worker(), app.worker()]
            running = [asyncio.create_task(worker.run()) for worker in workers]
            await asyncio.sleep(SECONDS)
            await app.schedules.pause("fetch_pages", "the example is over")
            for worker in workers:
                worker.drain()
            await asyncio.gather(*running)
            report(await app.schedules.get("fetch_pages"))


def report(status: ScheduleStatus) -> None:
    """Say what became of each slot."""
    for output in outputs:
        print(output)
    print(f"{status.ran} slots ran, {status.skipped} were skipped, {status.missed} were missed")
    for each in reversed(status.log):
        print(
            f"  {each.first:%H:%M:%S}  {each.what}" + (f", {each.count} in a row" if each.count > 1 else "")
        )


if __name__ == "__main__":
    asyncio.run(main())
