"""The tasks of the loops that are written by hand."""

from __future__ import annotations

import asyncio
from typing import Final

from bench.compare.setting import NAP, tally


async def echo(n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


async def nap(n: int) -> int:
    """Wait for 0.1 s."""
    tally.begin()
    await asyncio.sleep(NAP)
    tally.mark()
    return n


TASKS: Final = {"echo": echo, "nap": nap}
