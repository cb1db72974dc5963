"""What a worker and its processes say to each other: small values in frames, over a socket pair.

A frame is its length in four bytes and one value as MessagePack. Neither side ever gets more from the other than bytes
that decode into one of the shapes below; no code and no object crosses.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from noria.ids import Id
from noria.model.job import Lease, NewJob
from noria.model.limits import MIB
from noria.model.mark import Mark
from noria.worker.raised import Raised

MAX_FRAME: Final = 4 * MIB
"""Bytes of a frame; a body or result has at most one MiB, and everything else about a job is bounded too."""
MAX_LOGGED: Final = 16_000
"""Characters of a log record's message or traceback that cross."""

CUT_OFF: Final = 113
"""The exit code of a process that finds its line closed on its own side."""

_LENGTH: Final = struct.Struct(">I")


class WireError(Exception):
    """The other side said something that is no frame."""


class Hello(Struct, frozen=True, tag=True):
    """The first words of a worker: which application to import, and how.

    Attributes:
        reference: the application, as `locate` reads it.
        modules: to import besides, since they declare tasks.
        tasks: that must be declared then.
        path: where modules are looked for.
        url: the backend, for handlers that enqueue jobs.
        level: from which level on log records are wanted.
        has_state: whether the worker has a lifespan, of which a process knows nothing.
    """

    reference: str
    modules: tuple[str, ...]
    tasks: tuple[str, ...]
    path: tuple[str, ...]
    url: str | None
    level: int
    has_state: bool


class Begin(Struct, frozen=True, tag=True):
    """Run this job."""

    lease: Lease


class Halt(Struct, frozen=True, tag=True):
    """The job of this start should end."""

    id: Id
    starts: int


class Noted(Struct, frozen=True, tag=True):
    """A mark of the job that runs was recorded, or refused: then `refused` says why. `number`: which one."""

    number: int
    refused: str = ""


class Wrote(Struct, frozen=True, tag=True):
    """The handler has something written down; `number` is 0 if it does not wait for that."""

    number: int
    mark: Mark


class Ready(Struct, frozen=True, tag=True):
    """The application is imported; jobs may come."""


class Broken(Struct, frozen=True, tag=True):
    """The application cannot be imported, so no job can come."""

    message: str
    traceback: str


class Returned(Struct, frozen=True, tag=True):
    """The handler returned: its encoded value, the bytes of memory that the process holds now, and its follow-ups.

    `closing`: until when it wants its group closed.
    """

    value: bytes
    codec: str
    memory: int
    follow_ups: tuple[NewJob, ...] = ()
    closing: float = 0.0


class Threw(Struct, frozen=True, tag=True):
    """The handler raised; `short`: for want of memory, so that its process is not to be trusted with another job."""

    raised: Raised
    memory: int
    short: bool = False
    closing: float = 0.0


class Logged(Struct, frozen=True, tag=True):
    """Something was logged in the process; the worker logs it as its own."""

    logger: str
    level: int
    message: str
    traceback: str


FromWorker = Hello | Begin | Halt | Noted
FromProcess = Ready | Broken | Returned | Threw | Logged | Wrote

T = TypeVar("T")


def reader(shape: type[T]) -> Callable[[bytes], T]:
    """What makes a value of this shape of a frame; whatever else the frame holds is a `WireError`."""
    decode = msgspec.msgpack.Decoder(shape).decode

    def read(data: bytes) -> T:
        try:
            return decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise WireError(f"a frame that says nothing: {str(error) or type(error).__name__}") from None

    return read


from_worker: Final[Callable[[bytes], FromWorker]] = reader(FromWorker)  # type: ignore[arg-type]  # a union is no type
from_process: Final[Callable[[bytes], FromProcess]] = reader(FromProcess)  # type: ignore[arg-type]  # as above


def frame(said: Struct) -> bytes:
    """One value as bytes to send."""
    data = msgspec.msgpack.encode(said)
    return _LENGTH.pack(len(data)) + data


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that are whole now.

        Raises:
            WireError: a frame is larger than any that could be meant.
        """
        self._rest += data
        while len(self._rest) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._rest)
            if size > MAX_FRAME:
                raise WireError(f"a frame of {size} bytes, {MAX_FRAME} are allowed")
            if len(self._rest) < _LENGTH.size + size:
                return
            whole = bytes(self._rest[_LENGTH.size : _LENGTH.size + size])
            del self._rest[: _LENGTH.size + size]
            yield whole
