"""Hints: between the objects of a process, between processes, and past those that are gone."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from noria.backends.bus import BACKLOG, Bus, Listener
from noria.backends.contract import Batch, Outline, Want
from noria.backends.sql.outlines import pack
from noria.backends.sqlite import SqliteBackend
from noria.backends.sqlite.sockets import Mailbox, Post, remove_stale
from noria.clock import SystemClock
from noria.errors import ConfigError
from noria.ids import IdSource
from noria.model.limits import MAX_HINT
from tests.support.sqlite import CARD, QUEUE, Bench

BOUND = 20.0
"""Seconds that nothing here takes."""
FOREVER = 3_600.0
"""A poll that never comes: what is heard is a hint."""


def backend(folder: Path) -> SqliteBackend:
    clock = SystemClock()
    return SqliteBackend(
        folder / "noria.db",
        runtime=folder / "run",
        clock=clock,
        ids=IdSource(clock),
        synchronous="off",
        poll=FOREVER,
    )


@asynccontextmanager
async def two(folder: Path) -> AsyncIterator[tuple[SqliteBackend, SqliteBackend]]:
    """Two processes, as far as the backend can tell: each has its own engine, thread and sockets."""
    one, other = backend(folder), backend(folder)
    await one.start()
    await other.start()
    try:
        yield one, other
    finally:
        await one.aclose()
        await other.aclose()


async def within(awaitable: asyncio.Future[Batch] | asyncio.Task[Batch]) -> Batch:
    async with asyncio.timeout(BOUND):
        return await awaitable


async def waiting_lease(worker: SqliteBackend) -> asyncio.Task[Batch]:
    """A lease that has looked, found nothing, and waits."""
    session = await worker.open(CARD)
    task = asyncio.ensure_future(worker.lease(session, [Want(QUEUE, 1)], 1, FOREVER))
    bus = worker._wires.bus
    async with asyncio.timeout(BOUND):
        while f"queue:{QUEUE}" not in bus._listeners or not (await worker.counts()).workers:
            await asyncio.sleep(0)
    # Its first look was asked for before this call, and is answered before it.
    await worker.overdue()
    return task


async def test_a_push_wakes_a_lease_of_the_same_process(short_tmp: Path) -> None:
    async with two(short_tmp) as (one, _):
        lease = await waiting_lease(one)
        job = Bench().job()

        await one.push([job])

        assert [each.id for each in (await within(lease)).leases] == [job.id]


async def test_a_push_wakes_a_lease_of_another_process(short_tmp: Path) -> None:
    async with two(short_tmp) as (one, other):
        lease = await waiting_lease(one)
        job = Bench().job()

        await other.push([job])

        assert [each.id for each in (await within(lease)).leases] == [job.id]


async def test_a_reply_reaches_the_one_process_that_waits(short_tmp: Path) -> None:
    async with two(short_tmp) as (one, other), one.listen([one.reply_channel]) as hints:
        assert (await anext(hints)).reset

        await other.notify(one.reply_channel, b"news")

        async with asyncio.timeout(BOUND):
            hint = await anext(hints)
        assert (hint.channel, hint.payload) == (one.reply_channel, b"news")


async def test_closing_ends_a_waiting_lease_at_once(short_tmp: Path) -> None:
    one = backend(short_tmp)
    await one.start()
    lease = await waiting_lease(one)

    await one.aclose()

    with pytest.raises(Exception, match="closed"):
        await within(lease)


async def test_closing_leaves_no_sockets(short_tmp: Path) -> None:
    async with two(short_tmp) as (one, _):
        (await waiting_lease(one)).cancel()
        assert len(list((short_tmp / "run").iterdir())) == 3

    assert list((short_tmp / "run").iterdir()) == []


# ---- the sockets themselves


def test_the_socket_of_a_dead_process_is_removed_by_who_finds_it(short_tmp: Path) -> None:
    dead = Mailbox(short_tmp, "dead", "work", print)
    dead._socket.close()
    post = Post(short_tmp, "mine")

    post.send([("queue:mail", b"")])

    assert list(short_tmp.iterdir()) == []
    post.close()


def test_starting_removes_what_dead_processes_left(short_tmp: Path) -> None:
    dead, alive = Mailbox(short_tmp, "dead", "reply", print), Mailbox(short_tmp, "alive", "reply", print)
    dead._socket.close()

    remove_stale(short_tmp)

    assert [path.name for path in short_tmp.iterdir()] == ["alive.reply"]
    alive.close()


def test_a_full_socket_is_passed_over(short_tmp: Path) -> None:
    heard: list[object] = []
    mailbox = Mailbox(short_tmp, "slow", "work", heard.extend)
    post = Post(short_tmp, "mine")

    post.send([("queue:mail", b"x" * 4_000)] * 10_000)
    mailbox.read()

    assert 0 < len(heard) < 10_000
    assert heard[0] == ("queue:mail", b"x" * 4_000)
    mailbox.close()
    post.close()


def test_a_process_does_not_send_to_itself(short_tmp: Path) -> None:
    heard: list[object] = []
    mailboxes = [Mailbox(short_tmp, "mine", kind, heard.extend) for kind in ("reply", "work")]
    post = Post(short_tmp, "mine")

    post.send([("queue:mail", b""), ("reply:mine", b""), ("anything", b"")])
    for mailbox in mailboxes:
        mailbox.read()
        mailbox.close()

    assert heard == []
    post.close()


def test_a_directory_with_a_long_path_will_do(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    heard: list[object] = []
    mailbox = Mailbox(folder, "far", "reply", heard.extend)
    post = Post(folder, "mine")

    post.send([("reply:far", b"hello")])
    mailbox.read()

    assert heard == [("reply:far", b"hello")]
    mailbox.close()
    post.close()


def test_a_directory_that_others_can_write_is_refused(short_tmp: Path) -> None:
    """Whoever can write it could take our place, or read what jobs return."""
    short_tmp.chmod(0o777)

    with pytest.raises(ConfigError, match="writable by nobody else"):
        Post(short_tmp, "mine")


def test_a_new_directory_is_private(short_tmp: Path) -> None:
    Post(short_tmp / "deep" / "run", "mine").close()

    assert os.stat(short_tmp / "deep" / "run").st_mode & 0o777 == 0o700


@pytest.mark.parametrize("datagram", [b"", b"\x00", b"\xff\xff", b"queue:mail", b"x" * 50_000])
def test_strange_datagrams_do_no_harm(short_tmp: Path, datagram: bytes) -> None:
    heard: list[object] = []
    mailbox = Mailbox(short_tmp, "mine", "reply", heard.extend)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(datagram, str(short_tmp / "mine.reply"))

    mailbox.read()

    assert len(heard) == 1
    mailbox.close()


# ---- within a process


async def test_a_slow_listener_is_told_that_it_missed_something() -> None:
    bus = Bus()
    with Listener(bus, ["a"]) as listener:
        bus.publish([("a", b"")] * (BACKLOG + 1))
        hints = listener.hints(BOUND)

        first, second = await anext(hints), await anext(hints)

    assert first.reset
    assert second.reset


def test_nobody_is_remembered_who_does_not_listen() -> None:
    bus = Bus()
    with Listener(bus, ["a", "b"]):
        pass

    assert bus._listeners == {}


# ---- outlines


def outline(size: int) -> Outline:
    return Outline("ab" * 16, 10, "json", "x" * size)


@pytest.mark.parametrize("sizes", [[0], [10] * 500, [4_000, 4_000, 10], [10_000], [4_040, 4_050, 4_060]])
def test_outlines_fit_into_hints_and_none_is_left_out(sizes: list[int]) -> None:
    packed = list(pack([outline(size) for size in sizes]))

    assert all(len(payload) <= MAX_HINT for payload in packed)
    read = [line for payload in packed for line in msgspec.json.decode(payload, type=list[Outline])]
    assert len(read) == len(sizes)
    assert all(line.result in (None, "x" * size) for line, size in zip(read, sizes, strict=True))
    assert all((line.result is None) == (size > 4_040) for line, size in zip(read, sizes, strict=True))
