"""What jobs do to the event loop of their worker costs no session: a thread renews it, and says who it was."""

from __future__ import annotations

import itertools

import pytest

from noria.model.state import State
from noria.testing.events import EndInvoke, Opened, Renewed, RunEnd
from tests.faults.evidence import Evidence
from tests.faults.fleet import Fleet, Process, until

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(180)]

SECONDS = 60.0
DEFAULTS = {"ttl": 10.0, "beat": 2.5}
LONGEST_PAUSE = 5.0
"""Seconds without any progress of thread jobs beside the busy loop. Each of them takes 0.1."""


async def test_w8_a_loop_blocked_or_kept_busy_for_60_s_loses_no_session(fleet: Fleet) -> None:
    """Three workers at once, so that it takes one minute: one blocked, one busy, and one that would judge them."""
    blocked = fleet.start("blocked", "-q", "blocked", **DEFAULTS)
    busy = fleet.start("busy", "-q", "busy", "--threads", "4", **DEFAULTS)
    judge = fleet.start("judge", "-q", "default", **DEFAULTS)
    for each in (blocked, busy, judge):
        await each.works()
    block = await fleet.put("block", SECONDS, queue="blocked")
    churn = await fleet.put("churn", SECONDS, queue="busy")
    await blocked.runs()
    await busy.runs()
    beside = await fleet.enqueue(fleet.job("grind", n, 0.1, queue="busy") for n in range(4_000))
    await blocked.says(f"block {dashed(block)} has blocked the event loop")
    for id in (block, churn):
        await until(lambda id=id: is_final(fleet, id), fleet.logs, seconds=SECONDS + 60)
    evidence = fleet.evidence()
    progress = thread_progress(evidence, beside, churn)
    print(
        f"beside the busy loop {len(progress)} thread jobs ended, with pauses of at most "
        f"{max(b - a for a, b in itertools.pairwise(progress)):.2f} s"
    )
    assert len(progress) > SECONDS
    assert max(b - a for a, b in itertools.pairwise(progress)) < LONGEST_PAUSE
    assert_no_session_was_lost(evidence, (blocked, busy, judge))
    runs = evidence.runs()
    assert all(len(starts) == 1 for starts in runs.values()), "a job ran twice"
    assert "in block" in blocked.log, "the log shows where the loop stands"
    assert (await fleet.record(block)).state is State.SUCCEEDED
    assert (await fleet.record(churn)).state is State.SUCCEEDED
    assert "has blocked the event loop" not in judge.log


async def test_what_a_blocked_loop_keeps_from_the_others_is_given_back_to_them(fleet: Fleet) -> None:
    """One worker stands for eight seconds with 360 jobs around it; the other has long done them all when it goes on."""
    for name in ("one", "other"):
        await fleet.start(name, "--threads", "1", **DEFAULTS).works()
    tiny = [fleet.job("quick", n) for n in range(260)]
    drafts = [
        *tiny[:60],
        fleet.job("block", 8.0),
        *tiny[60:],
        *(fleet.job("grind", n, 0.0) for n in range(100)),
    ]
    jobs = await fleet.enqueue(drafts)
    block = jobs[60]

    await until(lambda: all_but(fleet, jobs, block), fleet.logs)
    left = (await fleet.record(block)).state

    assert left is State.RUNNING, "the others have ended only when the loop went on"
    await until(lambda: is_final(fleet, block), fleet.logs)
    await fleet.judge()
    begun = fleet.evidence().runs()
    assert all(len(begun[id]) == 1 for id in jobs), "a job began twice"


async def all_but(fleet: Fleet, jobs: list[str], block: str) -> bool:
    """Whether all have ended, but for the one that blocks, and one whose thread has ended and waits for the loop."""
    records = await fleet.records([id for id in jobs if id != block])
    return sum(not record.state.final for record in records) <= 1


def dashed(id: str) -> str:
    return "-".join((id[:8], id[8:12], id[12:16], id[16:20], id[20:]))


async def is_final(fleet: Fleet, id: str) -> bool:
    return (await fleet.record(id)).state.final


def thread_progress(evidence: Evidence, jobs: list[str], churn: str) -> list[float]:
    """When thread jobs ended while the loop was busy, from the beginning of the busy time to its end."""
    among = set(jobs)
    ends = {fact.id: event.mono for event, fact in evidence.of(RunEnd)}
    (begin,) = evidence.runs()[churn]
    end = ends[churn]
    return [begin.mono, *sorted(mono for id, mono in ends.items() if id in among and mono < end), end]


def assert_no_session_was_lost(evidence: Evidence, workers: tuple[Process, ...]) -> None:
    assert sorted(event.proc for event, _ in evidence.of(Opened)) == sorted(each.proc for each in workers)
    assert not [fact for _, fact in evidence.of(Renewed) if fact.lost]
    assert not evidence.of(EndInvoke)
