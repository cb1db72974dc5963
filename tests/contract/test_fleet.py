"""The workers as a person sees them: who they are, how they are, what they hold; and what they are told."""

from __future__ import annotations

import pytest

from noria.backends.contract import Orders, Vitals
from noria.ids import SessionId
from noria.model.limits import TTL
from tests.contract.store import Store
from tests.contract.words import enqueue, one
from tests.contract.workers import end, take, worker

VITALS = Vitals(
    running=3, lag=0.25, memory=1 << 30, busy={"async": 2, "thread": 1}, load=0.5, state="quiet", settled=7
)


async def test_a_worker_is_shown_as_it_described_itself(store: Store) -> None:
    card = {"sizes": {"async": 100, "thread": 6}, "slots": 106, "version": "0.1.0", "language": "php"}
    session = await worker(store, worker="w-1", **card)
    await store.renew(session, VITALS)
    await store.restart()

    (member,) = await store.fleet()

    assert (member.session, member.beat, member.vitals) == (session, 1, VITALS)
    assert {name: getattr(member.card, name) for name in card} == card
    assert (member.card.worker, member.held, member.jobs, member.command) == ("w-1", 0, (), None)


async def test_an_empty_fleet_has_no_members(store: Store) -> None:
    assert await store.fleet() == []


async def test_members_are_told_in_order_of_their_age(store: Store) -> None:
    sessions = []
    for _ in range(3):
        sessions.append(await worker(store))
        await store.advance(1)

    assert [member.session for member in await store.fleet()] == sessions


async def test_a_member_that_is_silent_is_still_a_member(store: Store) -> None:
    session = await worker(store)
    await store.advance(TTL - 1)
    (before,) = await store.fleet()
    await store.advance(2)
    (after,) = await store.fleet()

    assert (before.silent, before.overdue) == (pytest.approx(TTL - 1, abs=0.01), False)
    assert (after.session, after.overdue) == (session, True)
    await store.end(session)
    assert await store.fleet() == []


async def test_a_member_names_what_it_holds(store: Store) -> None:
    ids = await enqueue(store, 3)
    session, other = await worker(store), await worker(store)
    leases = await take(store, session, 2)
    await take(store, other, 1)
    await store.settle(session, [end(leases[0])])

    held = {member.session: (member.held, member.jobs) for member in await store.fleet()}

    assert held == {session: (1, (leases[1].id,)), other: (1, (ids[2],))}


async def test_of_many_jobs_the_first_are_named_and_all_are_counted(store: Store) -> None:
    ids = await enqueue(store, 150)
    await take(store, await worker(store), 150)

    (member,) = await store.fleet()

    assert (member.held, list(member.jobs)) == (150, ids[:100])


# -- orders


@pytest.mark.parametrize("command", ["quiet", "stop"])
async def test_an_order_is_repeated_with_each_renewal(store: Store, command: str) -> None:
    session, other = await worker(store), await worker(store)

    assert await store.command(session, command)
    await store.restart()

    assert [(await store.renew(session)).command for _ in range(3)] == [command] * 3
    assert (await store.renew(other)).command is None
    assert {member.session: member.command for member in await store.fleet()} == {
        session: command,
        other: None,
    }


async def test_the_last_order_counts(store: Store) -> None:
    session = await worker(store)

    told = []
    for command in ("quiet", "quiet", "stop", "resume", "resume", "quiet"):
        assert await store.command(session, command)
        told.append((await store.renew(session)).command)

    assert told == ["quiet", "quiet", "stop", None, None, "quiet"]


async def test_nobody_is_told_who_is_not_there(store: Store) -> None:
    session = await worker(store)
    await store.end(session)

    assert not await store.command(session, "stop")
    assert not await store.command(SessionId(12345), "stop")
    assert await store.renew(session) == Orders(lost=True)


@pytest.mark.store(restarts=False)
async def test_an_order_is_hinted_to_its_worker(store: Store) -> None:
    session = await worker(store)
    other = await store.join()
    async with store.listen([f"session:{session}"]) as hints:
        assert (await anext(hints)).reset

        await other.command(session, "quiet")

        async for hint in hints:
            if not hint.reset:
                assert hint.channel == f"session:{session}"
                break


async def test_an_order_takes_no_jobs_away(store: Store) -> None:
    """The worker obeys, not the store: what it leases before it has heard is its own."""
    id = await one(store)
    session = await worker(store)
    await store.command(session, "quiet")

    assert [lease.id for lease in await take(store, session)] == [id]
