"""PostgreSQL goes away, sends us away, cuts answers off or gives none: what was said stays true, and work goes on."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import psycopg
import pytest

from noria.backends.contract import Change, Parts, Verdict, Want, WorkerCard
from noria.backends.postgres import PostgresBackend
from noria.backends.postgres.backend import settings_of
from noria.backends.postgres.connection import open_wire
from noria.backends.postgres.faults import Held
from noria.backends.postgres.link import Link
from noria.backends.postgres.statements import statement
from noria.backends.postgres.wire import Step
from noria.backends.sql.push import Push
from noria.clock import SystemClock
from noria.errors import BackendError, ConfigError, Unavailable, Unknown
from noria.ids import IdSource
from noria.model.job import Lease, NewJob
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from noria.testing.proxy import Proxy
from tests.support.postgres import SERVER, PrivateServer, ask, namespace, private_server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres-faults")]

CLOCK = SystemClock()
IDS = IdSource(CLOCK)
CARD = WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",), ttl=60.0)
WANT = [Want("q", 1)]


def job() -> NewJob:
    return NewJob(id=IDS.next(), task="t", queue="q", body=b"[]")


def success(lease: Lease) -> Settlement:
    return Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1", codec="json")


@asynccontextmanager
async def opened(server: str, schema: str = "noria", **settings: Any) -> AsyncIterator[PostgresBackend]:
    backend = PostgresBackend(server, namespace=schema, clock=CLOCK, ids=IDS, **{"timeout": 10.0, **settings})
    await backend.start()
    try:
        yield backend
    finally:
        await backend.aclose()


async def stored(backend: PostgresBackend, new: NewJob) -> str:
    """Push until somebody says that it is stored; how the receipt said so."""
    while True:
        try:
            (receipt,) = await backend.push([new])
            return receipt.status
        except BackendError:
            await asyncio.sleep(0.01)


@pytest.fixture
def server() -> Iterator[PrivateServer]:
    with private_server() as server:
        yield server


@pytest.fixture
def schema() -> Iterator[str]:
    with namespace() as name:
        yield name


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy.before(SERVER) as proxy:
        yield proxy


# ---- the server itself


async def test_a_restart_of_an_idle_server_is_not_even_noticed_by_the_next_call(
    server: PrivateServer,
) -> None:
    """B1."""
    async with opened(server.url) as backend:
        first = job()
        await backend.push([first])
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)

        (receipt,) = await backend.push([job()])

        assert receipt.status == "created"
        assert (await backend.get([first.id]))[0] is not None


async def test_a_lease_that_waits_through_a_restart_hears_of_work_soon_after(server: PrivateServer) -> None:
    """B1, B26: hints are heard again, since a poll is an hour away here."""
    async with opened(server.url, poll=3_600.0) as backend, opened(server.url) as producer:
        session = await backend.open(CARD)
        assert (await backend.lease(session, WANT, 1, 0.0)).leases == []
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        up = time.monotonic()

        waiting = asyncio.ensure_future(backend.lease(session, WANT, 1, 60.0))
        await stored(producer, job())
        batch = None
        while batch is None:
            try:
                batch = await asyncio.wait_for(waiting, 20)
            except BackendError:
                waiting = asyncio.ensure_future(backend.lease(session, WANT, 1, 60.0))

        assert len(batch.leases) == 1
        assert time.monotonic() - up < 5


async def test_who_was_let_in_once_waits_to_be_let_in_again(server: PrivateServer) -> None:
    """At the start it would be a mistake in the settings; later somebody may be changing a password."""
    ask("CREATE ROLE shop LOGIN SUPERUSER", server.url)
    url = server.url.replace("postgres@", "shop@")
    async with opened(url) as backend:
        server.ask_passwords()
        ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shop'", server.url)

        with pytest.raises(Unavailable, match="it asks for a password"):
            await backend.push([job()])
        with pytest.raises(Unavailable, match="it asks for a password"):
            await backend.counts()
    with pytest.raises(ConfigError, match="it asks for a password"):
        async with opened(url):
            pass


async def test_what_was_said_to_be_stored_survives_a_crash_of_the_server(server: PrivateServer) -> None:
    """B2."""
    async with opened(server.url) as backend:
        said: list[NewJob] = []

        async def produce() -> None:
            while len(said) < 400:
                new = job()
                await stored(backend, new)
                said.append(new)

        producers = [asyncio.ensure_future(produce()) for _ in range(8)]
        while len(said) < 100:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(server.stop, signal.SIGQUIT)
        await asyncio.to_thread(server.start)
        await asyncio.gather(*producers)

        found = await backend.get([new.id for new in said])

        assert [each for each in found if each is None] == []


async def test_a_lease_that_a_crash_of_the_server_has_undone_is_refused_when_its_worker_settles(
    server: PrivateServer,
) -> None:
    """B2: it did not wait for the disk, so that its job may be as if it had never been leased."""
    # What waits for no disk comes to it late: then a crash undoes it, though not each time.
    ask("ALTER SYSTEM SET wal_writer_delay = '10s'", server.url)
    ask("SELECT pg_reload_conf()", server.url)
    for _ in range(20):
        async with opened(server.url) as backend:
            new = job()
            await backend.push([new])
            forgotten = await backend.open(CARD)
            (lease,) = (await backend.lease(forgotten, WANT, 1, 0.0)).leases
            await asyncio.to_thread(server.stop, signal.SIGQUIT)
            await asyncio.to_thread(server.start)

            session = await backend.open(CARD)
            again = (await backend.lease(session, WANT, 1, 0.0)).leases
            late = await backend.settle(forgotten, [success(lease)])
            if not again:
                assert late == [Verdict.OK]
                continue
            assert (again[0].id, again[0].starts) == (lease.id, lease.starts)
            assert late == [Verdict.STALE]
            assert await backend.settle(session, [success(again[0])]) == [Verdict.OK]
            return


async def test_a_worker_whose_lease_a_crash_has_undone_may_get_the_same_start_again_and_settle_it_once(
    server: PrivateServer,
) -> None:
    """B2: it is one start, whichever of the two leases it is settled for."""
    ask("ALTER SYSTEM SET wal_writer_delay = '10s'", server.url)
    ask("SELECT pg_reload_conf()", server.url)
    for _ in range(20):
        async with opened(server.url) as backend:
            await backend.push([job()])
            session = await backend.open(CARD)
            (lease,) = (await backend.lease(session, WANT, 1, 0.0)).leases
            await asyncio.to_thread(server.stop, signal.SIGQUIT)
            await asyncio.to_thread(server.start)

            again = (await backend.lease(session, WANT, 1, 0.0)).leases
            told = await backend.settle(session, [success(lease), success(lease)])
            assert told == [Verdict.OK, Verdict.ALREADY]
            if again:
                assert (again[0].id, again[0].starts) == (lease.id, lease.starts)
                assert await backend.settle(session, [success(again[0])]) == [Verdict.ALREADY]
                return


async def test_while_a_server_is_away_calls_end_at_once_and_it_is_not_besieged(
    schema: str, proxy: Proxy
) -> None:
    """B3, B10."""
    async with opened(proxy.through(SERVER), schema) as backend:
        await backend.push([job()])
        proxy.refuse()
        before, began, refused = proxy.accepted, time.monotonic(), 0

        while time.monotonic() < began + 3:
            asked = time.monotonic()
            with pytest.raises((Unavailable, Unknown)):
                await backend.push([job()])
            assert time.monotonic() - asked < 1
            refused += 1
            await asyncio.sleep(0.01)
        # One connection writes and one listens; each begins quickly and comes to one attempt a second.
        assert refused > 50
        assert proxy.accepted - before < 2 * (3 / 0.5) + 12

        proxy.heal()
        back = time.monotonic()
        await stored(backend, job())
        assert time.monotonic() - back < 5


# ---- connections


async def test_after_the_listening_connection_was_cut_its_descriptor_serves_whoever_gets_it(
    schema: str, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    """B3: libpq closes a broken socket by itself, and the loop must not watch its number any more."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(10):
            writer.write(data)
        writer.close()

    async with opened(proxy.through(SERVER), schema):
        proxy.refuse()
        await _until(lambda: "no hints are heard" in caplog.text)
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        # The lowest free numbers are given first.
        clients = [await asyncio.open_connection(*server.sockets[0].getsockname()) for _ in range(30)]

        for reader, writer in clients:
            writer.write(b"here")
            assert await asyncio.wait_for(reader.readexactly(4), 10) == b"here"
            writer.close()
        server.close()


async def _until(seen: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not seen():
        assert time.monotonic() < until
        await asyncio.sleep(0.01)


async def test_calls_go_on_while_the_server_ends_our_connections_again_and_again(schema: str) -> None:
    """B22."""
    rng = random.Random(1)
    async with opened(SERVER, schema) as backend:
        jobs = [job() for _ in range(150)]

        async def strike() -> None:
            # Ever more rarely: on a slow machine nothing gets through between strikes that are too close.
            for strikes in count():
                await asyncio.sleep(rng.uniform(0.005, 0.05) * (1 + strikes / 100))
                await asyncio.to_thread(_end_connections, schema)

        striking = asyncio.ensure_future(strike())
        try:
            await asyncio.gather(*(stored(backend, new) for new in jobs))
            session = await _opened_session(backend)
            settled: set[bytes] = set()
            while len(settled) < len(jobs):
                settled |= await _work(backend, session)
        finally:
            striking.cancel()

        await _until_quiet(backend)
        counts = (await backend.counts()).queues["q"].states
        assert counts == {State.SUCCEEDED: len(jobs)}
        records = await backend.get([new.id for new in jobs], Parts.RESULT)
        assert {each.result for each in records if each is not None} == {b"1"}


# ---- others at the same rows


async def test_changes_in_opposite_orders_do_not_hold_each_other_up(schema: str) -> None:
    """B23."""
    async with opened(SERVER, schema) as one, opened(SERVER, schema) as other:
        jobs = [job() for _ in range(40)]
        await one.push(jobs)
        ids = [new.id for new in jobs]

        for turn in range(10):
            change = Change(kind="edit", priority=turn % 5)
            answers = await asyncio.gather(one.alter(ids, change), other.alter(ids[::-1], change))
            assert {each.status for answer in answers for each in answer} == {"done"}


async def test_a_row_that_somebody_else_has_locked_holds_up_whoever_needs_it_and_nobody_else(
    schema: str,
) -> None:
    async with opened(SERVER, schema, timeout=2.0) as backend:
        held, free = job(), job()
        await backend.push([held])
        with psycopg.connect(SERVER) as foreign:
            foreign.execute(f'SELECT 1 FROM "{schema}".jobs FOR UPDATE'.encode())

            with pytest.raises(Unavailable, match="somebody else holds a job, or its unique key"):
                await backend.alter([held.id], Change(kind="cancel"))
            await backend.push([free])
            session = await backend.open(CARD)
            leased = (await backend.lease(session, [Want("q", 5)], 5, 0.0)).leases

        assert [lease.id for lease in leased] == [free.id]


def _keyed(key: str, **fields: Any) -> NewJob:
    return NewJob(id=IDS.next(), task="t", queue="q", body=b"[]", unique=key, **fields)


@asynccontextmanager
async def holding(backend: PostgresBackend, *jobs: NewJob) -> AsyncIterator[None]:
    """A transaction that enqueues jobs, and then is kept open."""
    async with await psycopg.AsyncConnection.connect(SERVER, autocommit=True) as conn, conn.transaction():
        await backend.push_within(conn, jobs)
        yield


async def test_a_key_that_an_open_transaction_has_holds_up_whoever_needs_it_and_nobody_else(
    schema: str,
) -> None:
    """Every other call goes on, those that come together with it included."""
    async with opened(SERVER, schema) as backend:
        first = _keyed("K")
        async with holding(backend, first):
            waiting = [asyncio.ensure_future(backend.push([_keyed("K")])) for _ in range(3)]
            for _ in range(20):
                (receipt,) = await backend.push([job()])
                assert receipt.status == "created"
            session = await backend.open(CARD)
            batch = await backend.lease(session, WANT, 1, 0.0)
            assert len(batch.leases) == 1
            assert not any(each.done() for each in waiting)

        for (told,) in await asyncio.gather(*waiting):
            assert (told.status, told.why, told.id) == ("existing", "unique", first.id)


async def test_of_many_calls_for_a_held_key_that_come_together_one_is_tried(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try has everybody wait."""
    tried = []
    write = Link.write

    def counted(*args: Any, **kwargs: Any) -> Any:
        tried.append(args)
        return write(*args, **kwargs)

    monkeypatch.setattr(Link, "write", counted)
    async with opened(SERVER, schema) as backend, holding(backend, _keyed("K")):
        engine = backend._engine.twin()
        tried.clear()
        *held, (free,) = engine.apply([Push([_keyed("K")]) for _ in range(20)] + [Push([job()])])
        engine.close()

    assert {type(each) for each in held} == {Held}
    assert free.status == "created"
    assert len(tried) == 3, "all together, one for the key, and the one that is free"


async def test_who_needs_a_key_that_stays_held_is_told_who_has_it(schema: str) -> None:
    async with opened(SERVER, schema, timeout=1.0) as backend:
        async with holding(backend, _keyed("K")):
            with pytest.raises(
                Unavailable, match=r"somebody else holds the unique key 'K' of task 't'.*pg_stat_activity"
            ):
                await backend.push([_keyed("K")])
        (receipt,) = await backend.push([_keyed("other")])

    assert receipt.status == "created"


async def test_an_id_that_an_open_transaction_has_is_waited_for_too(schema: str) -> None:
    async with opened(SERVER, schema) as backend:
        new = job()
        async with holding(backend, new):
            waiting = asyncio.ensure_future(backend.push([new]))
            await backend.push([job()])
            assert not waiting.done()
        (told,) = await waiting

    assert (told.status, told.why) == ("existing", "id")


async def test_a_retry_of_a_job_whose_key_an_open_transaction_has_holds_up_nobody_else(schema: str) -> None:
    async with opened(SERVER, schema) as backend:
        failed = _keyed("K")
        await backend.push([failed])
        await backend.alter([failed.id], Change(kind="cancel"))
        async with holding(backend, _keyed("K")):
            waiting = asyncio.ensure_future(backend.alter([failed.id], Change(kind="retry")))
            await backend.push([job()])
            assert not waiting.done()
        (told,) = await waiting

    assert told.status == "conflict"


async def test_a_transaction_whose_process_has_stopped_is_undone_by_the_server(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W6: its locks would hold up everyone."""
    async with opened(SERVER, schema) as backend:
        held = job()
        await backend.push([held])
        monkeypatch.setattr("noria.backends.postgres.connection.IDLE_IN_TRANSACTION", 0.3)
        stopped = open_wire(settings_of(SERVER, schema), CLOCK)
        begin, lock = (Step(name, text) for name, text in (("b", b"BEGIN"), ("l", _LOCK % schema.encode())))
        stopped.exchange([begin, lock])

        (answer,) = await backend.alter([held.id], Change(kind="cancel"))

        assert answer.status == "done"
        stopped.close()


async def test_a_recall_waits_for_a_lease_that_is_still_under_way_when_its_connection_has_broken(
    schema: str,
) -> None:
    """W5: what that commits afterwards would stay with a session whose worker never hears of it."""
    async with opened(SERVER, schema) as backend:
        new = job()
        await backend.push([new])
        session = await backend.open(CARD)
        broken = open_wire(settings_of(SERVER, schema), CLOCK)
        values = [f'["{new.id.hex()}"]'.encode(), b"%d" % session, b"%d" % (CLOCK.wall() * 1000), b"1000"]
        broken.exchange([Step("b", b"BEGIN"), Step("l", statement("lease_take", schema), values)])
        recalling = asyncio.ensure_future(backend.recall(session, []))
        await asyncio.wait([recalling], timeout=0.3)
        broken.exchange([Step("c", b"COMMIT")])
        broken.close()

        assert await recalling == 1

        assert len((await backend.lease(session, WANT, 1, 0.0)).leases) == 1


_LOCK = b'SELECT 1 FROM "%s".jobs FOR UPDATE'


def _end_connections(schema: str) -> None:
    ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE application_name = 'noria' AND query LIKE '%{schema}%' AND pid <> pg_backend_pid()"
    )


async def _opened_session(backend: PostgresBackend) -> Any:
    while True:
        try:
            return await backend.open(CARD)
        except BackendError:
            await asyncio.sleep(0.01)


async def _work(backend: PostgresBackend, session: Any) -> set[bytes]:
    """Lease and settle some, whatever goes wrong; the ids of those that are known to be settled."""
    try:
        leases = (await backend.lease(session, [Want("q", 10)], 10, 0.0)).leases
        if not leases:
            await backend.recall(session, [])
    except BackendError:
        return set()
    ends = [
        Settlement(each.id, each.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1") for each in leases
    ]
    while True:
        try:
            verdicts = await backend.settle(session, ends)
        except BackendError:
            await asyncio.sleep(0.01)
            continue
        return {
            end.id for end, verdict in zip(ends, verdicts, strict=True) if verdict.value in ("ok", "already")
        }


async def _until_quiet(backend: PostgresBackend) -> None:
    while True:
        try:
            await backend.sweep(100)
            await backend.counts()
            return
        except BackendError:
            await asyncio.sleep(0.05)
