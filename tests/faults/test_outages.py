"""A server goes away, for a moment and for a minute: nobody besieges it, nobody has to be started anew, and work goes
on soon after it is back."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from noria.model.state import State
from noria.testing.events import Event, RunStart
from noria.testing.proxy import Proxy
from tests.faults.fleet import SLACK, Fleet, Process, until
from tests.faults.machine import Use, use_of
from tests.faults.servers import Server
from tests.support.serving import Front

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SOON = 5.0
"""Seconds after which work must go on, once the server is back."""
LONG = 60.0
"""Seconds of a long outage."""
QUICK_TRIES = 8
"""Tries of each connection with which an outage begins: their pauses grow to the longest one."""


async def back(server: Server, worker: Process, fleet: Fleet, id: str, since: float) -> None:
    """A job that waits for a worker begins in time, whatever the machine kept from that."""
    starved = use_of(worker.pid).starved
    run = await first_run(fleet, id)
    late = run.mono - since
    print(f"{server.kind}: {worker.name} works again {late:.2f} s after the server is back")
    assert late <= SOON + SLACK + use_of(worker.pid).starved - starved


async def first_run(fleet: Fleet, id: str) -> Event:
    def runs() -> list[Event]:
        return [event for event, fact in fleet.evidence().of(RunStart) if fact.id == id]

    return (await until(runs, lambda: f"{id} does not run\n{fleet.logs()}"))[0]


# ---- for a moment


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
async def test_after_a_restart_a_worker_goes_on_by_itself_and_what_ran_is_settled_once(
    remote: Fleet, server: Server, busy: bool
) -> None:
    """B1, B2."""
    worker = remote.start(ttl=60.0, beat=1.0)
    await worker.works()
    running = await remote.enqueue(remote.job("wait", "gate") for _ in range(20 * busy))
    if busy:
        await worker.runs(20)
    with remote.recorder.fault("restart", "restart"):
        await asyncio.to_thread(server.down)
        (remote.folder / "gate").touch()
        await asyncio.sleep(1.0)
        await asyncio.to_thread(server.up)
    since = time.monotonic()

    [id] = await remote.enqueue_at_last([remote.job("quick", 1)])
    await back(server, worker, remote, id, since)

    records = await remote.ended()
    assert {(each.state, each.starts, each.tally.spent) for each in records} == {(State.SUCCEEDED, 1, 0)}
    accepted = [each.id for each in remote.evidence().verdicts("ok")]
    assert sorted(accepted) == sorted([*running, id])
    assert not (await remote.judge()).duplicates
    assert worker.code is None, worker.log


# ---- for a minute


@dataclass
class Client:
    """A process with a way of its own to the server, and what it did there before the outage."""

    process: Process
    proxy: Proxy
    use: Use
    connections: int = 0

    @property
    def starved(self) -> float:
        """Seconds since then for which no processor was free for it."""
        return use_of(self.process.pid).starved - self.use.starved

    def begin(self) -> None:
        """From now on the server is away."""
        self.connections, self.use = self.proxy.accepted, use_of(self.process.pid)
        self.proxy.refuse()
        self.proxy.cut()

    def end(self, seconds: float) -> None:
        """It was away for so long, and did not do more than it may."""
        tries = self.proxy.accepted - self.connections
        busy = (use_of(self.process.pid).ran - self.use.ran) / seconds
        print(
            f"{self.process.name}: {self.connections} connections, {tries} tries, {busy:.2%} of a processor"
        )
        assert tries >= 10, "it does not look whether the server is back"
        assert tries <= self.connections * (seconds + QUICK_TRIES)
        assert busy < 0.02, self.process.log[-3_000:]


@asynccontextmanager
async def client(
    fleet: Fleet, server: Server, name: str, *flags: str, **how: object
) -> AsyncIterator[Client]:
    with Proxy("127.0.0.1", server.port) as proxy:
        process = fleet.start(name, *flags, url=server.through(proxy.port), **how)  # type: ignore[arg-type]  # as `start` has them
        yield Client(process, proxy, use_of(process.pid))


async def test_a_minute_without_its_server_costs_nothing_and_ends_soon_after_it_is_back(
    remote: Fleet, server: Server
) -> None:
    """B3, G6: an idle worker, one whose jobs end meanwhile, and a front."""
    usual = {"ttl": 10.0, "beat": 2.5}
    async with (
        client(remote, server, "idle", "-q", "idle", **usual) as idle,
        client(remote, server, "busy", "-q", "busy", **usual) as busy,
        client(remote, server, "front", "--port", "0", program=("serve",)) as front,
    ):
        clients = [idle, busy, front]
        await remote.enqueue(remote.job("slow", n, 3.0 + 2.0 * n, queue="busy") for n in range(20))
        door = await ready(front.process)
        await idle.process.works()
        await busy.process.runs(20)
        waiting = [await remote.put("quick", 1, queue=queue, delay=LONG / 2) for queue in ("idle", "busy")]
        with remote.recorder.fault("outage", "restart"):
            await asyncio.to_thread(server.down)
            began = time.monotonic()
            for each in clients:
                each.begin()
            assert await probes(door) == (200, 503)
            await asyncio.sleep(began + LONG - time.monotonic())
            for each in clients:
                each.end(time.monotonic() - began)
            assert await probes(door) == (200, 503)
            await asyncio.to_thread(server.up)
        for each in clients:
            each.proxy.heal()
        since = time.monotonic()

        for each, id in zip((idle, busy), waiting, strict=True):
            await back(server, each.process, remote, id, since)
        while await probes(door) != (200, 200):
            assert time.monotonic() - since <= SOON + SLACK + front.starved, remote.logs()

        records = await remote.ended()
        assert {(each.state, each.tally.spent) for each in records} == {(State.SUCCEEDED, 0)}
        await remote.judge()
        assert [each.process.code for each in clients] == [None] * 3


async def ready(process: Process) -> Front:
    """A front that serves."""
    await process.says("serving at")
    found = re.search(r"http://[^\s:]+:(\d+)", process.log)
    assert found is not None, process.log
    return Front(process, int(found[1]))  # type: ignore[arg-type]  # only asked


async def says(front: Front, path: str) -> int:
    """The status of a probe. Asked in a thread: the proxies are on this loop."""
    return (await asyncio.to_thread(front.ask, "GET", path))[0]


async def probes(front: Front) -> tuple[int, int]:
    """What `livez` and `readyz` say."""
    return await says(front, "/livez"), await says(front, "/readyz")
