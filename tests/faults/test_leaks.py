"""Very many jobs of which nothing is to be kept leave nothing behind on the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from noria.backends.contract import Want, WorkerCard
from noria.backends.postgres import PostgresBackend
from noria.backends.redis import RedisBackend
from noria.clock import SystemClock
from noria.ids import IdSource, SessionId
from noria.model.job import NewJob
from noria.model.limits import MAX_BATCH
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.faults.fleet import STORM, until
from tests.support import postgres, redis

pytestmark = [pytest.mark.slow, pytest.mark.storm, pytest.mark.timeout(1_800 if STORM else 600)]

CLOCK = SystemClock()
IDS = IdSource(CLOCK)
CARD = WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",), ttl=3_600.0)
TIMEOUT = 5.0
"""Seconds of a call. Twice as long it is known of an erased job that it was there."""
JOBS = 200_000
JOBS_OF_POSTGRES = 200_000 if STORM else 50_000


async def drain(backend: Any, session: SessionId, jobs: int) -> None:
    """Have so many jobs enqueued, leased and settled, and time do its work beside."""
    for _ in range(jobs // MAX_BATCH):
        new = [NewJob(id=IDS.next(), task="t", queue="q", body=b"[1]", keep=0.0) for _ in range(MAX_BATCH)]
        await backend.push(new)
        left = MAX_BATCH
        while left:
            leases = (await backend.lease(session, [Want("q", left)], left, 0.0)).leases
            ends = [
                Settlement(each.id, each.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")
                for each in leases
            ]
            await backend.settle(session, ends)
            left -= len(leases)
        await backend.sweep(MAX_BATCH)


async def swept(backend: Any, is_clean: Callable[[], bool]) -> None:
    """Sweep until nothing of the jobs is left."""

    async def look() -> bool:
        while (await backend.sweep(MAX_BATCH)).more:
            pass
        return is_clean()

    await until(look, "the server still holds something")


# ---- Redis


@pytest.fixture
def redis_server() -> Iterator[redis.PrivateServer]:
    if why := redis.missing():
        pytest.skip(why)
    # Its own books about slow commands fill up with any work, and are none of ours.
    books = {"slowlog-max-len": "0", "latency-tracking": "no"}
    with redis.private_server(appendonly="no", **books) as server:
        yield server


def memory(server: redis.PrivateServer) -> int:
    """Bytes that the server uses."""
    with server.client() as client:
        text: bytes = client.ask("INFO", "memory")
    return int(next(line for line in text.decode().splitlines() if line.startswith("used_memory:"))[12:])


def keys(server: redis.PrivateServer) -> set[bytes]:
    """All keys but those of figures: there is one for each minute, and they are added up when a minute is over."""
    with server.client() as client:
        found: list[bytes] = client.ask("KEYS", "*")
    return {key for key in found if not key.split(b":")[1].startswith((b"flow", b"fresh", b"minutes"))}


async def test_after_200_000_jobs_a_redis_server_holds_as_much_as_before(
    redis_server: redis.PrivateServer,
) -> None:
    """R6."""
    backend = RedisBackend(redis_server.address, clock=CLOCK, ids=IDS, timeout=TIMEOUT, persistence="none")
    await backend.start()
    session = await backend.open(CARD)
    try:
        await drain(backend, session, 5 * MAX_BATCH)
        await swept(backend, lambda: not heads(redis_server))
        before, bytes_before = keys(redis_server), memory(redis_server)

        await drain(backend, session, JOBS)

        await swept(backend, lambda: not heads(redis_server))
        print(f"{bytes_before} bytes before, {memory(redis_server)} after {JOBS} jobs, {len(before)} keys")
        assert keys(redis_server) == before
        await until(
            lambda: memory(redis_server) <= 1.05 * bytes_before,
            lambda: f"{memory(redis_server)} bytes, and {bytes_before} before",
        )
    finally:
        await backend.aclose()


def heads(server: redis.PrivateServer) -> int:
    """Jobs that the server knows of."""
    with server.client() as client:
        return int(client.ask("HLEN", server.address.prefix + b"head"))


# ---- PostgreSQL


@pytest.fixture
def postgres_server() -> Iterator[postgres.PrivateServer]:
    with postgres.private_server() as server:
        postgres.ask("ALTER SYSTEM SET autovacuum_naptime = '1s'", server.url)
        postgres.ask("SELECT pg_reload_conf()", server.url)
        yield server


TABLES = "SELECT {} FROM pg_stat_user_tables WHERE schemaname = 'noria'"


async def test_after_very_many_jobs_postgresql_has_empty_tables_and_few_dead_rows(
    postgres_server: postgres.PrivateServer,
) -> None:
    """R6. The server's own vacuum keeps up: the tables do not grow with the number of jobs."""
    backend = PostgresBackend(postgres_server.url, clock=CLOCK, ids=IDS, timeout=TIMEOUT)
    await backend.start()
    session = await backend.open(CARD)
    try:
        await drain(backend, session, JOBS_OF_POSTGRES)

        await swept(backend, lambda: rows(postgres_server) == 0)
        print(
            f"{size(postgres_server)} bytes, {dead(postgres_server)} dead rows after {JOBS_OF_POSTGRES} jobs"
        )
        await until(lambda: dead(postgres_server) <= 5_000, lambda: f"{dead(postgres_server)} dead rows")
    finally:
        await backend.aclose()


def size(server: postgres.PrivateServer) -> int:
    """Bytes of all tables, with their indexes."""
    return sum(postgres.ask(TABLES.format("pg_total_relation_size(relid)"), server.url))


def dead(server: postgres.PrivateServer) -> int:
    """Dead rows of all tables, as the server counts them."""
    return sum(postgres.ask(TABLES.format("n_dead_tup"), server.url))


def rows(server: postgres.PrivateServer) -> int:
    """Jobs that the server knows of."""
    return sum(postgres.ask("SELECT count(*) FROM noria.jobs", server.url))
