"""Two functions that anybody can call over HTTP: the square root by GET, the cube by POST."""

from __future__ import annotations

import math

from noria import Noria

app = Noria()


@app.task(safe=True)
async def sqrt(a: float) -> float:
    """The square root of a number."""
    return math.sqrt(a)


@app.task
async def cube(a: int) -> int:
    """The third power of a whole number, of whatever size."""
    return a**3
