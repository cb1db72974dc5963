"""Timers of real workers that are killed and paused: each slot has one job, and none is missing."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from noria import Noria
from noria.backends.contract import Query
from noria.ids import Id

SCHEDULES, WORKERS = 100, 3
SECONDS = 60.0 if os.environ.get("NORIA_STORM") == "1" else 10.0
PROGRAM = [sys.executable, "-c", "from noria.cli.main import main; main()"]
APP = f"""
from noria import Noria

app = Noria()

@app.task(crashes=1_000)
async def tick(n: int) -> int:
    return n

for n in range({SCHEDULES}):
    app.every(1, name=f"t{{n}}", args=[n], overlap="queue_all", catch_up="all", window=3_600)(tick)
"""


class Workers:
    """Three of them, of which one is killed or paused again and again."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        (folder / "app.py").write_text(APP)
        self.url = f"sqlite:///{folder}/noria.db"
        self._folder = folder
        self._rng = rng
        self._log = open(folder / "log", "wb")  # noqa: SIM115 - closed with the workers
        self._there = [self._start() for _ in range(WORKERS)]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*PROGRAM, "worker", "app.py"],
            cwd=self._folder,
            env={**os.environ, "NORIA_URL": self.url, "NORIA_RUNTIME_DIR": str(self._folder / "run")},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )

    async def suffer(self, seconds: float) -> None:
        """Be killed and paused for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            place = self._rng.randrange(WORKERS)
            victim = self._there[place]
            if self._rng.random() < 0.5:
                victim.kill()
                victim.wait()
                self._there[place] = self._start()
            else:
                victim.send_signal(signal.SIGSTOP)
                await asyncio.sleep(self._rng.uniform(0.1, 2.0))
                victim.send_signal(signal.SIGCONT)
            await asyncio.sleep(self._rng.uniform(0.2, 1.0))

    def end(self) -> None:
        """Kill what is left."""
        for each in self._there:
            each.kill()
            each.wait()
        self._log.close()

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")


async def slots_of(app: Noria) -> dict[str, list[float]]:
    """The slots of every job that there is, by schedule."""
    found: dict[str, list[float]] = {}
    after: Id | None = None
    while True:
        page = await app.backend.find(Query(oldest_first=True), after, 1_000)
        for record in page.records:
            assert record.extras.slot is not None
            found.setdefault(record.extras.schedule, []).append(record.extras.slot)
        if page.next is None:
            return found
        after = page.next


@pytest.mark.slow
@pytest.mark.kill
@pytest.mark.timeout(600)
async def test_three_workers_that_are_killed_and_paused_give_each_slot_of_100_schedules_one_job(
    short_tmp: Path, rng: random.Random
) -> None:
    """T1, T2, I11."""
    workers = Workers(short_tmp, rng)
    try:
        await workers.suffer(SECONDS)
    finally:
        workers.end()

    async with Noria(workers.url) as app:
        schedules, slots = await app.schedules.list(), await slots_of(app)
    assert len(schedules) == SCHEDULES, workers.log
    jobs = 0
    for each in schedules:
        ran, waiting = slots.get(each.name, []), [slot.timestamp() for slot in each.waiting]
        there = Counter(ran + waiting)
        first, last = min(there), each.last_slot.timestamp()
        assert set(there.values()) == {1}, f"{each.name}: a slot has two jobs"
        assert sorted(there) == [first + n for n in range(round(last - first) + 1)], (
            f"{each.name}: a slot is missing"
        )
        assert (each.missed, each.skipped, each.ran) == (0, 0, len(ran))
        jobs += len(ran)
    print(f"{SECONDS:g} s: {jobs:,} slots of {SCHEDULES} schedules ran")
    assert jobs > SCHEDULES * SECONDS / 10, workers.log
