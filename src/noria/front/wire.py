"""HTTP on the wire, by uvicorn and httptools: with bounds on the head of a request, and failures in the one shape."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from noria.clock import SystemClock
from noria.front import limits
from noria.front.problem import Problem
from noria.ids import IdSource, to_text

log = logging.getLogger("noria.front")

_REFUSALS: Final = {
    "bad_request": (b"Bad Request", "this is no HTTP request that could be understood"),
    "read_timeout": (b"Request Timeout", f"the head of the request took more than {limits.READ_TIME:g} s"),
    "head_too_large": (
        b"Request Header Fields Too Large",
        f"the head of the request has more than {limits.HEADERS:,} bytes",
    ),
}
"""What is refused before there is a request, by `code`: the phrase, and the detail."""


_FIELD: Final = len(": \r\n")
_LINE: Final = len("  HTTP/1.1\r\n\r\n")
"""What stands between the parts of a head, in bytes."""


class TooLong(Exception):
    """The head of a request is longer than the limit."""


class Wire(HttpToolsProtocol):
    """One connection. A head that is too long or too slow ends it, and so does a client that does not read.

    uvicorn itself bounds none of these; and a connection that is only closed stays until its client has read all.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._in_head = True
        self._head = 0
        self._fault = "bad_request"
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """A client has come."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has left."""
        self._unwatch()
        self._taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client is behind with what it reads."""
        super().pause_writing()
        self._await_reading()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._taken()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """A piece of a request, or of several."""
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self.transport.is_closing() or not self._in_head:
            return
        if self._head > limits.HEADERS:
            self._refuse("head_too_large")
        elif self._timer is None:
            self._watch()

    def on_message_begin(self) -> None:
        """The head of a request begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head of a request is complete."""
        self._unwatch()
        self._in_head, self._head = False, 0
        fields = sum(len(name) + len(value) + _FIELD for name, value in self.headers)
        if fields + len(self.parser.get_method()) + len(self.url) + _LINE > limits.HEADERS:
            self._fault = "head_too_large"
            raise TooLong
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A request is complete; the next may follow."""
        self._in_head, self._head = True, 0
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a client may offer another protocol, and is answered in this one."""

    def send_400_response(self, msg: str) -> None:
        """What came is no request."""
        self._refuse(self._fault)

    def _watch(self) -> None:
        self._timer = self.loop.call_later(limits.READ_TIME, self._late)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        idle = self.cycle is None or self.cycle.response_complete
        if idle and not self.transport.is_closing():
            self._refuse("read_timeout")

    def _await_reading(self) -> None:
        size = self.transport.get_write_buffer_size()
        self._unread = self.loop.call_later(limits.UNREAD, self._look_whether_read, size)

    def _taken(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _look_whether_read(self, size: int) -> None:
        """Cut the connection off if nothing was taken of what waited to be sent; else wait on."""
        if self.transport.get_write_buffer_size() < size:
            self._await_reading()
        else:
            self.transport.abort()

    def _refuse(self, code: str) -> None:
        phrase, detail = _REFUSALS[code]
        instance = f"urn:uuid:{to_text(IdSource(SystemClock()).next())}"
        problem = Problem(code, detail)
        body = bytes(problem.response(instance, self.root_path).body)
        log.debug("a connection is refused: %s (%s)", detail, instance)
        head = (
            b"HTTP/1.1 %d %s\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
            b"cache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head % (problem.status, phrase, len(body)) + body)
        self.transport.close()
