"""What huey's producers and readers do in processes of their own."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path
from typing import Any

from bench.answer import answer
from bench.huey_side import app as ours
from bench.huey_side.app import huey

_WARM = 20


def enqueue(*, n: int, way: str, task: str, delay: float, ids: str | None) -> dict[str, float]:
    """Enqueue n tasks; there is one way only, a call for each."""
    call = getattr(ours, task)
    start = time.perf_counter()
    found = [call(i) for i in range(n)]
    seconds = time.perf_counter() - start
    if ids is not None:
        Path(ids).write_text("\n".join(result.id for result in found))
    return {"seconds": seconds}


def check(*, ids: str) -> dict[str, Any]:
    """Read every result back, which removes it, and count what is left."""
    wanted = Path(ids).read_text().split()
    right = sum(huey.result(id) == number for number, id in enumerate(wanted))
    return {"right": right, "open": huey.pending_count(), "results": huey.result_count(), "last": 0}


def counts() -> dict[str, int]:
    """Tasks that wait."""
    return {"queued": huey.pending_count()}


def trips(*, n: int, pause: float) -> list[float]:
    """Enqueue, wait for the value, and again."""
    chance = random.Random(1)
    found = []
    for i in range(n + _WARM):
        time.sleep(chance.uniform(0, pause))
        start = time.perf_counter()
        value = ours.echo(i).get(blocking=True, backoff=1, max_delay=0.001)
        found.append((time.perf_counter() - start) * 1000)
        assert value == i
    return found[_WARM:]


def describe() -> dict[str, Any]:
    """Pragmas as each of huey's connections has them."""
    connection = huey.storage.conn
    names = ("journal_mode", "synchronous", "wal_autocheckpoint", "page_size")
    found = {name: connection.execute(f"pragma {name}").fetchone()[0] for name in names}
    return {**found, "sqlite": sqlite3.sqlite_version}


if __name__ == "__main__":
    answer({role.__name__: role for role in (enqueue, check, counts, trips, describe)})
