"""Two applications on one machine or server never meet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noria.backends.contract import Verdict, Want
from noria.model.state import State
from tests.contract.conftest import make_store
from tests.contract.store import Store
from tests.contract.words import QUEUE, enqueue, new, one, state, swept
from tests.contract.workers import running, settle, take_all, worker


@pytest.fixture
async def neighbour(request: pytest.FixtureRequest, store: Store, short_tmp: Path) -> AsyncIterator[Store]:
    """Another namespace on the same machine."""
    folder = short_tmp / "other"
    folder.mkdir()
    async with make_store(request, folder, store.case) as neighbour:
        yield neighbour


async def test_jobs_are_leased_only_in_their_own_namespace(store: Store, neighbour: Store) -> None:
    """T14."""
    mine, theirs = await enqueue(store, 20), await enqueue(neighbour, 30)

    leased = [await take_all(each, await worker(each)) for each in (store, neighbour)]

    assert [[lease.id for lease in leases] for leases in leased] == [mine, theirs]


async def test_delayed_jobs_are_promoted_only_in_their_own_namespace(store: Store, neighbour: Store) -> None:
    """T14."""
    await enqueue(store, 20, delay=5)
    await store.advance(10)

    assert (await neighbour.sweep()).promoted == 0
    assert (await store.sweep()).promoted == 20


async def test_unique_keys_and_ids_are_scoped_to_a_namespace(store: Store, neighbour: Store) -> None:
    job = new(store, unique="k")
    await store.push([job])

    assert (await neighbour.push([job]))[0].status == "created"


async def test_a_session_of_another_namespace_counts_for_nothing(store: Store, neighbour: Store) -> None:
    session, lease = await running(store)
    await neighbour.push([new(store, id=lease.id)])

    assert await settle(neighbour, session, lease) is Verdict.STALE
    assert (await neighbour.renew(session)).lost
    assert not (await neighbour.end(session)).ended
    assert await settle(store, session, lease) is Verdict.OK


async def test_counts_and_sweeps_see_only_their_own_namespace(store: Store, neighbour: Store) -> None:
    id = await one(store, expires=store.clock.wall() + 5)
    await store.advance(10)
    await neighbour.advance(10)
    await swept(neighbour)

    assert (await neighbour.counts()).queues == {}
    assert await state(store, id) is State.QUEUED


@pytest.mark.store(poll=3_600.0, restarts=False)
async def test_a_push_wakes_nobody_in_another_namespace(store: Store, neighbour: Store) -> None:
    session = await worker(neighbour)
    lease = asyncio.ensure_future(neighbour.lease(session, [Want(QUEUE, 1)], 1, 3_600.0))
    await asyncio.sleep(0.05)
    await one(store)
    await asyncio.sleep(0.05)

    assert not lease.done()
    lease.cancel()
