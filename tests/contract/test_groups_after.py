"""Jobs that have a group and wait for others, and jobs of groups whose unique keys later ones want."""

from __future__ import annotations

from typing import Any

import pytest

from noria.backends.contract import Change, GroupRef
from noria.ids import Id
from noria.model.claim import Claim
from noria.model.groups import Grouped, GroupLine, Need, Rule
from noria.model.job import Extras
from noria.model.state import State
from tests.contract.conftest import needs
from tests.contract.store import Store
from tests.contract.words import new, one, record, state, swept
from tests.contract.workers import running, settle, take, worker

pytestmark = needs("groups")

HOST = GroupRef("host", "example.org")
HEIRS = "heirs"
GROUPED = Grouped(HOST, Rule(limit=1))


async def waits(store: Store, parent: Id, **fields: Any) -> Id:
    """Push a job of the group that waits for another one."""
    fields = {"queue": HEIRS, "group": GROUPED, "extras": Extras(after=(parent.hex(),)), **fields}
    job = new(store, **fields)
    (receipt,) = await store.push([job])
    assert receipt.status == "created", receipt
    return job.id


async def line(store: Store) -> GroupLine | None:
    (found,) = await store.group([HOST])
    return found


async def test_it_takes_no_place_while_it_waits_for_another_job(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)
    other = await one(store, queue=HEIRS, group=GROUPED)
    heirs = await worker(store, queues=(HEIRS,))

    (first,) = await take(store, heirs, queue=HEIRS)
    assert first.id == other, "nobody waits behind one that waits for something else"
    found = await line(store)
    assert found is not None
    assert found.waiting == 0
    assert await store.place(child) is None
    await settle(store, heirs, first)
    assert await take(store, heirs, queue=HEIRS) == []

    await store.restart()
    await settle(store, session, lease)
    (second,) = await take(store, heirs, queue=HEIRS)
    assert second.id == child


async def test_when_it_waits_for_nobody_it_gets_in_line_of_its_group(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)
    await one(store, queue=HEIRS, group=GROUPED)
    heirs = await worker(store, queues=(HEIRS,))
    (first,) = await take(store, heirs, queue=HEIRS)
    before = (await record(store, child)).version

    await settle(store, session, lease)
    assert await state(store, child) is State.WAITING
    assert (await record(store, child)).awaits == ()
    assert (await record(store, child)).version > before
    assert await store.place(child) == 0
    assert await take(store, heirs, queue=HEIRS) == []

    await settle(store, heirs, first)
    (second,) = await take(store, heirs, queue=HEIRS)
    assert second.id == child
    await settle(store, heirs, second)
    assert await line(store) is None


async def test_one_that_is_due_later_gets_in_line_then(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id, delay=60.0)
    await settle(store, session, lease)
    assert await state(store, child) is State.SCHEDULED
    heirs = await worker(store, queues=(HEIRS,))
    assert await take(store, heirs, queue=HEIRS) == []

    store.clock.advance(61.0)
    await swept(store)
    heirs = await worker(store, queues=(HEIRS,))
    (found,) = await take(store, heirs, queue=HEIRS)
    assert found.id == child


async def test_one_that_is_cancelled_because_of_another_leaves_its_group_alone(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id)
    await settle(store, session, lease, State.FAILED)

    assert await state(store, child) is State.CANCELLED
    assert await line(store) is None


async def test_it_cannot_be_run_before_those_that_it_waits_for(store: Store) -> None:
    _, lease = await running(store)
    child = await waits(store, lease.id)

    (told,) = await store.alter([child], Change(kind="run"))
    assert told.status == "refused"
    assert await state(store, child) is State.WAITING


async def test_one_that_needs_a_resource_waits_for_another_job_too(store: Store) -> None:
    session, lease = await running(store)
    child = await waits(store, lease.id, group=None, needs=(Need("tunnel", capacity=1),))
    heirs = await worker(store, queues=(HEIRS,))
    assert await take(store, heirs, queue=HEIRS) == []

    await settle(store, session, lease)
    (found,) = await take(store, heirs, queue=HEIRS)
    assert found.id == child


# -- unique keys


REPLACE = Claim(on_conflict="replace")
LAST = Claim(on_conflict="keep_last")


async def test_one_that_is_replaced_gives_up_its_place(store: Store) -> None:
    first = await one(store, group=GROUPED, unique="k", claim=REPLACE)
    second = new(store, group=GROUPED, unique="k", claim=REPLACE)
    (receipt,) = await store.push([second])
    assert receipt.status == "replaced"
    session = await worker(store)

    assert await state(store, first) is State.CANCELLED
    (lease,) = await take(store, session)
    assert lease.id == second.id
    await settle(store, session, lease)
    assert await line(store) is None


@pytest.mark.parametrize("behind", [False, True])
async def test_one_that_is_put_off_by_a_later_one_keeps_no_place(store: Store, behind: bool) -> None:
    before = await one(store, group=GROUPED) if behind else None
    job = await one(store, group=GROUPED, unique="k", claim=LAST)
    later = new(store, group=GROUPED, unique="k", claim=LAST, delay=60.0)
    (receipt,) = await store.push([later])
    assert (receipt.status, receipt.id) == ("updated", job)
    assert await state(store, job) is State.SCHEDULED
    other = await one(store, group=GROUPED)
    session = await worker(store)

    for id in [*([] if before is None else [before]), other]:
        (lease,) = await take(store, session)
        assert lease.id == id
        await settle(store, session, lease)
    assert await take(store, session) == []

    store.clock.advance(61.0)
    await swept(store)
    session = await worker(store)
    (lease,) = await take(store, session)
    assert lease.id == job
