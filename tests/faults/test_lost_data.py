"""A Redis server that has lost something: its last second, everything, a part of one job, or its room. It is told of,
nothing waits for ever, and no outcome is recorded by whoever does not hold the job."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from noria import ids
from noria.backends.contract import Parts
from noria.errors import BackendError, Unavailable
from noria.model.job import Record
from noria.model.state import State
from tests.faults.fleet import Fleet, until
from tests.faults.servers import RedisServer
from tests.support.redis import missing, private_server

pytestmark = [
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason="there is no Redis on this machine"),
]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with private_server() as private:
        yield RedisServer(private)


async def found(fleet: Fleet, id: str) -> Record | None:
    """A job, or nothing if the store has none."""
    while True:
        try:
            return (await fleet.shop.backend.get([ids.from_text(id)], Parts.RESULT))[0]
        except BackendError:
            await asyncio.sleep(0.05)


async def is_in(fleet: Fleet, id: str, state: State) -> bool:
    record = await found(fleet, id)
    return record is not None and record.state == state


async def stands(fleet: Fleet, id: str, state: State) -> None:
    await until(lambda: is_in(fleet, id, state), lambda: f"{id} is not {state}\n{fleet.logs()}")


# ---- the last second


@pytest.mark.parametrize("slots", [1, 2])
async def test_after_the_last_second_was_lost_nothing_is_stuck_and_nothing_settled_twice(
    remote: Fleet, server: RedisServer, slots: int
) -> None:
    """B16. Lost: that one job has ended, that the next one was leased, and a third one altogether.

    The worker's session lasts longer than the test: nothing comes back by its end.
    """
    worker = remote.start("worker", "-c", str(slots), ttl=600.0, beat=0.5)
    first = await remote.put("wait", "first")
    await worker.runs(1)
    fill = await remote.enqueue(remote.job("wait", "fill") for _ in range(slots - 1))
    await worker.runs(slots)
    second = await remote.put("wait", "second")
    kept = server.private.written()
    (remote.folder / "first").touch()
    await stands(remote, first, State.SUCCEEDED)
    await worker.runs(slots + 1)
    third = await remote.put("quick", 3)
    with remote.recorder.fault("crash", "restart"):
        server.down()
        server.private.lose_since(kept)
        server.up()

    await until(lambda: "was restarted" in worker.log, lambda: worker.log)
    for gate in ("second", "fill"):
        (remote.folder / gate).touch()
    for id in (first, second, *fill):
        await stands(remote, id, State.SUCCEEDED)

    assert await found(remote, third) is None
    accepted = [(each.id, each.session, each.starts) for each in remote.evidence().verdicts("ok")]
    lost = [each for each in accepted if each[0] == first][:1]
    assert len(set(accepted) - set(lost)) == slots + 1, accepted
    assert worker.code is None, worker.log


# ---- everything


async def test_a_server_that_came_back_empty_is_told_of_by_every_process_and_used(
    remote: Fleet, server: RedisServer
) -> None:
    """B15."""
    worker = remote.start(ttl=600.0, beat=0.5)
    front = remote.start("front", "--port", "0", program=("serve",))
    await front.says("serving at")
    running = await remote.put("wait", "gate")
    await worker.runs(1)
    with remote.recorder.fault("loss", "restart"):
        server.down()
        server.private.empty()
        server.up()

    for process in (worker, front):
        await process.says("has lost what was stored in namespace")
    (remote.folder / "gate").touch()
    [id] = await remote.enqueue_at_last([remote.job("quick", 1)])
    await stands(remote, id, State.SUCCEEDED)

    assert await found(remote, running) is None
    assert running not in [each.id for each in remote.evidence().verdicts("ok")]
    assert [worker.code, front.code] == [None, None], remote.logs()


# ---- a part of one job


async def test_a_job_without_its_body_is_a_dead_letter_and_one_without_its_head_holds_nobody_up(
    remote: Fleet, server: RedisServer
) -> None:
    """B20: neither is claimed again and again; nor is one given back whose worker has died."""
    mortal = remote.start("mortal", "-q", "mortal")
    held = await remote.put("wait", "gate", queue="mortal")
    await mortal.runs(1)
    headless, bodiless, whole = await remote.enqueue(remote.job("quick", n) for n in range(3))
    later, aside = await remote.put("quick", 4, delay=0.5), await remote.put("quick", 5, queue="side")
    prefix = server.private.address.prefix
    with server.private.client() as client:
        for id in (headless, later, aside, held):
            client.ask("HDEL", prefix + b"head", bytes.fromhex(id))
        client.ask("HDEL", prefix + b"body", bytes.fromhex(bodiless))
    mortal.kill()

    remote.start("worker", "-q", "default", "-q", "side")

    await stands(remote, whole, State.SUCCEEDED)
    await stands(remote, bodiless, State.FAILED)
    record = await found(remote, bodiless)
    assert record is not None and record.dead
    assert await found(remote, headless) is None
    await until(lambda: nothing_waits(server), remote.logs)


def nothing_waits(server: RedisServer) -> bool:
    """Whether no line, no list of due jobs, and no session that owes any is left."""
    prefix = server.private.address.prefix
    with server.private.client() as client:
        keys: list[bytes] = client.ask("KEYS", prefix + b"*")
    names = [key.removeprefix(prefix) for key in keys]
    return not [name for name in names if name.startswith((b"q", b"x", b"due:", b"owing", b"held:"))]


# ---- its room


async def test_a_full_server_refuses_jobs_at_once_and_its_workers_go_on(
    remote: Fleet, server: RedisServer
) -> None:
    """B17."""
    before = await remote.enqueue(remote.job("wait", "gate") for _ in range(250))
    worker = remote.start("worker", "-c", "100")
    await worker.runs(100)
    with server.private.client() as client:
        client.ask("CONFIG", "SET", "maxmemory", "1mb")

    with pytest.raises(Unavailable, match="raise maxmemory"):
        await remote.put("quick", 1)
    (remote.folder / "gate").touch()
    for id in before:
        await stands(remote, id, State.SUCCEEDED)
    with server.private.client() as client:
        client.ask("CONFIG", "SET", "maxmemory", "0")
    after = await remote.put("quick", 2)
    await stands(remote, after, State.SUCCEEDED)

    assert not (await remote.judge()).duplicates
    assert worker.code is None, worker.log
