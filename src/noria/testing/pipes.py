"""The two ends of a connection that a proxy carries."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Final, Literal

Way = Literal["requests", "answers"]
"""From the client to the server, or back."""

WAYS: Final[tuple[Way, ...]] = ("requests", "answers")

_CHUNK: Final = 65_536
_AT_ONCE: Final = struct.pack("ii", 1, 0)
_NOW_AND_THEN: Final = struct.pack("ll", 0, 100_000)


class Pair:
    """A client and its server.

    Attributes:
        lost: what they say reaches nobody any more, and neither is told.
        over: it was ended.
    """

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client = client
        self._server = server
        self._left: set[Way] = set()
        self.lost = self.over = False
        for end in (client, server):
            end.settimeout(None)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _NOW_AND_THEN)

    def receive(self, way: Way) -> bytes:
        """Wait for what comes this way; nothing at its end."""
        return (self._client if way == "requests" else self._server).recv(_CHUNK)

    def send(self, way: Way, data: bytes) -> None:
        """Pass something on, unless the connection is over first: a peer may not read for ever."""
        while data and not self.over:
            with contextlib.suppress(BlockingIOError):
                data = data[self._sink(way).send(data) :]

    def end(self, *, reset: bool) -> None:
        """End it at both ends. What was sent before still arrives, unless it is reset."""
        self.over = True
        for end in (self._client, self._server):
            with contextlib.suppress(OSError):
                if reset:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                # A thread that reads would never hear of a close.
                end.shutdown(socket.SHUT_RD if reset else socket.SHUT_RDWR)

    def leave(self, way: Way) -> bool:
        """Nothing comes this way any more: tell the other end. Whether that was the last way, and all is closed."""
        self._left.add(way)
        if not (self.lost or self.over):
            with contextlib.suppress(OSError):
                self._sink(way).shutdown(socket.SHUT_RDWR)
        if len(self._left) < 2:
            return False
        self._client.close()
        self._server.close()
        return True

    def _sink(self, way: Way) -> socket.socket:
        return self._server if way == "requests" else self._client


def reset(end: socket.socket) -> None:
    """Close a connection as one that must not be."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    end.close()
