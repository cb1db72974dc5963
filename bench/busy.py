"""What keeps a worker's process busy beside the measured jobs, the same code for every contestant."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from bench.tally import CRUNCHING, STOP, TURNS, Tally

TURN: Final = 0.0002
"""Seconds for which one turn keeps the event loop."""


async def turns(tally: Tally) -> None:
    """Keep the event loop that runs this saturated: compute for 0.2 ms, give way, and again."""
    numbers, clock = tally.numbers, time.perf_counter
    while True:
        end = clock() + TURN
        while clock() < end:
            pass
        numbers[TURNS] += 1
        await asyncio.sleep(0)


def crunch(tally: Tally) -> int:
    """Compute in the thread that runs this, without ever waiting, until the tally says stop."""
    numbers = tally.numbers
    numbers[CRUNCHING] = time.time_ns()
    rounds = 0
    while not numbers[STOP]:
        sum(range(1_000))
        rounds += 1
    return rounds
