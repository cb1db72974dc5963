"""SIGTERM costs no attempt and no job, whenever it comes."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter

import pytest

from noria.model.state import State
from noria.testing.events import Fault, Leased, Opened
from tests.faults.fleet import SLACK, STORM, Fleet, Process, until

pytestmark = [pytest.mark.kill, pytest.mark.timeout(3_600 if STORM else 200)]

TRIES = 2_000 if STORM else 200
AT_ONCE = 5
GRACE = 1.0
LAST_STEPS = 1.0
"""Seconds beyond the grace within which a process must have gone."""


@pytest.mark.slow
@pytest.mark.storm
async def test_l1_200_terminations_at_random_moments_burn_no_attempt_and_lose_nothing(
    fleet: Fleet, rng: random.Random
) -> None:
    """Several workers at once; each is started, asked to stop after up to 0.6 s of work, and replaced."""
    stop = asyncio.Event()
    feeding = asyncio.ensure_future(keep_fed(fleet, rng, stop))
    lanes = (terminate_one_by_one(fleet, rng, f"w{n}", TRIES // AT_ONCE) for n in range(AT_ONCE))
    codes = Counter(code for lane in await asyncio.gather(*lanes) for code in lane)
    stop.set()
    await feeding
    fleet.start("last")
    records = await fleet.ended()
    print(
        f"{sum(codes.values())} terminations, exit codes {dict(codes)}, {len(records)} jobs; {await fleet.judge()}"
    )
    assert sum(codes.values()) == TRIES
    assert set(codes) == {0, 1}, "both ends are reached: drained, and cut short"
    burned = [record for record in records if record.tally.spent or record.tally.crashes]
    assert not burned
    assert {record.state for record in records} == {State.SUCCEEDED}


async def keep_fed(fleet: Fleet, rng: random.Random, stop: asyncio.Event) -> None:
    """Keep some jobs waiting: most are quick, a few outlast the grace."""
    while not stop.is_set():
        counts = await fleet.shop.backend.counts()
        if sum(queue.states.get(State.QUEUED, 0) for queue in counts.queues.values()) < 50:
            await fleet.enqueue(
                fleet.job("slow", n, 1.0 if rng.random() < 0.03 else rng.uniform(0.0, 0.6)) for n in range(45)
            )
            await fleet.enqueue(fleet.job("grind", n, rng.uniform(0.0, 0.3)) for n in range(5))
        await asyncio.sleep(0.05)


async def terminate_one_by_one(fleet: Fleet, rng: random.Random, name: str, tries: int) -> list[int]:
    codes = []
    for number in range(tries):
        worker = fleet.start(f"{name}.{number}", "-c", "20", "--drain", str(GRACE))
        await worker.works()
        await asyncio.sleep(rng.uniform(0.0, 0.6))
        codes.append(await terminated(fleet, worker))
    return codes


async def terminated(fleet: Fleet, worker: Process) -> int:
    """Ask a worker to stop, and see that it goes in time, and leases nothing any more."""
    with fleet.recorder.fault(f"term {worker.proc}", "term", worker.proc):
        asked = time.monotonic()
        before = worker.glance()
        worker.signal(signal.SIGTERM)
        code = await worker.ends(seconds=GRACE + 30)
    took, starved = time.monotonic() - asked, worker.use.starved - before.starved
    assert took <= GRACE + LAST_STEPS + SLACK + starved, (
        f"{took:.2f} s, starved {starved:.2f} s\n{worker.log}"
    )
    assert code in (0, 1), worker.log
    return code


async def test_l2_a_second_term_hastens_and_a_kill_is_a_crash(fleet: Fleet) -> None:
    hastened = fleet.start("hastened", "-q", "a", "--drain", "600")
    killed = fleet.start("killed", "-q", "b", "--drain", "600")
    first = await fleet.put("wait", "gate", queue="a")
    second = await fleet.put("wait", "gate", queue="b")
    await hastened.runs()
    await killed.runs()
    for worker in (hastened, killed):
        worker.signal(signal.SIGTERM)
        await worker.says("draining")
    asked = time.monotonic()
    await until(lambda: time.monotonic() > asked + 0.5, "a second press is no echo of the first")
    hastened.signal(signal.SIGTERM)
    killed.kill()
    assert await hastened.ends(seconds=10) == 1
    released = await fleet.record(first)
    assert (released.state, released.tally.spent, released.tally.crashes) == (State.QUEUED, 0, 0)
    (fleet.folder / "gate").touch()
    fleet.start("next", "-q", "a", "-q", "b")
    await fleet.ended()
    assert [record.tally.crashes for record in await fleet.records([first, second])] == [0, 1]
    await fleet.judge()


async def test_l3_a_term_during_a_lease_loses_nothing_and_burns_nothing(fleet: Fleet) -> None:
    """Jobs arrive all the time, so that some lease is always on its way."""
    for number in range(6):
        worker = fleet.start(f"w{number}", "-c", "5")
        await worker.works()
        for _ in range(6):
            await fleet.enqueue(fleet.job("quick", n) for n in range(10))
        assert await terminated(fleet, worker) == 0
    fleet.start("last")
    records = await fleet.ended()
    assert {(record.state, record.tally.spent, record.tally.crashes) for record in records} == {
        (State.SUCCEEDED, 0, 0)
    }
    assert all(len(runs) == 1 for runs in fleet.evidence().runs().values())
    await fleet.judge()


async def test_w20_what_one_worker_holds_too_many_an_idle_neighbour_gets(fleet: Fleet) -> None:
    """Quick jobs make the first worker lease ahead; then its only slots are taken for long."""
    first = fleet.start("first", "-c", "2", "--threads", "0")
    await first.works()
    await fleet.enqueue(
        [
            *(fleet.job("quick", n) for n in range(500)),
            *(fleet.job("wait", "gate") for _ in range(2)),
            *(fleet.job("quick", n) for n in range(500)),
        ]
    )
    await first.runs(502)
    leased = first.told(Leased)
    second = fleet.start("second")
    await second.runs(500)
    (fleet.folder / "gate").touch()
    records = await fleet.ended()
    print(f"the first worker held {leased - 502} jobs too many")
    assert {(record.state, record.tally.spent, record.tally.crashes) for record in records} == {
        (State.SUCCEEDED, 0, 0)
    }
    assert all(len(runs) == 1 for runs in fleet.evidence().runs().values())
    await fleet.judge()


async def test_a_term_before_the_worker_is_there_ends_it_all_the_same(
    fleet: Fleet, rng: random.Random
) -> None:
    await fleet.put("quick", 1)
    for number in range(10):
        worker = fleet.start(f"w{number}", "--drain", str(GRACE))
        await asyncio.sleep(rng.uniform(0.0, 0.4))
        worker.signal(signal.SIGTERM)
        code = await worker.ends()
        assert code in ((0, 1) if worker.told(Opened) else (0, -signal.SIGTERM)), worker.log
    fleet.recorder.note(Fault(phase="begin", name="terms", what="term"))
    fleet.start("last")
    [record] = await fleet.ended()
    assert (record.state, record.tally.spent, record.tally.crashes) == (State.SUCCEEDED, 0, 0)
    await fleet.judge()
