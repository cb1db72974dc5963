"""A worker that was stopped for longer than its session lives changes nothing when it goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from noria.model.state import State
from noria.testing.events import Opened, Renewed, RunEnd, RunStart
from tests.faults.fleet import STORM, Fleet, Process, until

pytestmark = [pytest.mark.kill, pytest.mark.timeout(600 if STORM else 90)]

TRIES = 1_000
TTL, BEAT = 2.0, 0.5
HELD = 6.0
"""Seconds for which the first start of each job works: longer than it takes the second worker to begin."""


async def lapsed(fleet: Fleet, first: Process) -> Process:
    """Stop a worker, and wait until another one has ended its session."""
    first.stop()
    second = fleet.start("second", "-c", "1000", ttl=TTL, beat=BEAT)
    await second.says("gave no sign of life")
    return second


@pytest.mark.slow
@pytest.mark.parametrize("again", range(10 if STORM else 1))
async def test_w6_1000_late_outcomes_of_a_resumed_worker_are_all_refused(fleet: Fleet, again: int) -> None:
    """Its renewals are held up, so that it learns of its loss only after it has tried to settle everything."""
    first = fleet.start("first", "-c", str(TRIES), ttl=TTL, beat=BEAT)
    await first.works()
    await fleet.enqueue(fleet.job("lag", HELD) for _ in range(TRIES))
    await first.runs(TRIES)
    done = time.monotonic() + HELD
    second = await lapsed(fleet, first)
    before = await fleet.ended()
    assert {(record.state, record.starts, record.result) for record in before} == {(State.SUCCEEDED, 2, b"2")}
    (fleet.folder / "late-renewals").touch()
    await asyncio.sleep(max(0.0, done - time.monotonic()))
    first.go_on()
    await until(lambda: len(fleet.evidence().verdicts("stale")) == TRIES, lambda: tries(fleet))
    (fleet.folder / "late-renewals").unlink()
    assert await fleet.records() == before
    assert second.told(RunStart) == TRIES
    verdict = await fleet.judge()
    print(f"{TRIES} tries, all refused; {verdict}")
    await works_on(fleet, first, second)


def tries(fleet: Fleet) -> str:
    stale, ok = len(fleet.evidence().verdicts("stale")), len(fleet.evidence().verdicts("ok"))
    return f"{stale} settles were refused, {ok} accepted\n{fleet.logs()}"


async def works_on(fleet: Fleet, first: Process, second: Process) -> None:
    """The resumed worker begins a new session, and works in it."""
    await until(lambda: first.told(Opened) == 2, fleet.logs)
    second.kill()
    await fleet.put("quick", 1)
    await fleet.ended()
    await fleet.judge()


@pytest.mark.parametrize(("task", "count"), [("wait", 50), ("watch", 5)])
async def test_w7_handlers_of_a_resumed_worker_are_told_to_end(fleet: Fleet, task: str, count: int) -> None:
    """Its renewal comes first: that revives nothing, and every handler hears of it."""
    first = fleet.start("first", "-c", "100", "--threads", "5", ttl=TTL, beat=BEAT)
    await first.works()
    await fleet.enqueue(fleet.job(task, f"gate{n}") for n in range(count))
    await first.runs(count)
    second = await lapsed(fleet, first)
    await second.runs(count)
    before = [(record.session, record.starts, record.version) for record in await fleet.records()]
    first.go_on()
    await until(lambda: told_to_end(fleet, first) == count, fleet.logs)
    assert [fact.lost for event, fact in fleet.evidence().of(Renewed) if event.proc == first.proc][-1:] == [
        True
    ]
    assert [(record.session, record.starts, record.version) for record in await fleet.records()] == before
    for n in range(count):
        (fleet.folder / f"gate{n}").touch()
    records = await fleet.ended()
    assert {(record.state, record.tally.crashes) for record in records} == {(State.SUCCEEDED, 1)}
    assert {record.result for record in records} == {b"2"}
    await works_on(fleet, first, second)


def told_to_end(fleet: Fleet, worker: Process) -> int:
    own: Callable[[str], bool] = lambda proc: proc == worker.proc  # noqa: E731 - a word for the line below
    ends = [fact.outcome for event, fact in fleet.evidence().of(RunEnd) if own(event.proc)]
    assert "succeeded" not in ends
    return len(ends)


async def test_w9_a_job_that_holds_the_interpreter_lock_loses_its_session_and_harms_nobody(
    fleet: Fleet,
) -> None:
    """As documented: while C code keeps the lock, no thread can renew. The fence holds all the same."""
    first = fleet.start("first", ttl=TTL, beat=BEAT)
    await first.works()
    id, gate = await stunned(fleet, first)
    runs = first.told(RunEnd)
    with fleet.recorder.fault("stun", "pause", first.proc):
        second = fleet.start("second", ttl=TTL, beat=BEAT)
        await fleet.ended()
        before = await fleet.record(id)
        assert (before.state, before.starts, before.result) == (State.SUCCEEDED, 2, b"2")
        gate.touch()
        await until(lambda: first.told(RunEnd) > runs, fleet.logs)
    await until(lambda: first.told(Opened) == 2, fleet.logs)
    assert await fleet.record(id) == before
    assert not [each for each in fleet.evidence().verdicts("ok") if (each.id, each.starts) == (id, 1)]
    await works_on(fleet, first, second)


async def stunned(fleet: Fleet, worker: Process) -> tuple[str, Path]:
    """Stun a worker that has not just the right to write, which a file gives to one alone: the job, and its gate."""
    while True:
        gate = fleet.folder / f"end{len(fleet.jobs)}"
        id = await fleet.put("stun", gate.name)
        await worker.runs(len(fleet.jobs))
        # A thread that waits for that right in C gets it although it cannot go on: whoever has it now has it later.
        free = fleet.is_writable()
        await asyncio.sleep(0.5)
        if free and fleet.is_writable():
            return id, gate
        gate.touch()
        await fleet.ended()
