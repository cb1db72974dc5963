"""A TCP proxy that does to connections what networks do: it cuts, drips, says nothing, and forgets.

It stands in front of a server, in threads of its own, so that it also serves a test whose event loop is blocked.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit, urlunsplit

from noria.testing.pipes import WAYS, Pair, Way, reset

_CONNECT: Final = 10.0

Pieces = Callable[[bytes], Iterator[tuple[float, bytes]]]
"""How bytes that came together go on: in pieces, each after a pause in seconds."""


class Proxy:
    """A proxy on a port of its own on this machine, in front of one server. At first everything passes.

    Use it as a context manager, or `close` it. Every method may be called from any thread.

    Args:
        host, port: the server.

    Attributes:
        port: where the proxy listens, on 127.0.0.1.
        accepted: connections that were made to it.
        cuts: connections that `cut_after` has ended.
        passed: bytes that have passed, by their way.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._changed = threading.Condition()
        self._pairs: set[Pair] = set()
        self._left: dict[Way, int] = {}
        self._pieces: dict[Way, Pieces] = {}
        self._silent = self._refusing = self._closed = False
        self.accepted = self.cuts = 0
        self.passed: dict[Way, int] = {"requests": 0, "answers": 0}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, name="noria-proxy", daemon=True)
        self._accepting.start()

    @classmethod
    def before(cls, url: str) -> Self:
        """A proxy in front of the server that a URL names; it must name the port too."""
        parts = urlsplit(url)
        if not parts.hostname or not parts.port:
            raise ValueError("the URL must name the host and the port of the server")
        return cls(parts.hostname, parts.port)

    def through(self, url: str) -> str:
        """The same URL, with this proxy in place of the server."""
        parts = urlsplit(url)
        before, at, _ = parts.netloc.rpartition("@")
        netloc = f"{before}{at}127.0.0.1:{self.port}"
        return urlunsplit((parts.scheme, netloc, parts.path, parts.query, parts.fragment))

    # ---- what it does to connections

    def heal(self) -> None:
        """Let everything pass again. What was held goes on; what was cut or forgotten stays so."""
        with self._changed:
            self._left.clear()
            self._pieces.clear()
            self._silent = self._refusing = False
            self._changed.notify_all()

    def chop(self, chance: random.Random) -> None:
        """Let everything pass in pieces of any size, some of them a little late: TCP promises no more.

        Args:
            chance: what is drawn from; a seeded one gives the same pieces again, as far as the same bytes come.
        """
        self._pass_in(lambda data: _chopped(data, chance), WAYS)

    def drip(self, pause: float, way: Way | None = None) -> None:
        """Let one byte pass at a time, with so many seconds before each.

        Args:
            way: only what goes this way; None is both.
        """
        self._pass_in(
            lambda data: ((pause, data[at : at + 1]) for at in range(len(data))), [way] if way else WAYS
        )

    def silence(self) -> None:
        """Accept connections, and let nothing pass until `heal`; nothing is lost. A server that hangs is like that."""
        with self._changed:
            self._silent = True

    def forget(self) -> None:
        """From now on lose whatever the connections that stand carry, and tell neither end. New ones are as others.

        A peer that lost its power, or a firewall that dropped its table, is like that: half-open.
        """
        with self._changed:
            for pair in self._pairs:
                pair.lost = True
            self._changed.notify_all()

    def refuse(self) -> None:
        """Cut what stands, and reset whoever connects until `heal`. A server that is down is like that."""
        self._refusing = True
        self.cut()

    def cut(self) -> None:
        """Reset every connection that stands."""
        with self._changed:
            for pair in self._pairs:
                pair.end(reset=True)
            self._changed.notify_all()

    def cut_after(self, way: Way, count: int) -> None:
        """Let so many more bytes pass this way, over all connections; then end the one that carried the last of them.

        With 0, the next connection ends that would carry a byte this way. Once; `heal` takes it back.
        """
        with self._changed:
            self._left[way] = count

    def close(self) -> None:
        """End everything, and listen no more. Repeating it does nothing."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        self.cut()
        with contextlib.suppress(OSError):
            # The thread that accepts hears of it in no other way that all systems have.
            socket.create_connection(("127.0.0.1", self.port), timeout=_CONNECT).close()
        self._accepting.join(_CONNECT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _pass_in(self, pieces: Pieces, ways: Iterable[Way]) -> None:
        with self._changed:
            self._pieces.update(dict.fromkeys(ways, pieces))
            self._changed.notify_all()

    # ---- its threads

    def _accept(self) -> None:
        with self._listener:
            while True:
                client, _ = self._listener.accept()
                if self._closed:
                    client.close()
                    return
                self.accepted += 1
                self._meet(client)

    def _meet(self, client: socket.socket) -> None:
        """Connect a client with the server, and carry what they say."""
        try:
            if self._refusing:
                raise ConnectionRefusedError
            server = socket.create_connection(self._target, timeout=_CONNECT)
        except OSError:
            reset(client)
            return
        pair = Pair(client, server)
        with self._changed:
            self._pairs.add(pair)
            if self._closed:
                pair.end(reset=True)
        for way in WAYS:
            threading.Thread(
                target=self._carry, args=(pair, way), name=f"noria-proxy-{way}", daemon=True
            ).start()

    def _carry(self, pair: Pair, way: Way) -> None:
        with contextlib.suppress(OSError):
            while data := pair.receive(way):
                style = self._pieces.get(way)
                for pause, piece in style(data) if style else [(0.0, data)]:
                    self._pause(pair, way, pause, style)
                    granted, last = self._granted(pair, way, piece)
                    pair.send(way, granted)
                    if last:
                        pair.end(reset=False)
        with self._changed:
            if pair.leave(way):
                self._pairs.discard(pair)

    def _pause(self, pair: Pair, way: Way, seconds: float, style: Pieces | None) -> None:
        """Wait, but not longer than the connection lasts, and is to be slow."""
        if seconds > 0:
            with self._changed:
                self._changed.wait_for(lambda: pair.over or self._pieces.get(way) is not style, seconds)

    def _granted(self, pair: Pair, way: Way, piece: bytes) -> tuple[bytes, bool]:
        """How much of a piece may pass, once anything may; and whether that is the last of its connection."""
        with self._changed:
            self._changed.wait_for(lambda: not self._silent or pair.lost or pair.over)
            if pair.lost or pair.over:
                return b"", False
            left = self._left.get(way)
            last = left is not None and len(piece) >= left
            if last:
                del self._left[way]
                self.cuts += 1
            elif left is not None:
                self._left[way] = left - len(piece)
            granted = piece[:left] if last else piece
            self.passed[way] += len(granted)
            return granted, last


_CHOPS: Final = 3
_LATE: Final = 0.002


def _chopped(data: bytes, chance: random.Random) -> Iterator[tuple[float, bytes]]:
    cuts = sorted({0, len(data), *(chance.randint(0, len(data)) for _ in range(_CHOPS))})
    for begin, end in itertools.pairwise(cuts):
        yield chance.choice((0.0, 0.0, 0.0, chance.uniform(0.0, _LATE))), data[begin:end]
