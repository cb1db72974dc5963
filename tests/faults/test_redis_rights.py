"""Users of Redis with access rules: what they lack is said at the start, and what they lose later fails no call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from noria.backends.contract import Parts, Want, WorkerCard
from noria.backends.redis import Address, RedisBackend
from noria.clock import SystemClock
from noria.errors import ConfigError
from noria.ids import IdSource
from noria.model.job import NewJob
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.redis import PrivateServer, missing, private_server

pytestmark = [
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.xdist_group("redis"),
    pytest.mark.skipif(bool(missing()), reason="there is no Redis on this machine"),
]

CLOCK = SystemClock()
IDS = IdSource(CLOCK)
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "redis.md"
REMEDY = (
    "allow user 'shop' the keys ~{shop}:*, the channels &{shop}:*, and the commands +@all -@dangerous +info"
)


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server() as server:
        yield server


def documented() -> list[str]:
    """The rights that the documents advise."""
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith("user shop on "))
    return line.removeprefix("user shop on ").replace("PASSWORD", "pw").split()


def allow(server: PrivateServer, *rules: str) -> None:
    with server.client() as client:
        client.ask("ACL", "SETUSER", "shop", *rules)


def backend_on(server: PrivateServer) -> RedisBackend:
    address = Address(port=server.port, username="shop", password="pw", namespace="shop")
    return RedisBackend(address, clock=CLOCK, ids=IDS, timeout=5.0, poll=0.2)


@pytest.fixture
async def backend(server: PrivateServer) -> AsyncIterator[RedisBackend]:
    """As a user with the documented rights."""
    allow(server, "reset", "on", *documented())
    backend = backend_on(server)
    await backend.start()
    yield backend
    await backend.aclose()


def job() -> NewJob:
    return NewJob(id=IDS.next(), task="send", queue="mail", body=b"[]", reply="reply:x")


@pytest.mark.parametrize(
    ("rules", "lacks"),
    [
        ("~* +@all", "PUBLISH, SUBSCRIBE in namespace 'shop'"),
        ("~{shop}:* &{other}:* +@all", "PUBLISH, SUBSCRIBE in namespace 'shop'"),
        ("~{shop}:* &{shop}:* +@all -hincrby -subscribe", "HINCRBY, SUBSCRIBE in namespace 'shop'"),
        ("~{shop}:* &{shop}:* +@all -eval", ""),
        ("~{shop}:* &{shop}:* +@all -time", "TIME in namespace 'shop'"),
        ("~{shop}:* &{shop}:* +@all -info", "'info'"),
        ("~{shop}:* &{shop}:* +@all -@scripting", "'evalsha'"),
        ("~{other}:* &{shop}:* +@all", "keys"),
    ],
)
async def test_a_user_who_lacks_a_right_is_refused_at_the_start(
    server: PrivateServer, rules: str, lacks: str
) -> None:
    allow(server, "reset", "on", ">pw", *rules.split())

    with pytest.raises(ConfigError) as caught:
        await backend_on(server).start()

    assert REMEDY in str(caught.value)
    assert lacks in str(caught.value)


async def test_the_documented_rights_are_enough(backend: RedisBackend) -> None:
    one = job()
    async with backend.listen(["reply:x"]) as hints:
        await backend.push([one])
        session = await backend.open(
            WorkerCard(worker="w", host="h", pid=1, tasks=("send",), queues=("mail",))
        )
        batch = await backend.lease(session, [Want("mail", 1)], 1, 1.0)
        (lease,) = batch.leases
        assert await backend.command(session, "quiet")
        end = Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")
        await backend.settle(session, [end])
        async with asyncio.timeout(5):
            async for hint in hints:
                if one.id.hex().encode() in hint.payload:
                    break
    (record,) = await backend.get([one.id], Parts.RESULT)

    assert record is not None
    assert record.state is State.SUCCEEDED


async def test_when_channels_are_taken_away_jobs_are_stored_and_the_log_says_so_once(
    server: PrivateServer, backend: RedisBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "noria.redis")
    session = await backend.open(WorkerCard(worker="w", host="h", pid=1, tasks=("send",), queues=("mail",)))
    await backend.lease(session, [Want("mail", 1)], 1, 0.0)
    allow(server, "resetchannels")

    receipts = await backend.push([job() for _ in range(3)])
    for channel in ("reply:x", "reply:y"):
        async with backend.listen([channel]):
            pass
    batch = await backend.lease(session, [Want("mail", 3)], 3, 5.0)

    assert [receipt.status for receipt in receipts] == ["created"] * 3
    assert len(batch.leases) == 3
    assert await backend.command(session, "quiet")
    (said,) = [
        record.getMessage() for record in caplog.records if "no hints are heard" in record.getMessage()
    ]
    assert REMEDY in said


async def test_a_command_that_is_taken_away_later_is_named_as_a_right_that_is_missing(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """Wherever the server stops: nobody can say that nothing was done."""
    allow(server, "-hincrby")

    with pytest.raises(Exception, match="may be done in part") as caught:
        await backend.push([job()])

    assert REMEDY in str(caught.value)
