"""The line between a supervisor and one worker process: whoever is gone, the other hears of it at once.

The supervisor tells of processes that have died, so that their jobs run again without a wait. The worker tells when
it works, and when it wants to be replaced. When the supervisor is gone, the worker drains.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct

from noria.backends.contract import Evidence
from noria.worker.wire import Frames, WireError, frame, reader

_CHUNK: Final = 65_536


class Working(Struct, frozen=True, tag=True):
    """From a worker: it has a session, and leases jobs."""


class Leaving(Struct, frozen=True, tag=True):
    """From a worker: it drains, and another process should take its place."""

    why: str


class Obituary(Struct, frozen=True, tag=True):
    """From the supervisor: a process has died, and this is what was seen of it."""

    evidence: Evidence


Words = Working | Leaving | Obituary

_read: Final[Callable[[bytes], Words]] = reader(Words)  # type: ignore[arg-type]  # a union is no type


class Tether:
    """One end of the line; anything may be said from any thread."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._lock = threading.Lock()

    @classmethod
    def at(cls, file: int) -> Tether:
        """The end that was given to this process as an open file; what it starts does not get it.

        Raises:
            OSError: it is no socket.
        """
        line = socket.socket(fileno=file)
        line.set_inheritable(False)
        return cls(line)

    def say(self, words: Words) -> None:
        """Tell the other side; nothing happens if it is gone, or has not listened for long."""
        with self._lock, contextlib.suppress(OSError):
            self._line.sendall(frame(words), socket.MSG_DONTWAIT)

    def hear(self) -> Iterator[Words]:
        """Everything that the other side says, until it is gone."""
        frames = Frames()
        with contextlib.suppress(OSError, WireError):
            while data := self._line.recv(_CHUNK):
                for each in frames.feed(data):
                    yield _read(each)

    def listen(self, name: str, told: Callable[[Words], Any], gone: Callable[[], Any]) -> None:
        """Hear in a thread of its own, for as long as the other side is there."""

        def hear() -> None:
            for words in self.hear():
                told(words)
            gone()

        threading.Thread(target=hear, name=name, daemon=True).start()

    def close(self) -> None:
        """Let go of the line."""
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
