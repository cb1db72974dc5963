"""`noria worker --processes`: children die, the supervisor dies, and no job is lost, late or run by two fleets."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from noria.model.outcome import Outcome
from noria.model.state import State
from noria.testing.events import Event, Leased, Opened, RunStart
from tests.faults.fleet import SLACK, Fleet, Process, until
from tests.faults.machine import use_of

pytestmark = [
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.timeout(150),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

AT_ONCE = 1.0


def children(parent: int) -> list[int]:
    """The living children of a process, the oldest first; those that were stopped count, zombies do not."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(rest[1]) == parent and rest[0] != "Z":
            found.append((int(rest[19]), int(path.parent.name)))
    return [pid for _, pid in sorted(found)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Crew:
    """A supervisor of a fleet, and its children."""

    def __init__(self, fleet: Fleet, name: str, count: int, *flags: str, **patience: float) -> None:
        self.fleet = fleet
        self.name = name
        self.count = count
        self.process: Process = fleet.start(name, "--processes", str(count), *flags, **patience)

    @property
    def children(self) -> list[int]:
        return children(self.process.pid)

    async def works(self) -> list[int]:
        """Wait until every child has a session; their process ids."""
        return await until(
            lambda: found if len(found := self.opened()) == self.count else [],
            lambda: f"{self.name} does not get going\n{self.process.log}",
        )

    def opened(self) -> list[int]:
        """The living children that have a session."""
        told = {event.proc for event, _ in self.fleet.evidence().of(Opened)}
        return [pid for pid in self.children if f"{self.name}-{pid}" in told]

    def kill(self, pid: int) -> float:
        """SIGKILL one child; when it was gone at the latest."""
        proc = f"{self.name}-{pid}"
        with self.fleet.recorder.fault(f"kill {proc}", "kill", proc):
            os.kill(pid, signal.SIGKILL)
            while alive(pid):
                time.sleep(0.001)
        return time.monotonic()


async def run_of(fleet: Fleet, id: str, number: int) -> Event:
    """The beginning of a job's n-th run."""
    [*_, last] = await until(
        lambda: [*runs] if len(runs := fleet.evidence().runs()[id]) >= number else [],
        lambda: f"{id} does not run {number} times\n{fleet.logs()}",
    )
    return last


def starved(pids: Sequence[int]) -> float:
    return sum(use_of(pid).starved for pid in pids)


async def test_the_jobs_of_a_killed_child_run_again_within_a_second(fleet: Fleet) -> None:
    crew = Crew(fleet, "crew", 2)
    pids = await crew.works()
    jobs = await fleet.enqueue(fleet.job("wait", "gate") for _ in range(20))
    begun = [await run_of(fleet, id, 1) for id in jobs]
    victim = max(pids, key=lambda pid: sum(event.proc == f"crew-{pid}" for event in begun))
    lost = [id for id, event in zip(jobs, begun, strict=True) if event.proc == f"crew-{victim}"]
    gone, before = crew.kill(victim), starved(pids)
    again = [await run_of(fleet, id, 2) for id in lost]
    late = max(event.mono for event in again) - gone
    print(f"{len(lost)} jobs run again after {late:.3f} s")
    assert late <= AT_ONCE + SLACK + starved(crew.children) - before
    assert len(await crew.works()) == 2, "another has taken its place"
    (fleet.folder / "gate").touch()
    records = await fleet.ended()
    assert {(each.state, each.tally.spent) for each in records} == {(State.SUCCEEDED, 0)}
    await fleet.judge()


async def test_what_the_supervisor_saw_is_the_evidence(fleet: Fleet) -> None:
    crew = Crew(fleet, "crew", 1)
    [pid] = await crew.works()
    id = await fleet.put("wait", "gate")
    await run_of(fleet, id, 1)
    crew.kill(pid)
    (fleet.folder / "gate").touch()
    [record] = await fleet.ended()
    failure = record.log[0].failure
    assert record.log[0].outcome is Outcome.CRASHED
    assert failure is not None
    assert "signal 9" in failure.message, failure.message
    assert "memory" in failure.message, failure.message
    assert f"process {pid}" in failure.message
    await fleet.judge()


async def test_l9_the_children_of_a_killed_supervisor_drain_and_a_new_one_takes_over(fleet: Fleet) -> None:
    old = Crew(fleet, "old", 2)
    orphans = await old.works()
    running = await fleet.enqueue(fleet.job("wait", "gate") for _ in range(4))
    for id in running:
        await run_of(fleet, id, 1)
    old.process.kill()
    await old.process.says("the supervisor is gone: draining")
    new = Crew(fleet, "new", 2)
    await new.works()
    later = await fleet.enqueue(fleet.job("quick", n) for n in range(50))
    for id in later:
        await run_of(fleet, id, 1)
    (fleet.folder / "gate").touch()
    records = await fleet.ended()
    await until(lambda: not any(map(alive, orphans)), "the orphans stay")
    assert len(new.opened()) == 2
    assert {(each.state, each.tally.crashes) for each in records} == {(State.SUCCEEDED, 0)}
    # One that drains may have been given a job just then, and gives it back before it begins.
    assert {len(runs) for runs in fleet.evidence().runs().values()} == {1}, "nothing ran twice"
    leased = {fact.id: event.proc for event, fact in fleet.evidence().of(Leased)}
    assert {leased[id].partition("-")[0] for id in later} == {"new"}, "orphans lease nothing"
    await fleet.judge()


async def test_a_term_to_the_supervisor_drains_all_and_ends_with_0(fleet: Fleet) -> None:
    crew = Crew(fleet, "crew", 2)
    pids = await crew.works()
    jobs = await fleet.enqueue(fleet.job("slow", n, 1.0) for n in range(10))
    for id in jobs:
        await run_of(fleet, id, 1)
    crew.process.signal(signal.SIGTERM)
    assert await crew.process.ends() == 0
    assert not any(map(alive, pids))
    assert {(each.state, each.starts) for each in await fleet.records()} == {(State.SUCCEEDED, 1)}
    await fleet.judge()


async def test_ctrl_c_reaches_the_children_once_and_again_hastens_them(fleet: Fleet) -> None:
    """A terminal sends SIGINT to its whole foreground group; the children have groups of their own."""
    crew = Crew(fleet, "crew", 2, "--drain", "600")
    await crew.works()
    id = await fleet.put("wait", "gate")
    await run_of(fleet, id, 1)
    os.killpg(crew.process.pid, signal.SIGINT)
    await until(lambda: crew.process.log.count("SIGTERM: draining") == 2, lambda: crew.process.log)
    await asyncio.sleep(0.5)  # a second press is no echo of the first
    assert "stopping now" not in crew.process.log.replace("again stops now", "")
    os.killpg(crew.process.pid, signal.SIGINT)
    assert await crew.process.ends(seconds=10) == 1
    record = await fleet.record(id)
    assert (record.state, record.tally.spent, record.tally.crashes) == (State.QUEUED, 0, 0)


async def test_w14_a_process_whose_handler_never_ends_is_replaced(fleet: Fleet) -> None:
    crew = Crew(fleet, "crew", 1, "--drain", "1", "--threads", "1")
    [pid] = await crew.works()
    stuck = await fleet.put("snore", 600.0, timeout=0.2, attempts=1)
    await crew.process.says("asks to be replaced: snore")
    await until(lambda: not alive(pid), "the old process stays")
    after = await fleet.put("snore", 0.0)
    await fleet.ended()
    [first] = await fleet.records([stuck])
    assert [start.outcome for start in first.log] == [Outcome.TIMED_OUT]
    assert (await fleet.record(after)).starts == 1
    await fleet.judge()


async def test_a_child_over_its_memory_limit_drains_and_is_replaced(fleet: Fleet) -> None:
    crew = Crew(fleet, "crew", 1, "--memory-limit", "300MB", beat=0.2)
    [pid] = await crew.works()
    running = await fleet.put("slow", 1, 2.0)
    await run_of(fleet, running, 1)
    await fleet.put("swell", 350)
    await crew.process.says("asks to be replaced: it holds")
    await until(lambda: not alive(pid), "the old process stays")
    records = await fleet.ended()
    assert {(each.state, each.starts) for each in records} == {(State.SUCCEEDED, 1)}, "running jobs end first"
    await crew.works()
    await fleet.judge()


async def test_a_term_does_not_hasten_a_child_that_drains_to_be_replaced(fleet: Fleet) -> None:
    crew = Crew(fleet, "crew", 1, "--memory-limit", "300MB", beat=0.2)
    await crew.works()
    running = await fleet.put("wait", "gate")
    await run_of(fleet, running, 1)
    await fleet.put("swell", 350)
    await crew.process.says("asks to be replaced: it holds")
    crew.process.signal(signal.SIGTERM)
    await crew.process.says("all processes drain")
    await asyncio.sleep(0.3)
    (fleet.folder / "gate").touch()
    assert await crew.process.ends() == 0
    record = await fleet.record(running)
    assert (record.state, record.starts) == (State.SUCCEEDED, 1)
    await fleet.judge()


async def test_l10_children_that_die_at_once_do_not_spin(fleet: Fleet) -> None:
    poison = [fleet.job("poison", 0.0, crashes=3) for _ in range(1)]
    crew = Crew(fleet, "crew", 1)
    await crew.works()
    await fleet.enqueue(poison)
    records = await fleet.ended()
    assert records[0].state is State.FAILED
    starts = crew.process.log.count("worker 1 is process")
    assert starts == 4, "one for each crash, and no more"
    assert "started again in" in crew.process.log, "with a pause from the second on"


async def test_sigusr1_tells_where_the_threads_of_every_child_stand(fleet: Fleet) -> None:
    crew = Crew(fleet, "crew", 2)
    await crew.works()
    await until(lambda: crew.process.log.count("slots: async") == 2, lambda: crew.process.log)
    id = await fleet.put("grind", 1, 3.0)
    await run_of(fleet, id, 1)
    crew.process.signal(signal.SIGUSR1)
    told = "noria.cli: SIGUSR1: where"
    await until(lambda: crew.process.log.count(told) == 2, lambda: crew.process.log)
    assert "thread noria-thread-1" in crew.process.log
    assert "time.sleep(seconds)" in crew.process.log
    assert all(mark in crew.process.log for mark in ("[1]", "[2]")), "the log says which child"


async def test_the_supervisor_maps_neither_uvloop_nor_sqlite(fleet: Fleet) -> None:
    crew = Crew(fleet, "crew", 1)
    [pid] = await crew.works()
    libraries = Path(f"/proc/{crew.process.pid}/maps").read_text()
    assert "uvloop" not in libraries
    assert "apsw" not in libraries
    assert "apsw" in Path(f"/proc/{pid}/maps").read_text(), "this test can see it"
    assert len(fleet.evidence().of(RunStart)) == 0
