"""A worker with a broken part is no worker: it ends at once, loudly, and its jobs go on elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from noria.model.state import State
from tests.faults.fleet import Fleet

pytestmark = pytest.mark.kill

PARTS = [
    "noria.worker.keeper:Beat.run",
    "noria.worker.keeper:Beat.turn",
    "noria.worker.keeper:StandIn._report",
    "noria.worker.settle:Settler.run",
    "noria.worker.lane:LaneFeed.run",
    "noria.worker.feed:Feed._watch_waiting",
    "noria.worker.sweep:Sweeper.run",
    "noria.worker.orders:Listener.run",
    "noria.worker.watchdog:Watchdog.run",
    "noria.worker.run:Runner._ended",
    "noria.backends.sql.engine:Engine.commit",
    "noria.backends.sqlite.engine:Engine.land",
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.partition(":")[2])
async def test_w16_a_worker_with_a_broken_part_ends_with_an_error(fleet: Fleet, part: str) -> None:
    worker = fleet.start("broken", breaks=part)
    id = await fleet.put("wait", "gate")
    await worker.runs()
    (fleet.folder / "break").touch()
    await fleet.put("quick", 1)
    (fleet.folder / "gate").touch()
    code = await worker.ends(seconds=20)
    assert code == 70, worker.log
    assert "Sabotage" in worker.log
    assert "CRITICAL" in worker.log
    (fleet.folder / "break").unlink()
    fleet.start("next")
    records = await fleet.ended()
    assert {record.state for record in records} == {State.SUCCEEDED}
    assert (await fleet.record(id)).tally.crashes <= 1


async def test_r4_a_log_that_nobody_reads_does_not_hold_up_a_worker(fleet: Fleet) -> None:
    """Its reader stops for good in the middle of the work."""
    reader = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE)
    try:
        assert reader.stdin is not None
        worker = fleet.start("worker", log=reader.stdin.fileno())
        await fleet.enqueue(fleet.job("fail", n) for n in range(1_000))
        records = await fleet.ended()
        assert {record.state for record in records} == {State.FAILED}
        worker.signal(signal.SIGTERM)
        assert await worker.ends(seconds=20) == 0
    finally:
        reader.kill()
        reader.communicate()
    await fleet.judge()
    assert os.path.getsize(worker.path) == 0
