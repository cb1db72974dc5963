"""A bare consumer loop on Redis streams, written by hand: what is possible, and no product.

It has no retries, leases, time limits, unique keys, records or logging. Jobs are read 500 at a time, each runs as an
asyncio task, and what has ended goes by one XACK, one XDEL and one SET for each result, written together once per turn
of the loop. The client pipelines: whatever is asked for in one turn is one write.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec
import uvloop

from bench.compare.client import Client
from bench.compare.peers.bare import TASKS
from bench.compare.setting import RESULTS, SLOTS, URL

_STREAM: Final = b"jobs"
_GROUP: Final = b"workers"
_BATCH: Final = 500
_LIMIT: Final = SLOTS or 1_000


class Body(msgspec.Struct, array_like=True):
    """A job: its id, task and argument, and a list that its result is pushed to if somebody waits."""

    id: str
    task: str
    number: int
    reply: str = ""


class Redis(asyncio.Protocol):
    """A client: commands that are sent in one turn of the loop leave together."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._out: list[bytes] = []
        self._in = bytearray()
        self._at = 0

    @classmethod
    async def connect(cls) -> Redis:
        """To the server of this measurement."""
        parts = urlsplit(URL)
        _, made = await asyncio.get_running_loop().create_connection(cls, parts.hostname, parts.port)
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def close(self) -> None:
        """Hang up."""
        self._transport.close()

    def send(self, *words: bytes) -> asyncio.Future[Any]:
        """A command; its answer."""
        if not self._out:
            asyncio.get_running_loop().call_soon(self._flush)
        self._out.append(b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(w), w) for w in words]))
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        return answer

    def _flush(self) -> None:
        self._transport.write(b"".join(self._out))
        self._out.clear()

    def data_received(self, data: bytes) -> None:
        self._in += data
        self._at = 0
        begun = 0
        try:
            while self._waiting and self._at < len(self._in):
                value = self._value()
                begun = self._at
                answer = self._waiting.popleft()
                if answer.cancelled():
                    continue
                if isinstance(value, Exception):
                    answer.set_exception(value)
                else:
                    answer.set_result(value)
        except IndexError:  # the rest has not arrived
            pass
        del self._in[:begun]

    def connection_lost(self, error: Exception | None) -> None:
        for answer in self._waiting:
            if not answer.done():
                answer.set_exception(error or ConnectionError("Redis hung up"))

    def _value(self) -> Any:
        end = self._in.find(b"\r\n", self._at)
        if end < 0:
            raise IndexError
        kind, line = self._in[self._at], bytes(self._in[self._at + 1 : end])
        self._at = end + 2
        if kind == 43:  # +
            return line
        if kind == 58:  # :
            return int(line)
        if kind == 45:  # -
            return RuntimeError(line.decode())
        size = int(line)
        if size < 0:
            return None
        if kind == 42:  # *
            return [self._value() for _ in range(size)]
        start, self._at = self._at, self._at + size + 2
        if self._at > len(self._in):
            raise IndexError
        return bytes(self._in[start : start + size])


class Worker:
    """Reads, runs, settles; a read is on its way while jobs run."""

    def __init__(self, reader: Redis, writer: Redis) -> None:
        self._reader = reader
        self._writer = writer
        self._running: set[asyncio.Task[None]] = set()
        self._ended: list[tuple[bytes, Body, int]] = []
        self._room = asyncio.Event()
        self._name = b"%d" % os.getpid()

    async def run(self) -> None:
        """Until cancelled; then what runs ends first."""
        try:
            while True:
                self._room.clear()
                if len(self._running) >= _LIMIT:
                    await self._room.wait()
                    continue
                await self._read(min(_BATCH, _LIMIT - len(self._running)))
        finally:
            if self._running:
                await asyncio.wait(self._running)
            self._settle()
            await self._writer.send(b"PING")

    async def _read(self, limit: int) -> None:
        words = (b"XREADGROUP", b"GROUP", _GROUP, self._name, b"COUNT", b"%d" % limit, b"BLOCK", b"1000")
        found = await self._reader.send(*words, b"STREAMS", _STREAM, b">")
        for entry, (_, data) in found[0][1] if found else ():
            task = asyncio.create_task(self._job(entry, _decode(data)))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _job(self, entry: bytes, body: Body) -> None:
        value = await TASKS[body.task](body.number)
        if not self._ended:
            asyncio.get_running_loop().call_soon(self._settle)
        self._ended.append((entry, body, value))

    def _settle(self) -> None:
        self._room.set()
        if not self._ended:
            return
        ended, self._ended = self._ended, []
        entries = [entry for entry, _, _ in ended]
        send = self._writer.send
        for _, body, value in ended:
            if RESULTS:
                send(b"SET", b"result:%b" % body.id.encode(), b"%d" % value, b"EX", b"3600")
            if body.reply:
                send(b"RPUSH", body.reply.encode(), b"%d" % value)
        send(b"XACK", _STREAM, _GROUP, *entries)
        send(b"XDEL", _STREAM, *entries)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Body).decode


class Bare(Client):
    """Its call for many sends a command for each job, all in one write."""

    async def open(self) -> None:
        """Connect."""
        self._redis = await Redis.connect()
        self._reply = f"reply:{os.getpid()}"
        self._next = 0

    async def close(self) -> None:
        """Disconnect."""
        self._redis.close()

    async def prepare(self) -> None:
        """Make the stream and its group."""
        await self._redis.send(b"XGROUP", b"CREATE", _STREAM, _GROUP, b"0", b"MKSTREAM")

    async def enqueue(self, task: str, number: int) -> str:
        """Add one entry."""
        id = self._id()
        await self._add(Body(id, task, number))
        return id

    async def bulk(self, task: str, numbers: Sequence[int]) -> list[str]:
        """Add many."""
        ids = [self._id() for _ in numbers]
        await asyncio.gather(*[self._add(Body(id, task, n)) for id, n in zip(ids, numbers, strict=True)])
        return ids

    async def value(self, id: str) -> int:
        """Read it; it must be there."""
        return int(await self._redis.send(b"GET", b"result:%b" % id.encode()))

    async def trip(self, number: int) -> int:
        """Enqueue, and wait for the value on a list."""
        await self._add(Body(self._id(), "echo", number, self._reply))
        _, value = await self._redis.send(b"BLPOP", self._reply.encode(), b"10")
        return int(value)

    async def left(self) -> int:
        """An entry is deleted when its job has ended."""
        return int(await self._redis.send(b"XLEN", _STREAM))

    def _id(self) -> str:
        self._next += 1
        return f"{os.getpid()}-{self._next}"

    def _add(self, body: Body) -> asyncio.Future[Any]:
        return self._redis.send(b"XADD", _STREAM, b"*", b"b", _encode(body))


client = Bare()


async def main() -> None:
    """Work until SIGTERM."""
    work = asyncio.create_task(Worker(await Redis.connect(), await Redis.connect()).run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    await asyncio.wait([work])
    if not work.cancelled():
        work.result()


if __name__ == "__main__":
    uvloop.run(main())
