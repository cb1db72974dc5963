"""The tasks that producers and the consumer of the benchmark share."""

from __future__ import annotations

import os
from pathlib import Path

from huey import SqliteHuey

from bench import busy
from bench.tally import Tally

tally = Tally(Path(os.environ["BENCH_TALLY"]) if "BENCH_TALLY" in os.environ else None)
huey = SqliteHuey(filename=os.environ["BENCH_STORE"], journal_mode="wal", fsync=True, results=True)


@huey.task()
def echo(n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


@huey.task()
def crunch(n: int) -> int:
    """Compute in its thread until the measurement is over."""
    busy.crunch(tally)
    return n
