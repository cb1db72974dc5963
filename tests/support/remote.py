"""A backend in another process: its calls cross a socket, and the process can be killed under them.

One frame is a length and a MessagePack value. Every request carries the caller's clock, so that a test's virtual
time holds on both sides.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

from noria import errors
from noria.backends.contract import (
    Altered,
    Backend,
    Batch,
    Capabilities,
    Change,
    Command,
    Counts,
    DeadGroup,
    Doc,
    DocWrite,
    Ended,
    Evidence,
    Fence,
    Flow,
    GroupRef,
    Hint,
    Mark,
    Member,
    Orders,
    Overdue,
    Page,
    Parts,
    Point,
    Query,
    Steered,
    Steering,
    Stream,
    Swept,
    Tallied,
    Target,
    Verdict,
    Vitals,
    Want,
    WorkerCard,
)
from noria.model.groups import GroupLine, ResourceLine
from noria.model.job import NewJob, Receipt, Record
from noria.model.settlement import Settlement
from tests.support.manual import ManualClock

CALLS: dict[str, tuple[Any, Any]] = {
    "push": (tuple[list[NewJob], list[DocWrite]], list[Receipt]),
    "lease": (tuple[int, list[Want], int, float], Batch),
    "recall": (tuple[int, list[Fence]], int),
    "settle": (tuple[int, list[Settlement]], list[Verdict]),
    "mark": (tuple[int, list[Mark]], list[Verdict]),
    "emitted": (tuple[bytes, int, int], Stream | None),
    "sweep": (tuple[int], Swept),
    "steer": (tuple[Target, Steering], Steered),
    "group": (tuple[list[GroupRef]], list[GroupLine | None]),
    "groups": (tuple[str | None, GroupRef | None, int], list[GroupLine]),
    "resources": (tuple[()], list[ResourceLine]),
    "open": (tuple[WorkerCard], int),
    "renew": (tuple[int, Vitals], Orders),
    "overdue": (tuple[()], list[Overdue]),
    "end": (tuple[int, int | None, list[Fence] | None, Evidence | None], Ended),
    "fleet": (tuple[()], list[Member]),
    "command": (tuple[int, Command], bool),
    "get": (tuple[list[bytes], int, str | None], list[Record | None]),
    "find": (tuple[Query, bytes | None, int, int, bool], Page),
    "tally": (tuple[Query, int], Tallied),
    "place": (tuple[bytes, int], int | None),
    "dead_groups": (tuple[int], list[DeadGroup]),
    "alter": (tuple[list[bytes], Change], list[Altered]),
    "counts": (tuple[()], Counts),
    "read": (tuple[str, list[str]], list[Doc | None]),
    "write": (tuple[list[DocWrite]], list[int]),
    "scan": (tuple[str, str | None, int, str], list[Doc]),
    "stats": (tuple[()], list[Flow]),
    "series": (tuple[float, float | None, int], list[Point]),
    "notify": (tuple[str, bytes], None),
    "reply_channel": (tuple[()], str),
    "capabilities": (tuple[()], Capabilities),
}
"""The arguments and the answer of each call, by position."""


class Request(Struct, tag="request"):
    number: int
    call: str
    args: msgspec.Raw
    wall: float
    mono: float
    pickled: bool = False


class Cancel(Struct, tag="cancel"):
    number: int


class Listen(Struct, tag="listen"):
    number: int
    channels: list[str]


class Answer(Struct, tag="answer"):
    number: int
    value: msgspec.Raw


class Failed(Struct, tag="failed"):
    number: int
    error: str
    text: str


class Heard(Struct, tag="heard"):
    number: int
    hint: Hint


_encode = msgspec.msgpack.encode
_request = msgspec.msgpack.Decoder(Request | Cancel | Listen)
_answer = msgspec.msgpack.Decoder(Answer | Failed | Heard)


def _pack(args: tuple[Any, ...]) -> tuple[msgspec.Raw, bool]:
    """Arguments as bytes. What some tests send on purpose, such as text that is no Unicode, fits no MessagePack."""
    try:
        return msgspec.Raw(_encode(args)), False
    except (UnicodeEncodeError, OverflowError):
        return msgspec.Raw(_encode(pickle.dumps(args))), True


def _unpack(request: Request) -> Any:
    if request.pickled:
        return pickle.loads(msgspec.msgpack.decode(request.args, type=bytes))
    return msgspec.msgpack.decode(request.args, type=CALLS[request.call][0])


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            (length,) = struct.unpack("!I", await reader.readexactly(4))
            yield await reader.readexactly(length)


def _send(writer: asyncio.StreamWriter, message: Struct) -> None:
    frame = _encode(message)
    writer.write(struct.pack("!I", len(frame)) + frame)


class RemoteBackend:
    """The calling side: the calls of a backend, made in the process at the other end of a socket."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._number = 0
        self._waiting: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._hints: dict[int, asyncio.Queue[Hint]] = {}

    async def connect(self, sock: socket.socket) -> None:
        reader, self._writer = await asyncio.open_connection(sock=sock)
        self._reading = asyncio.create_task(self._read(reader))
        await self._ask("start", ())

    async def lost(self) -> None:
        """The process is gone: no call that waits will be answered."""
        self._writer.close()
        await self._reading

    async def call(self, name: str, args: tuple[Any, ...]) -> Any:
        return msgspec.msgpack.decode(await self._ask(name, args), type=CALLS[name][1])

    async def tick(self) -> None:
        """Show the other process the time."""
        await self._ask("tick", ())

    @asynccontextmanager
    async def listen(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Hint]]:
        number = self._next()
        self._hints[number] = asyncio.Queue()
        ready = self._waiting[number] = asyncio.get_running_loop().create_future()
        _send(self._writer, Listen(number, list(channels)))
        await ready
        try:
            yield self._heard(number)
        finally:
            _send(self._writer, Cancel(number))

    async def _heard(self, number: int) -> AsyncIterator[Hint]:
        while True:
            yield await self._hints[number].get()

    def _next(self) -> int:
        self._number += 1
        return self._number

    async def _ask(self, name: str, args: tuple[Any, ...]) -> msgspec.Raw:
        number = self._next()
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        raw, pickled = _pack(args)
        request = Request(number, name, raw, self._clock.wall(), self._clock.monotonic(), pickled)
        _send(self._writer, request)
        try:
            return await answer
        except asyncio.CancelledError:
            _send(self._writer, Cancel(number))
            raise

    async def _read(self, reader: asyncio.StreamReader) -> None:
        async for frame in _frames(reader):
            told = _answer.decode(frame)
            if isinstance(told, Heard):
                self._hints[told.number].put_nowait(told.hint)
                continue
            waiting = self._waiting.pop(told.number)
            if waiting.done():
                continue
            if isinstance(told, Answer):
                waiting.set_result(told.value)
            else:
                waiting.set_exception(_error(told))
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(errors.Unknown("the process was killed before it answered"))


def _error(told: Failed) -> Exception:
    kind = getattr(errors, told.error, None)
    return kind(told.text) if kind is not None else AssertionError(f"{told.error}: {told.text}")


class Server:
    """The serving side: one backend, called by whoever holds the other end of the socket."""

    def __init__(self, make: Callable[[ManualClock], Backend]) -> None:
        self._clock = ManualClock()
        self._make = make
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self, sock: socket.socket) -> None:
        reader, self._writer = await asyncio.open_connection(sock=sock)
        async for frame in _frames(reader):
            message = _request.decode(frame)
            if isinstance(message, Cancel):
                if message.number in self._tasks:
                    self._tasks[message.number].cancel()
                continue
            work = self._listen(message) if isinstance(message, Listen) else self._serve(message)
            task = self._tasks[message.number] = asyncio.create_task(work)
            task.add_done_callback(lambda _, number=message.number: self._tasks.pop(number, None))

    async def _serve(self, request: Request) -> None:
        self._clock.show(request.wall, request.mono)
        try:
            value = await self._call(request)
        except Exception as error:  # whatever it is, the other side must hear of it
            _send(self._writer, Failed(request.number, type(error).__name__, str(error)))
        else:
            _send(self._writer, Answer(request.number, msgspec.Raw(_encode(value))))

    async def _call(self, request: Request) -> Any:
        name = request.call
        if name == "start":
            self._backend = self._make(self._clock)
            return await self._backend.start()
        if name == "tick":
            return None
        args = _unpack(request)
        return await call(self._backend, name, args)

    async def _listen(self, asked: Listen) -> None:
        async with self._backend.listen(asked.channels) as hints:
            _send(self._writer, Answer(asked.number, msgspec.Raw(_encode(None))))
            async for hint in hints:
                _send(self._writer, Heard(asked.number, hint))


async def call(backend: Backend, name: str, args: tuple[Any, ...]) -> Any:
    """Make a call whose arguments came by position."""
    if name in ("reply_channel", "capabilities"):
        return getattr(backend, name)
    if name == "end":
        session, if_beat, started, evidence = args
        return await backend.end(session, if_beat=if_beat, started=started, evidence=evidence)
    if name == "get":
        ids, parts, watch = args
        return await backend.get(ids, Parts(parts), watch)
    if name == "find":
        query, after, limit, parts, ids_only = args
        return await backend.find(query, after, limit, parts=Parts(parts), ids_only=ids_only)
    return await getattr(backend, name)(*args)
