"""A dead worker's jobs run again: at once where its run journal is, in time where it is not."""

from __future__ import annotations

import signal
import time

import pytest

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.testing.events import Effect, EndEnd, Event, Opened, RunStart
from tests.faults.fleet import SLACK, Fleet, Process, until
from tests.faults.machine import use_of

pytestmark = pytest.mark.kill

AT_ONCE = 1.0
IN_TIME = 14.0


async def run_of(fleet: Fleet, id: str, number: int) -> Event:
    """The beginning of a job's n-th run."""
    [*_, last] = await until(
        lambda: [*runs] if len(runs := fleet.evidence().runs()[id]) >= number else [],
        lambda: f"{id} does not run {number} times\n{fleet.logs()}",
    )
    return last


async def killed_while_running(fleet: Fleet, task: str = "wait", **patience: float) -> tuple[Process, str]:
    """A worker that was killed in the middle of a handler, and the job."""
    worker = fleet.start("first", **patience)
    id = await fleet.put(task, "gate")
    await run_of(fleet, id, 1)
    worker.kill()
    return worker, id


def opened(fleet: Fleet, worker: Process) -> float:
    """When a worker opened its session."""
    return next(event.mono for event, _ in fleet.evidence().of(Opened) if event.proc == worker.proc)


@pytest.mark.parametrize("task", ["wait", "watch"])
async def test_w1_a_job_runs_again_within_a_second_of_the_next_workers_start(fleet: Fleet, task: str) -> None:
    _, id = await killed_while_running(fleet, task)
    (fleet.folder / "gate").touch()
    second = fleet.start("second")
    again = await run_of(fleet, id, 2)
    late = again.mono - opened(fleet, second)
    print(
        f"again {late:.3f} s after the worker's start, {again.mono - second.born:.3f} s after its process's"
    )
    assert late <= AT_ONCE + SLACK + use_of(second.pid).starved
    [record] = await fleet.ended()
    assert (record.state, record.starts) == (State.SUCCEEDED, 2)
    assert (record.tally.crashes, record.tally.spent) == (1, 0)
    assert record.log[0].outcome is Outcome.CRASHED
    assert record.log[0].failure is not None and "run journal shows" in record.log[0].failure.message
    assert len(fleet.evidence().of(Effect)) == 1
    await fleet.judge()
    assert len(fleet.journals()) == 1


async def test_w1_a_living_worker_notices_at_its_next_sweep(fleet: Fleet) -> None:
    living = fleet.start("living")
    await living.works()
    worker = fleet.start("dying", "-q", "other")
    id = await fleet.put("wait", "gate", queue="other")
    await run_of(fleet, id, 1)
    starved = use_of(living.pid).starved
    worker.kill()
    died = time.monotonic()
    [ended, *_] = await until(lambda: ends_by(fleet, living), lambda: f"nobody ends it\n{fleet.logs()}")
    print(f"its session ended {ended.mono - died:.3f} s after the kill")
    assert ended.mono - died <= AT_ONCE + SLACK + use_of(living.pid).starved - starved
    record = await fleet.record(id)
    assert (record.state, record.tally.crashes) == (State.QUEUED, 1)


def ends_by(fleet: Fleet, worker: Process) -> list[Event]:
    """When a worker had ended a session of another."""
    return [event for event, fact in fleet.evidence().of(EndEnd) if event.proc == worker.proc and fact.first]


async def test_w2_killed_after_the_effect_gives_one_labelled_duplicate(fleet: Fleet) -> None:
    worker = fleet.start("mortal", dies="settling")
    id = await fleet.put("quick", 1)
    assert await worker.ends() == -signal.SIGKILL
    fleet.start("second")
    [record] = await fleet.ended()
    assert (record.state, record.starts, record.tally.spent) == (State.SUCCEEDED, 2, 0)
    verdict = await fleet.judge()
    [duplicate] = verdict.duplicates
    assert (duplicate.id, duplicate.cause) == (id, f"kill {worker.proc}")
    assert len(fleet.evidence().of(Effect)) == 2


async def test_w3_killed_before_the_first_step_costs_nothing(fleet: Fleet) -> None:
    worker = fleet.start("mortal", dies="leased")
    await fleet.enqueue(fleet.job("quick", n) for n in range(20))
    assert await worker.ends() == -signal.SIGKILL
    fleet.start("second")
    records = await fleet.ended()
    assert {(record.state, record.tally.crashes, record.tally.spent) for record in records} == {
        (State.SUCCEEDED, 0, 0)
    }
    assert max(record.starts for record in records) == 2
    assert all(len(runs) == 1 for runs in fleet.evidence().runs().values())
    assert not (await fleet.judge()).duplicates


async def test_w4_killed_after_the_outcome_was_stored_does_not_run_again(fleet: Fleet) -> None:
    worker = fleet.start("mortal", dies="settled")
    await fleet.put("quick", 7)
    assert await worker.ends() == -signal.SIGKILL
    second = fleet.start("second", "--burst")
    assert await second.ends() == 0
    [record] = await fleet.ended()
    assert (record.state, record.starts, record.result) == (State.SUCCEEDED, 1, b"7")
    assert len(fleet.evidence().of(RunStart)) == 1
    await fleet.judge()


async def test_with_its_journal_gone_a_job_runs_again_within_14_s(fleet: Fleet) -> None:
    """At the default ttl and beat, with another worker beside: the host of the dead one is gone."""
    defaults = {"ttl": 10.0, "beat": 2.5}
    worker, id = await killed_while_running(fleet, **defaults)
    died = time.monotonic()
    for journal in fleet.journals():
        journal.unlink()
    (fleet.folder / "gate").touch()
    second = fleet.start("second", **defaults)
    again = await run_of(fleet, id, 2)
    print(f"again {again.mono - died:.3f} s after the kill")
    assert again.mono - died <= IN_TIME + SLACK + use_of(second.pid).starved
    assert str(worker.pid) in second.log and "gave no sign of life" in second.log
    [record] = await fleet.ended()
    assert (record.state, record.tally.crashes) == (State.SUCCEEDED, 1)
    await fleet.judge()


async def test_w18_workers_of_one_name_are_two(fleet: Fleet) -> None:
    twins = [fleet.start(f"twin{n}", "--name", "twin", "-c", "5") for n in range(2)]
    for twin in twins:
        await twin.works()
    await fleet.enqueue(fleet.job("wait", "gate") for _ in range(10))
    await until(lambda: all(twin.told(RunStart) == 5 for twin in twins), fleet.logs)
    twins[0].kill()
    (fleet.folder / "gate").touch()
    records = await fleet.ended()
    assert sorted(record.tally.crashes for record in records) == [0] * 5 + [1] * 5
    assert {record.state for record in records} == {State.SUCCEEDED}
    await fleet.judge()


async def test_w19_when_the_whole_fleet_dies_everything_returns_at_once(fleet: Fleet) -> None:
    fleet_of = [fleet.start(f"w{n}", "-c", "20", ttl=600.0, beat=100.0) for n in range(3)]
    for each in fleet_of:
        await each.works()
    await fleet.enqueue(fleet.job("wait", "gate") for _ in range(60))
    await until(lambda: sum(each.told(RunStart) for each in fleet_of) == 60, fleet.logs)
    fleet.kill_all()
    (fleet.folder / "gate").touch()
    second = fleet.start("next", ttl=600.0, beat=100.0)
    records = await fleet.ended()
    starved = use_of(second.pid).starved
    runs = [event.mono for event, _ in fleet.evidence().of(RunStart) if event.proc == second.proc]
    print(f"all again {max(runs) - opened(fleet, second):.3f} s after the worker's start")
    assert max(runs) - opened(fleet, second) <= AT_ONCE + SLACK + starved
    assert {(record.state, record.tally.crashes) for record in records} == {(State.SUCCEEDED, 1)}
    await fleet.judge()
