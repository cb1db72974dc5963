"""Ids and randomness, injected: the only file that asks the system for entropy."""

from __future__ import annotations

import os
import random
import re
import struct
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import NewType

from noria.clock import Clock
from noria.errors import InvalidInput, shown

Id = NewType("Id", bytes)
"""A job's id: the 16 bytes of a UUIDv7 (RFC 9562 section 5.7)."""

SessionId = NewType("SessionId", int)
"""A worker's session: a random positive integer below 2**63, unique per start."""

Entropy = Callable[[int], bytes]
"""Gives that many random bytes."""

_generation = 0


def _forked() -> None:
    global _generation
    _generation += 1


os.register_at_fork(after_in_child=_forked)

_FORM = re.compile(
    r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)

_VERSION = 7
_VARIANT = 2
_STEPS = 32
_pack = struct.Struct(">QQ").pack
_unpack = struct.Struct(">HQ").unpack
_unpack_steps = struct.Struct(f">{_STEPS}I").unpack


def system_entropy(size: int) -> bytes:
    """Random bytes of the operating system."""
    return os.urandom(size)


def jitter_source(entropy: Entropy) -> random.Random:
    """A fast generator for jitter, seeded once from `entropy`; never for secrets."""
    return random.Random(entropy(16))  # noqa: S311 - spreads retries in time, protects nothing


def seeded(seed: int) -> random.Random:
    """A generator that gives the same for the same seed, for simulations; never for secrets."""
    return random.Random(seed)  # noqa: S311 - repeatability is the point


class IdSource:
    """Makes UUIDv7 ids that rise strictly within one process, so that ids order jobs as they were enqueued.

    Within one millisecond the random part is raised by a random step (RFC 9562 section 6.2, method 2).
    Safe to share between threads, and a forked child goes its own way.
    """

    def __init__(self, clock: Clock, entropy: Entropy = system_entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._lock = threading.Lock()
        self._millis = -1
        self._head = 0
        self._tail = 0
        self._steps: Iterator[int] = iter(())
        self._generation = _generation

    def next(self) -> Id:
        """A new id, greater than every id that this source has given before."""
        with self._lock:
            if self._generation != _generation:
                # In a forked child: what the parent goes on to use must not be used here.
                self._generation, self._millis, self._steps = _generation, -1, iter(())
            millis = int(self._clock.wall() * 1000)
            if millis > self._millis:
                self._begin(millis)
            else:
                self._tail += 1 + next(self._steps, 0)
            return Id(_pack(self._head, self._tail))

    def session(self) -> SessionId:
        """A new random session id."""
        return SessionId((int.from_bytes(self._entropy(8)) >> 1) or 1)

    def _begin(self, millis: int) -> None:
        """A new millisecond: a new random part, and random steps for the ids that follow within it."""
        twelve, low = _unpack(self._entropy(10))
        self._millis = millis
        self._head = (millis << 16) | (_VERSION << 12) | (twelve >> 4)
        # The bit under the variant stays free, so that steps within the millisecond cannot overflow.
        self._tail = (_VARIANT << 62) | (low >> 3)
        self._steps = iter(_unpack_steps(self._entropy(_STEPS * 4)))


def to_text(id: Id) -> str:
    """The id as people and REST write it: a UUID in its canonical form."""
    text = id.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def of_hex(hex: str) -> str:
    """The same of an id that is stored as hex; empty if there is none, or it is not one."""
    return f"{hex[:8]}-{hex[8:12]}-{hex[12:16]}-{hex[16:20]}-{hex[20:]}" if len(hex) == 32 else ""


def from_text(text: str | uuid.UUID) -> Id:
    """Read an id that a person or program wrote, or holds as a UUID.

    Raises:
        InvalidInput: it is not a UUID.
    """
    if isinstance(text, uuid.UUID):
        return Id(text.bytes)
    # Of all that uuid.UUID would read, only the form in which ids are written.
    if not isinstance(text, str) or not _FORM.fullmatch(text):
        raise InvalidInput(f"{shown(text)} is not a job id; a job id is a UUID", field="id")
    return Id(uuid.UUID(text).bytes)
