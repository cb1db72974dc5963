"""Workers are killed and paused, and their server is restarted and hangs up, for as long as there is work.

What the histories of all processes say must satisfy the checker: nothing lost, one outcome each, and a run beyond the
first only where a fault explains it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter

import pytest

from noria.model.state import State
from noria.testing.events import PushInvoke
from tests.faults.fleet import STORM, Fleet, Process
from tests.faults.servers import Server
from tests.faults.test_kills import all_still_work, batch

pytestmark = [pytest.mark.kill, pytest.mark.storm, pytest.mark.timeout(3_600 if STORM else 170)]

SECONDS = 600.0 if STORM else 10.0
PAUSE = 2.0 if STORM else 0.5
"""Seconds between two batches of jobs: a long storm has about as many as fit into one look."""
WORKERS = 3


class Storm:
    """What befalls a fleet and its server, drawn from the seed; one thing at a time."""

    def __init__(self, fleet: Fleet, server: Server, rng: random.Random) -> None:
        self._fleet = fleet
        self._server = server
        self._rng = rng
        self.workers = [fleet.start(f"w{n}") for n in range(WORKERS)]
        self.done: Counter[str] = Counter()

    async def rage(self, seconds: float) -> None:
        """Strike again and again; everything of one round comes before anything comes twice.

        Not before all workers are at work: one that finds no server when it starts ends, and says so.
        """
        for worker in self.workers:
            await worker.works()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            strikes = [self._kill, self._pause, self._restart, self._hang_up]
            self._rng.shuffle(strikes)
            for strike in strikes:
                await asyncio.sleep(self._rng.uniform(0.2, 1.0))
                await strike()
                self.done[strike.__name__.lstrip("_")] += 1

    async def _kill(self) -> None:
        place = self._rng.randrange(WORKERS)
        self.workers[place].kill()
        self.workers[place] = self._fleet.start(f"w{place}")
        await self.workers[place].works()

    async def _pause(self) -> None:
        worker: Process = self._rng.choice(self.workers)
        worker.stop()
        await asyncio.sleep(self._rng.uniform(0.5, 4.0))
        worker.go_on()

    async def _restart(self) -> None:
        with self._fleet.recorder.fault(f"restart {sum(self.done.values())}", "restart"):
            await asyncio.to_thread(self._server.down)
            await asyncio.sleep(self._rng.uniform(0.0, 2.0))
            await asyncio.to_thread(self._server.up)

    async def _hang_up(self) -> None:
        with self._fleet.recorder.fault(f"hang up {sum(self.done.values())}", "cut"):
            for _ in range(self._rng.randint(1, 5)):
                await asyncio.to_thread(self._server.hang_up)
                await asyncio.sleep(self._rng.uniform(0.0, 0.2))


async def produce(fleet: Fleet, rng: random.Random) -> None:
    """Enqueue for as long as nobody says that it is enough."""
    number = 0
    while True:
        await fleet.enqueue_at_last(batch(fleet, rng, number))
        number += 1
        await asyncio.sleep(PAUSE)


@pytest.mark.slow
async def test_nothing_is_lost_and_nothing_repeated_without_a_cause_while_workers_and_server_fail(
    remote: Fleet, server: Server, rng: random.Random
) -> None:
    storm = Storm(remote, server, rng)
    producer = asyncio.ensure_future(produce(remote, random.Random(rng.random())))
    try:
        await storm.rage(SECONDS)
    finally:
        producer.cancel()
        await asyncio.wait([producer])

    await remote.ended()
    evidence = remote.evidence()
    pushed = sorted({fact.id for _, fact in evidence.of(PushInvoke)})
    verdict = await remote.judge(pushed)

    print(f"{server.kind}: {len(pushed)} jobs, {dict(storm.done)}; {verdict}")
    assert [worker.code for worker in storm.workers] == [None] * WORKERS, remote.logs()
    records = await remote.records()
    assert {(record.state, record.tally.spent) for record in records} == {(State.SUCCEEDED, 0)}
    accepted = evidence.recorded()
    assert len(accepted) == len(set(accepted))
    await all_still_work(remote, storm.workers)
