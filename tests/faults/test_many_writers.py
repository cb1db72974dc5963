"""Eight processes enqueue and work on one file: each write waits its turn, and no turn is long."""

from __future__ import annotations

import asyncio
import statistics
from typing import NamedTuple

import pytest

from noria.model.state import State
from tests.faults.fleet import STORM, Fleet

pytestmark = [
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.storm,
    pytest.mark.timeout(1_800 if STORM else 120),
]

PROCESSES = 8
ROUNDS = 60 if STORM else 3
SPREADS, EACH = 40, 25
"""Jobs that enqueue, in each round, and how many jobs each enqueues, one by one."""
LONGEST_WAIT = 0.1


class Write(NamedTuple):
    """One write transaction of one process; times are the machine's monotonic clock.

    Attributes:
        asked, began, ended: when it asked for its turn, got it, and was done.
        starved_asking: for how much of the wait its thread was ready to run, and no processor was free.
        starved_writing: the same of its turn.
    """

    asked: float
    began: float
    ended: float
    starved_asking: float
    starved_writing: float

    @property
    def waited(self) -> float:
        return self.began - self.asked


async def test_b27_eight_processes_on_one_file_never_see_a_lock_nor_wait_for_long(fleet: Fleet) -> None:
    workers = [fleet.start(f"w{n}", "-c", "10", times_writes=1) for n in range(PROCESSES)]
    for worker in workers:
        await worker.works()
    for _ in range(ROUNDS):
        spreads = [fleet.enqueue([fleet.job("spread", EACH)]) for _ in range(SPREADS)]
        await asyncio.gather(*spreads)
        records = await fleet.ended()
        assert {(record.state, record.tally.spent) for record in records} == {(State.SUCCEEDED, 0)}
    writes = sorted(
        write for path in fleet.folder.glob("writes-*.txt") for write in read_writes(path.read_text())
    )
    waits = sorted((write.waited for write in writes), reverse=True)
    ours = sorted(
        (blamed(write, writes) for write in writes if write.waited > LONGEST_WAIT / 4), reverse=True
    )
    turns = [write.ended - write.began for write in writes]
    print(
        f"{len(writes)} writes of {PROCESSES} processes; waits: median {statistics.median(waits) * 1e3:.1f} ms, "
        f"longest {[round(wait * 1e3) for wait in waits[:5]]} ms; without the time for which the writers before "
        f"had no processor {[round(wait * 1e3) for wait in ours[:5]]} ms; turns: median "
        f"{statistics.median(turns) * 1e3:.1f} ms, longest {max(turns) * 1e3:.0f} ms"
    )
    assert len(writes) > PROCESSES * 50
    assert not ours or ours[0] <= LONGEST_WAIT
    for worker in workers:
        assert "locked" not in worker.log
        assert "WARNING" not in worker.log
        assert worker.code is None
    assert await fleet.shop.backend.counts() is not None
    await judged(fleet)


async def judged(fleet: Fleet) -> None:
    """The jobs that jobs enqueued are judged as well."""
    everything = set(fleet.evidence().runs())
    assert len(everything) == ROUNDS * SPREADS * (EACH + 1)
    await fleet.judge(sorted(everything))


def read_writes(text: str) -> list[Write]:
    return [Write(*map(float, line.split())) for line in text.splitlines()]


def blamed(write: Write, writes: list[Write]) -> float:
    """How long a write waited that is not the machine's doing.

    A machine with more to do than processors stops any thread for some milliseconds, and a writer that is
    stopped in its turn makes all others wait. The kernel says for how long each was ready to run and did not; what
    the writers that had their turn meanwhile lost so, and the waiting one itself, is taken off.
    """
    excused = write.starved_asking
    for other in writes:
        if other.asked > write.began:
            break
        if other is not write and other.ended > write.asked and other.began < write.began:
            excused += other.starved_writing
    return max(0.0, write.waited - excused)
