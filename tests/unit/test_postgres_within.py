"""Jobs that are enqueued inside a caller's transaction come with its commit, and never without it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import psycopg
import pytest
from msgspec.structs import replace
from psycopg.rows import class_row, dict_row, scalar_row

from noria import ConfigError, Conflict, InvalidInput, JobNotFound, Noria, Unavailable
from noria.backends.contract import Query, Want, WorkerCard
from noria.backends.postgres import PostgresBackend
from noria.clock import SystemClock
from noria.ids import IdSource
from noria.model.claim import Claim, OnConflict
from noria.model.job import NewJob
from noria.model.state import State
from tests.support.postgres import SERVER, namespace

CLOCK = SystemClock()
IDS = IdSource(CLOCK)
CARD = WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",))


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


async def test_a_job_is_there_when_the_transaction_has_committed_and_not_before(
    backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    """D18."""
    new = job()
    async with conn.transaction():
        (receipt,) = await backend.push_within(conn, [new])
        before = await backend.get([new.id])
    (after,) = await backend.get([new.id])

    assert receipt.status == "created"
    assert before == [None]
    assert after is not None
    assert after.state is State.QUEUED
    assert (await backend.counts()).queues["q"].states == {State.QUEUED: 1}


async def test_nothing_is_left_of_a_job_whose_transaction_was_undone(
    backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    """D18: no ghost."""
    async with conn.transaction(force_rollback=True):
        await backend.push_within(conn, [job(unique="k")])

    assert (await backend.find(Query())).records == []
    assert (await backend.counts()).queues == {}
    assert (await backend.push([job(unique="k")]))[0].status == "created"


async def test_a_lease_that_waits_hears_of_the_commit(
    backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    session = await backend.open(CARD)
    waiting = asyncio.ensure_future(backend.lease(session, [Want("q", 1)], 1, 15.0))
    async with conn.transaction():
        (receipt,) = await backend.push_within(conn, [job()])

    batch = await waiting

    assert [lease.id for lease in batch.leases] == [receipt.id]


async def test_keys_and_ids_that_are_taken_are_told_as_by_any_push(
    backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    first = job(unique="k")
    await backend.push([first])
    async with conn.transaction():
        again, other, fresh = await backend.push_within(conn, [first, job(unique="k"), job()])

    assert (again.status, again.why) == ("existing", "id")
    assert (other.status, other.why, other.id) == ("existing", "unique", first.id)
    assert fresh.status == "created"


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_jobs_that_hold_a_key_are_changed_with_the_callers_transaction(
    backend: PostgresBackend, conn: psycopg.AsyncConnection, driver: str
) -> None:
    def claiming(key: str, how: OnConflict, delay: float = 0.0) -> NewJob:
        claim = Claim(until_start=True, on_conflict=how, argument="rows" if how == "merge" else "")
        return replace(job(unique=key), claim=claim, body=b'{"rows":[1]}', delay=delay)

    held = [claiming(key, "merge") for key in "abc"]
    await backend.push(held)
    more = [claiming("a", "replace"), claiming("b", "keep_last", 60.0), claiming("c", "merge")]
    if driver == "psycopg":
        async with conn.transaction():
            receipts = await backend.push_within(conn, more)
            assert (await backend.counts()).queues["q"].states == {State.QUEUED: 3}
    else:
        other = await asyncpg.connect(SERVER)
        async with other.transaction():
            receipts = await backend.push_within(other, more)
        await other.close()

    assert [receipt.status for receipt in receipts] == ["replaced", "updated", "merged"]
    states = (await backend.counts()).queues["q"].states
    assert {state: n for state, n in states.items() if n} == {
        State.QUEUED: 2, State.SCHEDULED: 1, State.CANCELLED: 1,
    }  # fmt: skip
    leases = (await backend.lease(await backend.open(CARD), [Want("q", 9)], 9, 0.0)).leases
    assert {lease.id: lease.body for lease in leases} == {
        more[0].id: b'{"rows":[1]}',
        held[2].id: b'{"rows":[1,1]}',
    }


async def test_a_connection_without_a_loop_joins_too(backend: PostgresBackend) -> None:
    """Django's, say: without autocommit the driver begins the transaction itself."""
    new = job()
    with psycopg.connect(SERVER) as conn:
        await backend.push_within(conn, [new])
        assert (await backend.get([new.id])) == [None]

    (found,) = await backend.get([new.id])
    assert found is not None


async def test_a_connection_of_asyncpg_joins_too(backend: PostgresBackend) -> None:
    conn = await asyncpg.connect(SERVER)
    try:
        first = job(unique="k")
        async with conn.transaction():
            (receipt,) = await backend.push_within(conn, [first])
        async with conn.transaction():
            (other,) = await backend.push_within(conn, [job(unique="k")])
        with pytest.raises(InvalidInput, match="in no transaction"):
            await backend.push_within(conn, [job()])
    finally:
        await conn.close()

    assert receipt.status == "created"
    assert (other.status, other.id) == ("existing", first.id)


async def test_a_connection_from_a_pool_of_asyncpg_joins_too(backend: PostgresBackend) -> None:
    async with asyncpg.create_pool(SERVER, min_size=1, max_size=1) as pool, pool.acquire() as conn:
        async with conn.transaction():
            (receipt,) = await backend.push_within(conn, [job()])
        with pytest.raises(InvalidInput, match="in no transaction"):
            await backend.push_within(conn, [job()])

    assert receipt.status == "created"


@pytest.mark.parametrize("kind", ["json", "jsonb"])
async def test_a_connection_whose_driver_makes_json_joins_too(backend: PostgresBackend, kind: str) -> None:
    first = job(unique="k")
    async with asyncpg.create_pool(SERVER, min_size=1, max_size=1) as pool, pool.acquire() as conn:
        await conn.set_type_codec(kind, encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
        async with conn.transaction():
            await backend.push_within(conn, [first])
            again, other = await backend.push_within(conn, [first, job(unique="k")])

    assert (again.why, other.why, other.id) == ("id", "unique", first.id)


class Found:
    """What a caller may have rows made into."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields


@pytest.mark.parametrize("factory", [dict_row, class_row(Found), scalar_row], ids=["dict", "class", "scalar"])
async def test_a_connection_with_rows_of_its_own_joins_too(backend: PostgresBackend, factory: Any) -> None:
    first = job(unique="k")
    with psycopg.connect(SERVER, row_factory=factory) as conn:
        await backend.push_within(conn, [first])
    async with await psycopg.AsyncConnection.connect(SERVER, row_factory=factory) as conn_async:
        (other,) = await backend.push_within(conn_async, [job(unique="k")])

    assert (other.status, other.id) == ("existing", first.id)


async def test_a_pipeline_joins_too(backend: PostgresBackend, conn: psycopg.AsyncConnection) -> None:
    first = job(unique="k")
    with psycopg.connect(SERVER, autocommit=True) as other, other.pipeline():
        with other.transaction():
            other.execute("SELECT 1")
            await backend.push_within(other, [first])
        other.execute("SELECT 1")
        with pytest.raises(InvalidInput, match="in no transaction"):
            await backend.push_within(other, [job()])
    async with conn.pipeline(), conn.transaction():
        await conn.execute("SELECT 1")
        (receipt,) = await backend.push_within(conn, [job(unique="k")])

    assert (receipt.status, receipt.id) == ("existing", first.id)
    assert len((await backend.find(Query())).records) == 1


async def test_a_pipeline_in_which_a_statement_fails_says_so(
    backend: PostgresBackend, conn: psycopg.AsyncConnection, schema: str
) -> None:
    async with conn.transaction(force_rollback=True):
        await conn.execute(f'DROP TABLE "{schema}".due'.encode())
        async with conn.pipeline():
            with pytest.raises(Unavailable, match="a statement in the caller's transaction failed"):
                await backend.push_within(conn, [job()])


async def test_a_connection_outside_of_any_transaction_is_refused(
    backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    with pytest.raises(InvalidInput, match="in no transaction"):
        await backend.push_within(conn, [job()])


async def test_what_is_no_connection_is_refused(backend: PostgresBackend) -> None:
    with pytest.raises(InvalidInput, match="a str is no connection"):
        await backend.push_within("postgresql://h/db", [job()])


async def test_the_settings_of_the_callers_transaction_stay_as_they_are(
    backend: PostgresBackend, conn: psycopg.AsyncConnection
) -> None:
    """Its commit is as durable as it would have been."""
    async with conn.transaction():
        before = await (await conn.execute("SHOW synchronous_commit")).fetchone()
        await backend.push_within(conn, [job()])
        after = await (await conn.execute("SHOW synchronous_commit")).fetchone()

    assert before == after


async def test_an_application_enqueues_within_a_transaction(
    schema: str, conn: psycopg.AsyncConnection
) -> None:
    app = Noria(f"{SERVER}?namespace={schema}")

    @app.task
    async def ship(order: int) -> None: ...

    async with app:
        async with conn.transaction():
            (job,) = await app.enqueue_many([ship.job(7)], conn=conn)

        assert (await job.status()).state == "queued"


def test_code_without_a_loop_enqueues_within_a_transaction(schema: str) -> None:
    app = Noria(f"{SERVER}?namespace={schema}")

    @app.task
    async def ship(order: int) -> None: ...

    try:
        with psycopg.connect(SERVER) as conn:
            (kept,) = app.sync.enqueue_many([ship.job(7)], conn=conn)
            conn.commit()
            (undone,) = app.sync.enqueue_many([ship.job(8)], conn=conn)
            conn.rollback()

        assert app.sync.status(kept).state == "queued"
        with pytest.raises(JobNotFound):
            app.sync.status(undone)
    finally:
        app.sync.close()


async def test_a_connection_of_a_loop_is_refused_where_nothing_is_awaited(
    schema: str, conn: psycopg.AsyncConnection
) -> None:
    app = Noria(f"{SERVER}?namespace={schema}")

    @app.task
    async def ship(order: int) -> None: ...

    with pytest.raises(InvalidInput, match="a AsyncConnection is used with await"):
        await asyncio.to_thread(app.sync.enqueue_many, [ship.job(7)], conn=conn)


async def test_the_id_of_a_job_of_another_task_is_a_conflict_within_a_transaction_too(
    schema: str, conn: psycopg.AsyncConnection
) -> None:
    app = Noria(f"{SERVER}?namespace={schema}")

    @app.task
    async def ship(order: int) -> None: ...

    @app.task
    async def bill(order: int) -> None: ...

    async with app:
        other = await bill.enqueue(7)
        draft = ship.options(id=other.id).job(7)
        with pytest.raises(Conflict, match=r"'.*bill', and cannot be one of task '.*ship'"):
            async with conn.transaction():
                await app.enqueue_many([ship.job(8), draft], conn=conn)

        async with conn.transaction():
            (same,) = await app.enqueue_many([bill.options(id=other.id).job(7)], conn=conn)
        assert same.id == other.id


async def test_another_backend_says_that_it_cannot(tmp_path: object, conn: psycopg.AsyncConnection) -> None:
    app = Noria(f"sqlite:///{tmp_path}/noria.db")

    @app.task
    async def ship(order: int) -> None: ...

    async with app:
        with pytest.raises(ConfigError, match="only PostgreSQL can"):
            await app.enqueue_many([ship.job(7)], conn=conn)
