"""Four workers are killed and stopped while jobs wait for places, tokens and time: no limit is ever passed.

Evidence is what the runs write down themselves, and, for rates, the moments at which the store says that they started;
beside that, all histories must satisfy the checker.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from noria.app.job import Draft
from noria.model.job import Record
from noria.model.state import State
from tests.faults import bound
from tests.faults.fleet import STORM, Fleet, until
from tests.faults.places import Places, most_in
from tests.faults.servers import KINDS, server_of

pytestmark = [pytest.mark.kill, pytest.mark.storm, pytest.mark.timeout(3_600 if STORM else 240)]

SINGLES: Final = 100_000 if STORM else 5_000
"""Jobs of groups of limit 1."""
GROUPS: Final = 20
LINES, LINED = (20, 500) if STORM else (5, 60)
"""Ordered groups, and jobs of each."""
TUNNELS: Final = 10_000 if STORM else 400
SECONDS: Final = 120 if STORM else 15
"""How long the rates take at least."""
PORTIONS: Final = 20
PATIENCE: Final = 3_000.0 if STORM else 200.0
WORKERS: Final = 4


@pytest.fixture(params=("sqlite", *KINDS))
async def crowd(
    request: pytest.FixtureRequest, tmp_path: Path, short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Fleet]:
    """A fleet whose application has groups, rates and a resource, on each kind of store."""
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp))
    with ExitStack() as stack:
        url = "" if request.param == "sqlite" else stack.enter_context(server_of(request.param)).url
        fleet = Fleet(tmp_path, short_tmp, url)
        stack.callback(fleet.close)
        bound.declare(fleet.shop, fleet.shop.diary)
        async with fleet.shop:
            yield fleet


def portions(fleet: Fleet, rng: random.Random) -> Iterator[list[Draft[Any]]]:
    """All jobs, in portions, each of them in the order of its line; a few take longer than a strike."""

    def seconds() -> float:
        return rng.uniform(0.2, 2.0) if rng.random() < 0.005 else rng.uniform(0.0, 0.003)

    kinds = [
        [fleet.job("alone", f"g{n % GROUPS}", n, seconds()) for n in range(SINGLES)],
        [fleet.job("in_line", f"l{n % LINES}", n, seconds()) for n in range(LINES * LINED)],
        [fleet.job("through", n, rng.uniform(0.0, 0.02)) for n in range(TUNNELS)],
        [fleet.job("paced", n) for n in range(bound.RATE * SECONDS)],
        [fleet.job("posted", f"a{n % 2}", n) for n in range(2 * bound.RATE * SECONDS)],
    ]
    for part in range(PORTIONS):
        yield [job for kind in kinds for job in _part(kind, part)]


def _part(jobs: list[Draft[Any]], part: int) -> list[Draft[Any]]:
    return jobs[part * len(jobs) // PORTIONS : (part + 1) * len(jobs) // PORTIONS]


class Strikes:
    """Workers, of which one after the other is killed or stopped for a while."""

    def __init__(self, fleet: Fleet, rng: random.Random) -> None:
        self._fleet = fleet
        self._rng = rng
        self._workers = [self._start(n) for n in range(WORKERS)]
        self.done: Counter[str] = Counter()

    def _start(self, place: int) -> Any:
        return self._fleet.start(f"w{place}", bound=1)

    async def go_on(self) -> None:
        """Strike until nobody wants that any more; then everyone works."""
        for worker in self._workers:
            await worker.works()
        while True:
            await asyncio.sleep(self._rng.uniform(0.2, 1.0))
            await (self._kill if self._rng.random() < 0.6 else self._pause)()

    async def _kill(self) -> None:
        place = self._rng.randrange(WORKERS)
        self._workers[place].kill()
        self._workers[place] = self._start(place)
        self.done["killed"] += 1

    async def _pause(self) -> None:
        worker = self._rng.choice(self._workers)
        worker.stop()
        try:
            await asyncio.sleep(self._rng.uniform(0.3, 4.0))
        finally:
            worker.go_on()
        self.done["stopped"] += 1


async def all_run(fleet: Fleet, rng: random.Random) -> Strikes:
    """Enqueue everything little by little, and strike until the last job has ended."""
    strikes = Strikes(fleet, rng)
    striking = asyncio.ensure_future(strikes.go_on())
    try:
        for portion in portions(fleet, rng):
            await fleet.enqueue(portion)
            await asyncio.sleep(0.3)
        await until(fleet.rests, fleet.logs, seconds=PATIENCE)
        assert not striking.done(), striking.exception()
    finally:
        striking.cancel()
        await asyncio.wait([striking])
    return strikes


async def is_free(fleet: Fleet) -> bool:
    """Whether no group is in use, and no token taken."""
    backend = fleet.shop.backend
    return not await backend.groups() and not any(line.used for line in await backend.resources())


def starts_of(records: list[Record], task: str, key: str = "") -> list[float]:
    """When the store says that the last start of each such job was handed out."""
    return [
        record.began
        for record in records
        if record.task == task
        and record.began is not None
        and (record.group is None or record.group.key == key)
    ]


@pytest.mark.slow
async def test_no_limit_is_passed_while_four_workers_are_killed_and_stopped(
    crowd: Fleet, rng: random.Random
) -> None:
    """K1, K2, K7, K9, I8, I9: 5,000 jobs in groups of limit 1, 300 in lines; a hundred thousand in a storm."""
    began = time.monotonic()
    strikes = await all_run(crowd, rng)
    took = time.monotonic() - began
    records = await crowd.records()
    verdict = await crowd.judge()
    places = Places(crowd.folder, crowd.evidence())

    print(
        f"{len(records):,} jobs in {took:.0f} s, {dict(strikes.done)}, {len(places.holds):,} valid runs, "
        f"{len(places.stale)} stale; {verdict}"
    )
    assert {record.state for record in records} == {State.SUCCEEDED}
    assert {hold.id for hold in places.holds} == set(crowd.jobs)
    assert places.unexplained() == []
    assert places.crowded("single", 1) == []
    assert places.crowded("line", 1) == []
    assert places.disordered("line") == []
    assert places.crowded("tunnel", bound.CAPACITY) == []
    assert most_in(starts_of(records, "paced"), 1.0) <= bound.RATE
    for key in ("a0", "a1"):
        assert most_in(starts_of(records, "posted", key), 1.0) <= bound.RATE + bound.BURST
    await until(lambda: is_free(crowd), "there are places or tokens that nobody gave back")
