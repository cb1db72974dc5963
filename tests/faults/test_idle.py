"""A worker without work costs next to nothing."""

from __future__ import annotations

import asyncio
import statistics

import pytest

from tests.faults.fleet import Fleet
from tests.faults.machine import resident_of, use_of

pytestmark = [pytest.mark.kill, pytest.mark.slow]

WINDOWS, SECONDS = 5, 2.5
MOST = 0.005
MEMORY = 64 * 1024 * 1024
PLAIN = """
from noria import Noria

app = Noria()

@app.task
async def add(a: int, b: int) -> int:
    return a + b

@app.task
def render(text: str) -> str:
    return text.upper()
"""


async def test_an_idle_worker_takes_less_than_half_a_percent_of_a_processor(fleet: Fleet) -> None:
    """The median of several windows, by the kernel's own count: a busy machine may make single ones dearer."""
    (fleet.folder / "plain.py").write_text(PLAIN)
    worker = fleet.start("idle", program=("worker", "plain.py"))
    await worker.says("SIGTERM or Ctrl-C drains")
    await asyncio.sleep(1.0)
    shares = []
    for _ in range(WINDOWS):
        before = use_of(worker.pid).ran
        await asyncio.sleep(SECONDS)
        shares.append((use_of(worker.pid).ran - before) / SECONDS)
    memory = resident_of(worker.pid)
    print(f"idle: {', '.join(f'{share:.2%}' for share in shares)} of a processor, {memory / 2**20:.0f} MiB")
    assert statistics.median(shares) < MOST
    assert memory < MEMORY
    assert worker.code is None
