"""A Redis server that is restarted, killed, frozen, emptied, filled, or set up badly; and connections that are cut."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from noria.backends.contract import Batch, Orders, Parts, Verdict, Vitals, Want, WorkerCard
from noria.backends.redis import Address, RedisBackend
from noria.clock import SystemClock
from noria.errors import BackendError, ConfigError, Unavailable, Unknown
from noria.ids import IdSource, SessionId
from noria.model.groups import Grouped, GroupRef, Need, Rule
from noria.model.job import Lease, NewJob
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.redis import PrivateServer, free_port, missing, private_server

pytestmark = [
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.xdist_group("redis"),
    pytest.mark.skipif(bool(missing()), reason="there is no Redis on this machine"),
]

CLOCK = SystemClock()
IDS = IdSource(CLOCK)
SOON = 5.0
"""Seconds after which work must go on, once the server is back."""


@pytest.fixture
def server() -> Iterator[PrivateServer]:
    with private_server() as server:
        yield server


@pytest.fixture
async def backend(server: PrivateServer) -> AsyncIterator[RedisBackend]:
    backend = open_on(server.address)
    await backend.start()
    yield backend
    await backend.aclose()


def open_on(address: Address, **options: Any) -> RedisBackend:
    given = {"timeout": 3.0, "poll": 0.2, **options}
    return RedisBackend(address, clock=CLOCK, ids=IDS, **given)


def job(**fields: Any) -> NewJob:
    return NewJob(**{"id": IDS.next(), "task": "send", "queue": "mail", "body": b"[]", **fields})


def success(lease: Lease) -> Settlement:
    return Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")


async def worker(backend: RedisBackend) -> SessionId:
    return await backend.open(WorkerCard(worker="w", host="h", pid=1, tasks=("send",), queues=("mail",)))


async def take(backend: RedisBackend, session: SessionId, wait: float = 0.0) -> Batch:
    return await backend.lease(session, [Want("mail", 10)], 10, wait)


async def push_until_it_works(backend: RedisBackend, one: NewJob) -> float:
    """Push until it is there; how many seconds that took."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while True:
        try:
            await backend.push([one])
        except BackendError:
            await asyncio.sleep(0.05)
        else:
            return loop.time() - begun


# -- restarts


async def test_after_a_restart_while_idle_work_goes_on(server: PrivateServer, backend: RedisBackend) -> None:
    """B1."""
    before, after = job(), job()
    await backend.push([before])
    session = await worker(backend)
    server.kill()
    server.start()

    assert await push_until_it_works(backend, after) < SOON
    batch = await take(backend, session)

    assert [lease.id for lease in batch.leases] == [before.id, after.id]


async def test_what_ran_through_a_restart_is_settled_once(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """B2."""
    await backend.push([job()])
    session = await worker(backend)
    (lease,) = (await take(backend, session)).leases
    server.kill()
    with pytest.raises(BackendError):
        await backend.settle(session, [success(lease)])
    server.start()

    told = [await settled(backend, session, lease) for _ in range(2)]

    assert told == [Verdict.OK, Verdict.ALREADY]


async def settled(backend: RedisBackend, session: SessionId, lease: Lease) -> Verdict:
    while True:
        try:
            return (await backend.settle(session, [success(lease)]))[0]
        except BackendError:
            await asyncio.sleep(0.05)


async def test_a_lease_that_waits_through_a_restart_gets_the_next_job(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """B1: nobody is deaf afterwards, though nobody was started anew."""
    session = await worker(backend)
    waiting = asyncio.ensure_future(leased(backend, session))
    await asyncio.sleep(0.1)
    server.kill()
    server.start()
    one = job()
    await push_until_it_works(backend, one)

    batch = await asyncio.wait_for(waiting, SOON)

    assert [lease.id for lease in batch.leases] == [one.id]


async def leased(backend: RedisBackend, session: SessionId) -> Batch:
    while True:
        try:
            batch = await take(backend, session, 1.0)
        except BackendError:
            await asyncio.sleep(0.05)
        else:
            if batch.leases:
                return batch


async def test_while_a_server_is_down_calls_end_and_nobody_hurries(
    server: PrivateServer, backend: RedisBackend, caplog: pytest.LogCaptureFixture
) -> None:
    """B3, B10."""
    server.kill()
    with pytest.raises(BackendError):
        await backend.counts()
    loop = asyncio.get_running_loop()
    begun = loop.time()

    told = await asyncio.gather(*(backend.push([job()]) for _ in range(100)), return_exceptions=True)

    assert {type(each) for each in told} == {Unavailable}
    assert loop.time() - begun < 6
    assert str(server.port) in str(told[0])


# -- a server that says nothing


async def test_a_frozen_server_is_given_up_and_used_again(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """B4, B9: the call may be done, and with the same id it is one job."""
    one = job()
    server.freeze()
    with pytest.raises(Unknown, match="may be done"):
        await backend.push([one])
    server.thaw()

    assert await push_until_it_works(backend, one) < SOON

    session = await worker(backend)
    assert [lease.id for lease in (await take(backend, session)).leases] == [one.id]
    assert (await take(backend, session)).leases == []


async def test_connections_that_are_cut_are_replaced(server: PrivateServer, backend: RedisBackend) -> None:
    """B6: again and again, and no answer reaches another caller."""
    session = await worker(backend)
    done: set[bytes] = set()
    with server.client() as client:
        for turn in range(30):
            jobs = [job() for _ in range(5)]
            calls = [asyncio.ensure_future(backend.push([each])) for each in jobs]
            for _ in range(turn % 4):
                await asyncio.sleep(0)
            client.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            for each, call in zip(jobs, calls, strict=True):
                try:
                    (receipt,) = await call
                except BackendError:
                    await push_until_it_works(backend, each)
                else:
                    assert receipt.id == each.id
                done.add(each.id)

    leases = []
    while batch := (await take(backend, session)).leases:
        leases += batch
    assert sorted(lease.id for lease in leases) == sorted(done)


async def test_a_cancelled_call_leaves_its_answer_to_nobody(backend: RedisBackend) -> None:
    """B7: at every step of its way."""
    ids = [job() for _ in range(50)]
    for steps in range(12):
        call = asyncio.ensure_future(backend.push([ids[steps]]))
        other = asyncio.ensure_future(backend.get([ids[steps].id], Parts.BODY))
        for _ in range(steps):
            await asyncio.sleep(0)
        call.cancel()
        (found,) = await other
        assert found is None or found.id == ids[steps].id
        assert await backend.get([]) == []
        (receipt,) = await backend.push([ids[steps]])
        assert receipt.id == ids[steps].id


async def test_scripts_that_the_server_forgot_are_sent_again(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """B18."""
    await backend.push([job()])
    with server.client() as client:
        client.ask("SCRIPT", "FLUSH")
    session = await worker(backend)

    (lease,) = (await take(backend, session)).leases
    with server.client() as client:
        client.ask("SCRIPT", "FLUSH")

    assert await backend.settle(session, [success(lease)]) == [Verdict.OK]


# -- a server that has lost its data


@pytest.mark.parametrize("way", ["it came back empty", "it was emptied"])
async def test_a_server_that_lost_everything_is_told_of_and_used(
    server: PrivateServer, backend: RedisBackend, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B15: reported, and not hidden."""
    await backend.push([job()])
    if way == "it was emptied":
        with server.client() as client:
            client.ask("FLUSHALL")
        with pytest.raises(Unavailable, match="everything that was stored is lost"):
            await backend.push([job()])
    else:
        server.kill()
        server.empty()
        server.start()
    one = job()

    assert await push_until_it_works(backend, one) < SOON

    told = [record.message for record in caplog.records if record.levelno == logging.CRITICAL]
    assert len(told) == 1
    assert "has lost what was stored in namespace 'private'" in told[0]
    session = await worker(backend)
    assert [lease.id for lease in (await take(backend, session)).leases] == [one.id]


# -- a server that is full


async def test_a_full_server_takes_no_jobs_and_work_goes_on(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """B17."""
    await backend.push([job(body=b'"' + b"x" * 10_000 + b'"') for _ in range(200)])
    session = await worker(backend)
    leases = (await take(backend, session)).leases
    with server.client() as client:
        client.ask("CONFIG", "SET", "maxmemory", "1mb")

    with pytest.raises(Unavailable, match="raise maxmemory"):
        await backend.push([job()])
    verdicts = await backend.settle(session, [success(lease) for lease in leases])
    more = (await take(backend, session)).leases
    orders = await backend.renew(session, Vitals())
    with server.client() as client:
        client.ask("CONFIG", "SET", "maxmemory", "0")

    assert verdicts == [Verdict.OK] * len(leases)
    assert more
    assert orders == Orders()
    assert (await backend.push([job()]))[0].status == "created"


async def test_a_huge_due_set_is_promoted_in_portions(backend: RedisBackend) -> None:
    """B19: at most 1,000 in one step."""
    for _ in range(5):
        await backend.push([job(delay=0.05) for _ in range(1_000)])
    await asyncio.sleep(0.1)

    seen = []
    while swept := (await backend.sweep(1_000)).promoted:
        seen.append(swept)

    assert seen == [1_000] * 5


# -- what is refused at the start


async def test_a_server_that_evicts_jobs_is_refused() -> None:
    refused = pytest.raises(ConfigError, match="config set maxmemory-policy noeviction")
    with private_server(**{"maxmemory-policy": "allkeys-lru"}) as server, refused:
        await open_on(server.address).start()


async def test_a_server_that_evicts_only_what_expires_is_taken() -> None:
    with private_server(**{"maxmemory-policy": "volatile-lru"}) as server:
        backend = open_on(server.address)
        await backend.start()
        await backend.aclose()


@pytest.mark.parametrize(("asked", "warned"), [("asked", True), ("none", False)])
async def test_a_server_without_a_log_is_told_of_unless_that_is_well(
    caplog: pytest.LogCaptureFixture, asked: str, warned: bool
) -> None:
    with private_server(appendonly="no") as server:
        backend = open_on(server.address, persistence=asked)
        await backend.start()
        durability = backend.capabilities.durability
        await backend.aclose()

    assert any("appendonly yes" in record.message for record in caplog.records) == warned
    assert "no append-only file" in durability


async def test_a_cluster_is_refused() -> None:
    options = {"cluster-enabled": "yes", "cluster-port": str(free_port())}
    with private_server(**options) as server, pytest.raises(ConfigError, match="without cluster mode"):
        await open_on(server.address).start()


async def test_a_password_is_asked_for_and_never_shown() -> None:
    with private_server(requirepass="s3cret") as server:
        for password in ("", "wr0ng"):
            address = Address(port=server.port, password=password)
            with pytest.raises(ConfigError, match="password") as caught:
                await open_on(address).start()
            assert "s3cret" not in str(caught.value)
            assert "wr0ng" not in str(caught.value)
        backend = open_on(Address(port=server.port, password="s3cret"))
        await backend.start()
        await backend.aclose()


async def test_nobody_is_there() -> None:
    with pytest.raises(Unavailable, match="see that it runs"):
        await open_on(Address(port=1)).start()


# -- groups


async def test_nothing_is_left_of_groups_that_are_through(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """K8: a million keys must not leave a million keys behind."""
    rule, needs = Rule(limit=1), (Need("tunnel", capacity=500),)
    groups = [Grouped(GroupRef("host", str(n % 300)), rule) for n in range(1_000)]
    session = await worker(backend)
    await backend.push([job(group=group, needs=needs) for group in groups])
    before = names_of(server)
    done = 0
    while leases := (await backend.lease(session, [Want("mail", 500)], 500, 0.0)).leases:
        done += len(leases)
        await backend.settle(session, [success(lease) for lease in leases])

    assert done == 1_000
    assert {"waiting", "placed", "groups"} <= before
    assert (
        names_of(server)
        & {"waiting", "placed", "groups", "holding", "stands", "waking", "gates", "gated", "closing"}
        == set()
    )


def names_of(server: PrivateServer) -> set[str]:
    """What kinds of keys there are."""
    prefix = server.address.prefix.decode()
    with server.client() as client:
        return {key.decode().removeprefix(prefix).partition(":")[0] for key in client.ask("KEYS", "*")}


# -- the keeper


async def test_a_keeper_survives_a_restart(server: PrivateServer, backend: RedisBackend) -> None:
    session = await worker(backend)
    keeper = backend.control()
    assert keeper.renew(session, Vitals()) == Orders()
    server.kill()
    with pytest.raises(BackendError):
        keeper.renew(session, Vitals())
    server.start()

    assert keeper.renew(session, Vitals()) == Orders()
    keeper.close()
