"""Clients of a front, as cheap as they can be, so that the front is what is measured: requests made beforehand,
answers read by their length."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, cast

import uvloop

from bench.answer import answer

_WARM = 50


class Connection(asyncio.Protocol):
    """One keep-alive connection with one request on its way at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._data = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; the status and body of its answer."""
        assert self._transport is not None, "connected before"
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end or self._answer is None:
            return
        fields = head.lower().split(b"\r\n")
        length = next(int(each[15:]) for each in fields if each.startswith(b"content-length:"))
        if len(body) >= length:
            self._data = b""
            self._answer.set_result((int(head.split(b" ", 2)[1]), body))

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionError("the front hung up"))


async def _connect(port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


def _request(port: int, method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Content-Type: application/json\r\n\r\n" + body


async def posts(*, port: int, n: int, clients: int) -> dict[str, float]:
    """Enqueue n jobs over that many connections; the seconds that it took."""
    connections = [await _connect(port) for _ in range(clients)]
    request = _request(port, "POST", "/v1/jobs", b'{"task":"echo","args":{"n":7}}')

    async def client(connection: Connection, count: int) -> None:
        for _ in range(count):
            status, body = await connection.ask(request)
            assert status == 202, body

    await asyncio.gather(*(client(each, 1) for each in connections))
    start = time.perf_counter()
    await asyncio.gather(*(client(each, n // clients) for each in connections))
    return {"seconds": time.perf_counter() - start}


async def calls(*, port: int, n: int) -> list[float]:
    """Milliseconds of n calls that wait for their values, one after another."""
    request = _request(port, "POST", "/v1/call/echo", b'{"n":7}')
    return await _one_by_one(port, request, n, b"7")


async def pages(*, port: int, n: int) -> list[float]:
    """Milliseconds of n first pages of all jobs, one after another."""
    return await _one_by_one(port, _request(port, "GET", "/v1/jobs"), n, None)


async def _one_by_one(port: int, request: bytes, n: int, expected: bytes | None) -> list[float]:
    connection = await _connect(port)
    found = []
    for _ in range(n + _WARM):
        start = time.perf_counter()
        status, body = await connection.ask(request)
        found.append((time.perf_counter() - start) * 1000)
        assert status == 200 and (expected is None or body == expected), (status, body[:200])
    return found[_WARM:]


def _run(role: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    def run(**question: Any) -> Any:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(role(**question))

    return run


if __name__ == "__main__":
    answer({role.__name__: _run(role) for role in (posts, calls, pages)})
