"""Outcomes on their way: gathered, repeated until they are recorded, dropped with a lost session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from noria.backends.contract import Parts, Verdict
from noria.ids import SessionId, seeded
from noria.model.job import Lease
from noria.model.limits import MAX_BATCH, MIB
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from noria.worker.settings import MAX_UNSETTLED_BYTES
from noria.worker.settle import Settler
from tests.support.workplace import Workplace, in_virtual_time


def success(lease: Lease, result: bytes = b"1") -> Settlement:
    return Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=result, began=1.0)


class Desk:
    """A settler on a real store, with jobs to settle."""

    def __init__(self, place: Workplace, session: SessionId, leases: list[Lease], most: int = 10_000) -> None:
        self.verdicts: list[tuple[Settlement, Verdict]] = []
        self.place = place
        self.leases = leases
        self.settler = Settler(
            place.faulty, most, lambda end, verdict: self.verdicts.append((end, verdict)), seeded(1)
        )
        self.settler.reset(session)
        self.task = asyncio.ensure_future(self.settler.run())

    @property
    def told(self) -> list[Verdict]:
        return [verdict for _, verdict in self.verdicts]

    async def states(self) -> list[State]:
        records = await self.place.store.get([lease.id for lease in self.leases], Parts.RESULT)
        return [record.state for record in records if record is not None]

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def desk(place: Workplace, jobs: int, **options: Any) -> Desk:
    @place.app.task
    async def work() -> int:
        return 1

    await place.app.enqueue_many(work.job() for _ in range(jobs))
    session = await place.someone("work")
    leases: list[Lease] = []
    while len(leases) < jobs:
        leases += await place.take(session, jobs)
    return Desk(place, session, leases, **options)


@in_virtual_time
async def test_the_first_outcome_is_sent_at_once_and_the_rest_go_together() -> None:
    async with Workplace() as place:
        at = await desk(place, 101)
        at.settler.add(success(at.leases[0]))
        await asyncio.sleep(0)
        for lease in at.leases[1:]:
            at.settler.add(success(lease))
        assert await at.settler.flushed(1)
        assert at.told == [Verdict.OK] * 101
        assert place.faulty.calls["settle"] <= 2
        assert (at.settler.unsettled, at.settler.settled, at.settler.full) == (0, 101, False)
        await at.close()


@in_virtual_time
async def test_a_flush_takes_a_thousand_at_most() -> None:
    async with Workplace() as place:
        at = await desk(place, 2_500)
        for lease in at.leases:
            at.settler.add(success(lease))
        assert await at.settler.flushed(5)
        sizes = [len(args[1]) for name, args in place.faulty.args if name == "settle"]
        assert sizes == [MAX_BATCH, MAX_BATCH, 500]
        assert set(await at.states()) == {State.SUCCEEDED}
        await at.close()


@pytest.mark.parametrize("how", ["unavailable", "unknown"])
@in_virtual_time
async def test_a_failed_flush_is_repeated_until_it_is_recorded(how: str) -> None:
    async with Workplace() as place:
        at = await desk(place, 3)
        place.faulty.fail("settle", *[how] * 8)
        for lease in at.leases:
            at.settler.add(success(lease))
        assert not await at.settler.flushed(0.5)
        assert await at.settler.flushed(30)
        assert place.faulty.calls["settle"] == 9
        assert at.told == [Verdict.ALREADY if how == "unknown" else Verdict.OK] * 3
        assert await at.states() == [State.SUCCEEDED] * 3
        await at.close()


@in_virtual_time
async def test_outcomes_that_come_while_the_backend_is_away_wait_their_turn() -> None:
    async with Workplace() as place:
        at = await desk(place, 4)
        place.faulty.fail("settle", *["unavailable"] * 5)
        for lease in at.leases:
            at.settler.add(success(lease))
            await asyncio.sleep(0.3)
        assert await at.settler.flushed(30)
        assert [end.id for end, _ in at.verdicts] == [lease.id for lease in at.leases]
        await at.close()


@in_virtual_time
async def test_the_repeats_slow_down_and_stay_below_a_second_and_a_half() -> None:
    async with Workplace() as place:
        at = await desk(place, 1)
        place.faulty.fail("settle", *["unavailable"] * 10_000)
        at.settler.add(success(at.leases[0]))
        await asyncio.sleep(600)
        assert 400 <= place.faulty.calls["settle"] <= 1_300
        await at.close()


@in_virtual_time
async def test_it_is_full_by_number_and_by_bytes() -> None:
    async with Workplace() as place:
        at = await desk(place, 20, most=5)
        place.faulty.fail("settle", *["unavailable"] * 1_000)
        at.settler.add(success(at.leases[0]))
        await asyncio.sleep(0.01)
        for lease in at.leases[1:6]:
            assert not at.settler.full
            at.settler.add(success(lease))
        assert at.settler.full
        place.faulty.heal()
        assert await at.settler.flushed(10)
        assert not at.settler.full
        await at.close()

        big = Settler(place.faulty, 10_000, lambda end, verdict: None, seeded(1))
        for lease in at.leases[6:14]:
            assert not big.full
            big.add(success(lease, b"x" * MIB))
        assert big.full
        assert MAX_UNSETTLED_BYTES == 8 * MIB


@in_virtual_time
async def test_a_lost_session_drops_what_waits_and_what_is_in_flight() -> None:
    async with Workplace() as place:
        at = await desk(place, 5)
        place.faulty.fail("settle", *["unavailable"] * 1_000)
        for lease in at.leases:
            at.settler.add(success(lease))
        await asyncio.sleep(1)
        at.settler.reset(SessionId(0))
        assert await at.settler.flushed(0)
        asked = place.faulty.calls["settle"]
        await asyncio.sleep(10)
        assert (at.told, place.faulty.calls["settle"] - asked) == ([], 0)
        assert set(await at.states()) == {State.RUNNING}
        await at.close()


@in_virtual_time
async def test_a_stale_outcome_changes_nothing_and_is_told() -> None:
    async with Workplace() as place:
        at = await desk(place, 2)
        lease = at.leases[0]
        at.settler.add(Settlement(lease.id, lease.starts + 1, Outcome.SUCCEEDED, State.SUCCEEDED))
        at.settler.add(success(at.leases[1]))
        assert await at.settler.flushed(5)
        assert at.told == [Verdict.STALE, Verdict.OK]
        assert await at.states() == [State.RUNNING, State.SUCCEEDED]
        await at.close()


@in_virtual_time
async def test_an_outcome_said_twice_is_recorded_once() -> None:
    async with Workplace() as place:
        at = await desk(place, 1)
        at.settler.add(success(at.leases[0], b"1"))
        at.settler.add(success(at.leases[0], b"2"))
        assert await at.settler.flushed(5)
        assert at.told == [Verdict.OK, Verdict.ALREADY]
        [record] = await place.store.get([at.leases[0].id], Parts.RESULT)
        assert record is not None
        assert record.result == b"1"
        await at.close()


@in_virtual_time
async def test_a_fault_that_is_no_outage_ends_it() -> None:
    async with Workplace() as place:
        at = await desk(place, 1)
        place.faulty.fail("settle", ZeroDivisionError("a bug"))
        at.settler.add(success(at.leases[0]))
        with pytest.raises(ZeroDivisionError):
            await at.task
