"""A signal: it wakes all who wait, and none waits longer than it said."""

from __future__ import annotations

import asyncio

import pytest

from noria.aio import Signal, turns


async def test_what_has_happened_is_not_waited_for() -> None:
    signal = Signal()
    signal.set()

    assert await signal.happened(60)
    assert signal.is_set()


async def test_all_who_wait_hear_of_it_even_if_it_is_cleared_at_once() -> None:
    signal = Signal()
    waits = [asyncio.ensure_future(signal.happened(60)) for _ in range(3)]
    await turns(2)
    signal.set()
    signal.clear()

    assert await asyncio.gather(*waits) == [True, True, True]
    assert not signal.is_set()


async def test_a_wait_ends_with_its_seconds() -> None:
    assert not await Signal().happened(0.001)


async def test_a_wait_can_be_cancelled_and_leaves_nothing_behind() -> None:
    signal = Signal()
    wait = asyncio.ensure_future(signal.happened(60))
    await turns(2)
    wait.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait
    signal.set()

    assert await signal.happened(60)
