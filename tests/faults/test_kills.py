"""Workers are killed for as long as there is work: nothing is lost, and nothing runs twice without a reason."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from typing import Any

import pytest

from noria.app.job import Draft
from noria.model.state import State
from noria.testing.events import RunStart
from tests.faults.evidence import Evidence
from tests.faults.fleet import STORM, Fleet, Process, until

pytestmark = [pytest.mark.kill, pytest.mark.storm, pytest.mark.timeout(3_600 if STORM else 150)]

ROUNDS = 300 if STORM else 10
JOBS = 200
"""Enqueued in each round, which ends a second later with a kill."""
WORKERS = 3


def batch(fleet: Fleet, rng: random.Random, number: int) -> list[Draft[Any]]:
    """Jobs of a round: most are quick, some take longer than a round."""
    drafts = []
    for n in range(number * JOBS, (number + 1) * JOBS):
        kind = rng.random()
        if kind < 0.6:
            drafts.append(fleet.job("quick", n))
        elif kind < 0.85:
            drafts.append(fleet.job("slow", n, rng.uniform(0.05, 2.0)))
        else:
            drafts.append(fleet.job("grind", n, rng.uniform(0.01, 0.2)))
    return drafts


def repeated(evidence: Evidence) -> int:
    """How many runs were not the first of their job; all must follow one whose worker was killed in the middle."""
    killed = evidence.killed()
    settled = {(each.id, each.starts) for each in evidence.verdicts("ok")}
    extra = 0
    for id, runs in evidence.runs().items():
        extra += len(runs) - 1
        for run, again in itertools.pairwise(runs):
            assert run.proc in killed, (
                f"{id} ran again although {run.proc}, which had started it, was not killed"
            )
            assert (id, run.fact.starts) not in settled, f"{id} ran again after its outcome was recorded"  # type: ignore[union-attr]  # a RunStart
            assert again.mono >= run.mono
    return extra


@pytest.mark.slow
async def test_2000_jobs_survive_a_kill_every_second_and_then_the_death_of_all(
    fleet: Fleet, rng: random.Random
) -> None:
    workers = [fleet.start(f"w{n}") for n in range(WORKERS)]
    for number in range(ROUNDS):
        end = time.monotonic() + 1.0
        await fleet.enqueue(batch(fleet, rng, number))
        await asyncio.sleep(max(0.0, end - time.monotonic()))
        place = rng.randrange(WORKERS)
        workers[place].kill()
        workers[place] = fleet.start(f"w{place}")
    fleet.kill_all()
    live = [record for record in await fleet.records() if not record.state.final]
    workers = [fleet.start(f"w{n}") for n in range(WORKERS)]
    records = await fleet.ended()
    verdict = await fleet.judge()
    evidence = fleet.evidence()
    print(
        f"{len(records)} jobs, {len(fleet.processes) - WORKERS} kills, {len(live)} jobs live when all died; "
        f"{repeated(evidence)} extra runs; {verdict}"
    )
    assert live, "everything had ended before all workers were killed"
    assert len(records) == ROUNDS * JOBS
    assert {(record.state, record.tally.spent) for record in records} == {(State.SUCCEEDED, 0)}
    accepted = evidence.recorded()
    assert len(accepted) == len(set(accepted))
    await all_still_work(fleet, workers)


async def all_still_work(fleet: Fleet, workers: list[Process]) -> None:
    """Each worker that lives is at work: one batch fills the slots of all."""
    before = [worker.told(RunStart) for worker in workers]
    await fleet.enqueue(fleet.job("wait", "gate") for _ in range(100 * WORKERS))
    await until(
        lambda: all(worker.told(RunStart) - had == 100 for worker, had in zip(workers, before, strict=True)),
        fleet.logs,
    )
    (fleet.folder / "gate").touch()
    await fleet.ended()
