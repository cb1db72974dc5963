"""Groups on PostgreSQL: who locks what, and that it stays cheap for those who use none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import asyncpg
import psycopg
import pytest

from noria.backends.contract import FamilyRef, Verdict, Want, WorkerCard
from noria.backends.postgres import PostgresBackend
from noria.clock import SystemClock
from noria.ids import IdSource, SessionId
from noria.model.claim import Claim, OnConflict
from noria.model.groups import Grouped, GroupRef, Need, Rule
from noria.model.job import Lease, NewJob
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.postgres import SERVER, namespace

CLOCK = SystemClock()
IDS = IdSource(CLOCK)
CARD = WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",))
HOST = GroupRef("host", "example.org")
ONE = Grouped(HOST, Rule(limit=1))


def job(**fields: object) -> NewJob:
    return NewJob(id=IDS.next(), task="t", queue="q", body=b"[]", **fields)  # type: ignore[arg-type]  # each value has its field's type


@pytest.fixture
def schema() -> Iterator[str]:
    with namespace() as name:
        yield name


@pytest.fixture
async def backend(schema: str) -> AsyncIterator[PostgresBackend]:
    backend = PostgresBackend(SERVER, namespace=schema, clock=CLOCK, ids=IDS, timeout=20.0)
    await backend.start()
    yield backend
    await backend.aclose()


@pytest.fixture
async def conn() -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(SERVER, autocommit=True) as conn:
        yield conn


async def take(backend: PostgresBackend, session: SessionId, wait: float = 0.0) -> list[Lease]:
    return (await backend.lease(session, [Want("q", 10)], 10, wait)).leases


def end(lease: Lease) -> Settlement:
    return Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED)


@asynccontextmanager
async def within(driver: str, *, commits: bool) -> AsyncIterator[object]:
    """A connection in a transaction of a caller's own, committed or undone in the end."""
    if driver == "psycopg":
        async with await psycopg.AsyncConnection.connect(SERVER) as conn:
            yield conn
            await (conn.commit() if commits else conn.rollback())
    else:
        other = await asyncpg.connect(SERVER)
        transaction = other.transaction()
        await transaction.start()
        yield other
        await (transaction.commit() if commits else transaction.rollback())
        await other.close()


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "undone"])
@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
@pytest.mark.parametrize("how", ["replace", "keep_last"])
async def test_a_place_that_is_given_up_in_a_callers_transaction_is_used_again_once_it_is_committed(
    backend: PostgresBackend,
    conn: psycopg.AsyncConnection,
    schema: str,
    how: OnConflict,
    driver: str,
    commits: bool,
) -> None:
    claim = Claim(until_start=True, on_conflict=how)
    held, behind = job(group=ONE, unique="k", claim=claim), job(group=ONE)
    await backend.push([held, behind])
    session = await backend.open(CARD)

    async with within(driver, commits=commits) as theirs:
        [receipt] = await backend.push_within(theirs, [job(unique="k", claim=claim, delay=60.0)])
        assert await take(backend, session) == []
    leases = [await take(backend, session)]
    await backend.settle(session, [end(leases[0][0])])
    leases.append(await take(backend, session))

    assert receipt.status == ("replaced" if how == "replace" else "updated")
    ids = [[lease.id for lease in each] for each in leases]
    assert ids == ([[behind.id], []] if commits else [[held.id], [behind.id]])
    if commits:
        for table in ("groups", "places", "coming", "waiting"):
            found = await (await conn.execute(f"SELECT * FROM {schema}.{table}")).fetchall()
            assert (table, found) == (table, [])


async def test_several_callers_give_up_places_of_one_group(backend: PostgresBackend) -> None:
    two = Grouped(HOST, Rule(limit=2))
    claim = Claim(until_start=True, on_conflict="replace")
    jobs = [job(group=two, unique=key, claim=claim) for key in "abcd"]
    await backend.push(jobs)
    for key in "ab":
        async with within("psycopg", commits=True) as theirs:
            await backend.push_within(theirs, [job(unique=key, claim=claim, group=two, delay=60.0)])

    leases = await take(backend, await backend.open(CARD))

    assert [lease.id for lease in leases] == [each.id for each in jobs[2:]]


async def test_a_callers_transaction_keeps_nobody_from_handing_over_a_place(
    backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    first, second, third = job(group=ONE), job(group=ONE), job(group=ONE)
    await backend.push([first, second])
    session = await backend.open(CARD)
    (lease,) = await take(backend, session)

    async with conn.transaction():
        await backend.push_within(conn, [third])
        assert await backend.settle(session, [end(lease)]) == [Verdict.OK]
        (lease,) = await take(backend, session)
        assert lease.id == second.id
        assert await backend.settle(session, [end(lease)]) == [Verdict.OK]

    (lease,) = await take(backend, session)
    assert lease.id == third.id


async def test_a_lease_that_waits_hears_of_a_job_of_a_group_in_a_callers_transaction(
    backend: PostgresBackend,
) -> None:
    session = await backend.open(CARD)
    waiting = asyncio.ensure_future(take(backend, session, 15.0))
    conn = await asyncpg.connect(SERVER)
    try:
        async with conn.transaction():
            (receipt,) = await backend.push_within(conn, [job(group=ONE, needs=(Need("tunnel", 1),))])
    finally:
        await conn.close()

    assert [lease.id for lease in await waiting] == [receipt.id]


async def test_nobody_goes_past_a_job_that_somebody_else_is_changing(
    schema: str, backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    """An ordered group keeps its order; the place is handed over as soon as the other has ended."""
    jobs = [job(group=Grouped(HOST, Rule(ordered=True))) for _ in range(3)]
    await backend.push(jobs)
    session = await backend.open(CARD)
    (lease,) = await take(backend, session)

    async with conn.transaction():
        await conn.execute(
            f'SELECT 1 FROM "{schema}".jobs WHERE id = %s FOR UPDATE',  # type: ignore[arg-type]  # the name is ours
            [jobs[1].id.hex()],
        )
        assert await backend.settle(session, [end(lease)]) == [Verdict.OK]
        assert await take(backend, session) == []

    (lease,) = await take(backend, session)
    assert lease.id == jobs[1].id


async def test_a_lease_waits_for_no_resource_that_somebody_else_has_locked(
    schema: str, backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    bound, free = job(needs=(Need("tunnel", 1),)), job()
    await backend.push([bound, free])
    session = await backend.open(CARD)

    async with conn.transaction():
        await conn.execute(f'SELECT 1 FROM "{schema}".resources FOR UPDATE')  # type: ignore[arg-type]  # the name is ours
        assert [lease.id for lease in await take(backend, session)] == [free.id]

    assert [lease.id for lease in await take(backend, session)] == [bound.id]


async def test_no_pointer_is_left_of_jobs_that_have_ended(
    schema: str, backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    await backend.steer(FamilyRef("host"), Rule(limit=2))
    await backend.push(
        [job(group=Grouped(HOST, Rule(limit=2)), needs=(Need("tunnel", 5),)) for _ in range(9)]
    )
    session = await backend.open(CARD)
    while leases := await take(backend, session):
        await backend.settle(session, [end(lease) for lease in leases])

    for table in ("bound", "waiting", "places", "tokens", "groups", "coming", "held", "ready"):
        found = await (
            await conn.execute(f'SELECT count(*) FROM "{schema}".{table}')  # type: ignore[arg-type]  # the name is ours
        ).fetchone()
        assert found == (0,), table
