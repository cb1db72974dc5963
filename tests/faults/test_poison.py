"""A job that ends its process is found out: its neighbours are not buried with it."""

from __future__ import annotations

import asyncio

import pytest

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.testing.events import RunStart
from tests.faults.fleet import Fleet, until

pytestmark = [pytest.mark.kill, pytest.mark.timeout(120)]

NEIGHBOURS = 20


async def restarted(fleet: Fleet, names: list[str]) -> bool:
    """Start each worker that has died again, as systemd would; whether every job has ended."""
    for name in names:
        latest = [each for each in fleet.processes if each.name == name]
        if not latest or latest[-1].code is not None:
            assert not latest or latest[-1].code == 1, fleet.logs()
            fleet.start(name)
    await asyncio.sleep(0.05)
    return await fleet.rests()


@pytest.mark.slow
@pytest.mark.parametrize(("task", "workers"), [("poison", 1), ("poison", 2), ("parting", 1)])
async def test_w11_a_poison_job_is_a_dead_letter_at_its_budget_and_its_neighbours_succeed(
    fleet: Fleet, task: str, workers: int
) -> None:
    """Whether its process dies of it while its handler runs, or just after: of what that has left behind."""
    neighbours = await fleet.enqueue(fleet.job("neighbour", 0.3) for _ in range(NEIGHBOURS))
    poison = await fleet.put(task, 0.1)
    names = [f"w{n}" for n in range(workers)]
    await until(lambda: restarted(fleet, names), fleet.logs)
    dead = await fleet.record(poison)
    assert (dead.state, dead.dead, dead.starts, dead.tally.crashes) == (State.FAILED, True, 3, 3)
    assert dead.tally.spent == 0
    assert dead.failure is not None and dead.failure.reason == "crash"
    assert [start.outcome for start in dead.log] == [Outcome.CRASHED] * 3
    deaths = [each for each in fleet.processes if each.code == 1]
    assert f"process {deaths[-1].pid}" in dead.failure.message, dead.failure.message
    records = await fleet.records(neighbours)
    crashes = sorted(record.tally.crashes for record in records)
    print(f"{len(deaths)} processes died; crashes of the neighbours: {crashes}; {dead.failure.message}")
    assert {(record.state, record.tally.spent) for record in records} == {(State.SUCCEEDED, 0)}
    assert len(deaths) == 3
    assert len(fleet.evidence().runs()[poison]) == 3
    await fleet.judge()


async def test_a_suspect_for_which_there_is_no_slot_is_left_in_its_queue(fleet: Fleet) -> None:
    """That a slot of the other kind is free is no reason to lease it: it would only be given back."""
    full = fleet.start("full", "-q", "full", "-q", "default", "-c", "1", "--threads", "4")
    await fleet.put("wait", "full", queue="full")
    await full.runs()
    suspect = await fleet.put("wait", "gate")
    for number in range(2):
        worker = fleet.start(f"dying{number}", "-q", "default")
        await worker.runs()
        worker.kill()
    await until(lambda: crashed_twice(fleet, suspect), fleet.logs)
    await asyncio.sleep(2.5)
    record = await fleet.record(suspect)
    assert (record.state, record.starts, record.tally.releases) == (State.QUEUED, 2, 0)
    (fleet.folder / "gate").touch()
    (fleet.folder / "full").touch()
    await fleet.ended()
    assert full.told(RunStart) == 2
    await fleet.judge()


async def crashed_twice(fleet: Fleet, id: str) -> bool:
    return (await fleet.record(id)).tally.crashes == 2
