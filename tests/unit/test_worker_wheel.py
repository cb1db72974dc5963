"""The timer wheel: never early, at most a tick late, and nothing fires that was taken off."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from noria.testing.virtual import VirtualLoop
from noria.worker.wheel import TICK, Wheel
from tests.support.workplace import in_virtual_time


@in_virtual_time
async def test_an_entry_expires_once_within_a_tick_after_its_time() -> None:
    loop = asyncio.get_running_loop()
    seen: list[tuple[str, float]] = []
    wheel: Wheel[str] = Wheel(loop, lambda entry: seen.append((entry, loop.time())))
    for name, when in (("b", 0.5), ("a", 0.1), ("c", 0.5), ("d", 3600.0)):
        wheel.add(when, name)
    await asyncio.sleep(4000)
    assert sorted(name for name, _ in seen) == ["a", "b", "c", "d"]
    for (name, at), due in zip(sorted(seen), (0.1, 0.5, 0.5, 3600.0), strict=True):
        assert due <= at <= due + TICK + 1e-6, name


@in_virtual_time
async def test_an_earlier_entry_is_not_held_up_by_a_later_one() -> None:
    loop = asyncio.get_running_loop()
    seen: list[str] = []
    wheel: Wheel[str] = Wheel(loop, seen.append)
    wheel.add(100.0, "late")
    wheel.add(1.0, "early")
    await asyncio.sleep(2)
    assert seen == ["early"]


@in_virtual_time
async def test_what_expires_may_add_and_take_off_entries_of_its_own_tick() -> None:
    loop = asyncio.get_running_loop()
    seen: list[str] = []
    buckets: dict[str, int] = {}

    def expired(entry: str) -> None:
        seen.append(entry)
        for other in set(buckets) - set(seen) - {"again"}:
            wheel.remove(buckets[other], other)
        if entry != "again":
            buckets["again"] = wheel.add(loop.time() + 1, "again")

    wheel: Wheel[str] = Wheel(loop, expired)
    for name in ("x", "y", "z"):
        buckets[name] = wheel.add(1.0, name)
    await asyncio.sleep(5)
    assert seen == ["x", "again"]


@in_virtual_time
async def test_a_closed_wheel_expires_nothing() -> None:
    seen: list[str] = []
    wheel: Wheel[str] = Wheel(asyncio.get_running_loop(), seen.append)
    wheel.add(1.0, "a")
    wheel.close()
    wheel.close()
    await asyncio.sleep(5)
    assert seen == []


@in_virtual_time
async def test_an_idle_wheel_leaves_the_loop_alone() -> None:
    """Only its own timer remains when everything was taken off, and that one fires once."""
    loop = asyncio.get_running_loop()
    wheel: Wheel[int] = Wheel(loop, lambda entry: None)
    for n in range(100):
        wheel.remove(wheel.add(1.0 + n, n), n)
    wheel.remove(12345, 7)
    await asyncio.sleep(200)
    scheduled = loop._scheduled  # type: ignore[attr-defined]  # asyncio's own list of timers
    assert [timer for timer in scheduled if not timer.cancelled()] == []


moves = st.lists(st.tuples(st.floats(0, 10), st.booleans()), min_size=1, max_size=40)


@given(moves)
def test_every_entry_that_stays_expires_and_no_other(plan: list[tuple[float, bool]]) -> None:
    loop = VirtualLoop(1)
    seen: dict[int, float] = {}
    wheel: Wheel[int] = Wheel(loop, lambda entry: seen.__setitem__(entry, loop.time()))

    async def scenario() -> None:
        buckets = [wheel.add(when, number) for number, (when, _) in enumerate(plan)]
        for number, (_, stays) in enumerate(plan):
            if not stays:
                wheel.remove(buckets[number], number)
        await asyncio.sleep(11)

    loop.run_until_complete(scenario())
    loop.close()
    assert set(seen) == {number for number, (_, stays) in enumerate(plan) if stays}
    assert all(plan[number][0] <= at <= plan[number][0] + TICK + 1e-6 for number, at in seen.items())
