"""Servers that cannot be used are refused at the start, with what to do, and without the password."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import psycopg
import pytest

from noria.app.connect import connect
from noria.backends.contract import Backend, Vitals, WorkerCard
from noria.backends.redis import Address
from noria.backends.redis.checks import KEYS, Check
from noria.backends.redis.settings import Settings
from noria.clock import SystemClock
from noria.errors import ConfigError, Unavailable
from noria.ids import IdSource, SessionId
from noria.model.job import NewJob
from tests.support import postgres, redis

pytestmark = [pytest.mark.kill, pytest.mark.slow]

CLOCK = SystemClock()
needs_redis = pytest.mark.skipif(bool(redis.missing()), reason="there is no Redis on this machine")
needs_postgres = pytest.mark.skipif(bool(postgres.missing()), reason="there is no PostgreSQL on this machine")


def backend_on(url: str) -> Backend:
    return connect(url, CLOCK, IdSource(CLOCK))


async def refusal(url: str) -> str:
    """What is said; a secret in the URL is not in it, nor in any error behind it."""
    backend = backend_on(url)
    try:
        with pytest.raises(ConfigError) as caught:
            await backend.start()
    finally:
        await backend.aclose()
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cret" not in str(error)
        error = error.__cause__
    return str(caught.value)


@pytest.mark.parametrize("version", ["6.2.14", "5.0.7", "nonsense"])
def test_a_redis_that_is_too_old_is_refused_with_the_version_that_is_needed(version: str) -> None:
    steps = Check().steps(Settings(address=Address(host="old")))
    next(steps)

    with pytest.raises(
        ConfigError, match=rf"old:6379 is version {version}, and Noria needs 7\.0 or newer: upgrade it"
    ):
        steps.send([b"redis_version:%s\r\nrole:master\r\n" % version.encode()])


@needs_redis
async def test_a_redis_replica_is_refused_and_its_primary_is_used() -> None:
    with redis.private_server() as primary, redis.private_server() as replica:
        with replica.client() as client:
            client.ask("REPLICAOF", "127.0.0.1", primary.port)
            while b"master_link_status:up" not in client.ask("INFO", "replication"):
                pass

        said = await refusal(f"redis://127.0.0.1:{replica.port}")
        used = backend_on(f"redis://127.0.0.1:{primary.port}")
        await used.start()
        await used.aclose()

    assert re.search("replica, which takes no writes: name the primary", said)


@needs_redis
async def test_a_wrong_password_of_redis_is_refused() -> None:
    with redis.private_server(requirepass="right") as server:
        wrong = await refusal(f"redis://:s3cret@127.0.0.1:{server.port}")
        named = await refusal(f"redis://ann:s3cret@127.0.0.1:{server.port}")
        without = await refusal(f"redis://127.0.0.1:{server.port}")

    assert "refuses the user or the password in NORIA_URL" in wrong
    assert "refuses the user or the password in NORIA_URL" in named
    assert "asks for a password: put it into NORIA_URL" in without


@needs_redis
async def test_a_database_that_redis_does_not_have_is_refused() -> None:
    with redis.private_server() as server:
        assert "no database of this number" in await refusal(f"redis://127.0.0.1:{server.port}/99")


@needs_redis
@pytest.mark.parametrize(
    "words",
    [("HSET", "epoch", "a", "b"), ("RPUSH", "head", "a"), ("SET", "ids", "a"), ("SADD", "counts", "a")],
)
async def test_a_namespace_with_keys_of_another_program_is_refused(words: tuple[str, ...]) -> None:
    verb, key, *values = words
    with redis.private_server() as server:
        with server.client() as client:
            client.ask(verb, f"{{shop}}:{key}", *values)
        said = await refusal(f"redis://127.0.0.1:{server.port}?namespace=shop")

    assert "namespace 'shop' has keys of another program" in said
    assert "choose another one, by ?namespace= in NORIA_URL" in said


@needs_redis
async def test_the_keys_that_are_asked_for_are_those_that_there_are() -> None:
    """Or every store would be refused that was used."""
    with redis.private_server() as server:
        backend = backend_on(f"redis://127.0.0.1:{server.port}?namespace=shop")
        await backend.start()
        ids = IdSource(CLOCK)
        await backend.push([NewJob(id=ids.next(), task="send", queue="mail", body=b"[]", unique="k")])
        await backend.open(WorkerCard(worker="w", host="h", pid=1, tasks=("send",), queues=("mail",)))
        await backend.aclose()
        with server.client() as client:
            kinds = {key: client.ask("TYPE", f"{{shop}}:{key}").decode() for key in KEYS}

    used = {key: kind for key, kind in kinds.items() if kind != "none"}
    assert {"head", "body", "ids", "keys", "counts", "sessions", "fresh"} <= set(used)
    assert used.items() <= KEYS.items()


@needs_redis
async def test_a_redis_that_takes_no_more_connections_is_said_to_be_full() -> None:
    """B3: it is there, so that nobody looks for it; it may be said before a question, or behind it."""
    with redis.private_server(maxclients="2") as server:
        url = f"redis://127.0.0.1:{server.port}"
        first = backend_on(url)
        keeper = first.control()
        await first.start()
        with server.client():
            for _ in range(5):
                with pytest.raises(Unavailable, match="as many connections as it may: raise its maxclients"):
                    await backend_on(url).start()
                with pytest.raises(Unavailable, match="as many connections as it may: raise its maxclients"):
                    keeper.renew(SessionId(1), Vitals())
        keeper.close()
        await first.aclose()


@pytest.fixture(scope="module")
def locked() -> Iterator[postgres.PrivateServer]:
    """A server that asks everybody but its owner for a password."""
    with postgres.private_server() as server:
        [rules] = postgres.ask("SHOW hba_file", server.url)
        with open(rules, "w") as file:
            file.write("host all postgres 127.0.0.1/32 trust\nhost all barred 127.0.0.1/32 reject\n")
            file.write("host all all 127.0.0.1/32 scram-sha-256\n")
        postgres.ask("CREATE ROLE app LOGIN PASSWORD 'right'", server.url)
        postgres.ask("SELECT pg_reload_conf()", server.url)
        yield server


@needs_postgres
async def test_a_wrong_password_of_postgresql_is_refused(locked: postgres.PrivateServer) -> None:
    there = f"127.0.0.1:{locked.port}/postgres"

    wrong = await refusal(f"postgresql://app:s3cret@{there}")
    without = await refusal(f"postgresql://app@{there}")
    barred = await refusal(f"postgresql://barred@{there}")

    assert "refuses the user or the password in NORIA_URL" in wrong
    assert "asks for a password: put it into NORIA_URL" in without
    assert "look at its pg_hba.conf" in barred


@needs_postgres
async def test_a_database_or_user_that_postgresql_does_not_have_is_refused(
    locked: postgres.PrivateServer,
) -> None:
    base = locked.url.removesuffix("/postgres")

    assert "createdb NAME" in await refusal(f"{base}/nowhere")
    assert "nowhere" in await refusal(f"{base}/nowhere")


@needs_postgres
async def test_a_user_who_may_not_make_schemas_uses_one_that_is_his(locked: postgres.PrivateServer) -> None:
    postgres.ask("CREATE SCHEMA given AUTHORIZATION app", locked.url)

    backend = backend_on(f"postgresql://app:right@127.0.0.1:{locked.port}/postgres?namespace=given")
    await backend.start()
    await backend.aclose()

    assert postgres.ask("SELECT count(*) > 0 FROM pg_tables WHERE schemaname = 'given'", locked.url) == [True]


@needs_postgres
async def test_a_password_that_is_changed_while_we_run_is_an_outage_and_no_end(
    locked: postgres.PrivateServer,
) -> None:
    postgres.ask("CREATE SCHEMA changing AUTHORIZATION app", locked.url)
    backend = backend_on(f"postgresql://app:right@127.0.0.1:{locked.port}/postgres?namespace=changing")
    await backend.start()
    try:
        postgres.ask("ALTER ROLE app PASSWORD 'another'", locked.url)
        _end_connections(locked.url)
        with pytest.raises(Unavailable, match="refuses the user or the password"):
            await backend.counts()

        postgres.ask("ALTER ROLE app PASSWORD 'right'", locked.url)
        await _again(backend)
    finally:
        await backend.aclose()


def _end_connections(url: str) -> None:
    postgres.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'", url)


async def _again(backend: Backend) -> None:
    """It serves again; a connection that failed is tried again within a second."""
    until = CLOCK.monotonic() + 20
    while True:
        try:
            assert (await backend.counts()).queues == {}
            return
        except Unavailable:
            assert CLOCK.monotonic() < until


@needs_postgres
async def test_a_postgresql_server_that_is_read_only_is_refused() -> None:
    with postgres.private_server() as server:
        postgres.ask("ALTER SYSTEM SET default_transaction_read_only = on", server.url)
        postgres.ask("SELECT pg_reload_conf()", server.url)
        with psycopg.connect(server.url) as connection:
            while connection.execute("SHOW default_transaction_read_only").fetchone() != ("on",):
                pass

        said = await refusal(server.url)
        elsewhere = await refusal(f"{server.url}?target_session_attrs=read-write")

    assert "is read-only, as a standby is: name the primary in NORIA_URL" in said
    assert "name the primary in NORIA_URL" in elsewhere


@needs_postgres
async def test_a_postgresql_standby_is_refused() -> None:
    with postgres.private_server() as server:
        [data] = postgres.ask("SHOW data_directory", server.url)
        server.stop(signal.SIGINT)
        with open(f"{data}/standby.signal", "w"):
            pass
        server.start()
        assert postgres.ask("SELECT pg_is_in_recovery()", server.url) == [True]

        said = await refusal(server.url)

    assert "is read-only, as a standby is: name the primary in NORIA_URL" in said
