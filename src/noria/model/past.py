"""What is remembered of a job that a person has had run again: how it had ended, and the arguments that it lost."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from noria.model.outcome import Failure
from noria.model.state import State

MAX_LIVES: Final = 10
"""How many of them a job remembers; the oldest go first."""
MAX_KEPT: Final = 65_536
"""Bytes of arguments that are kept."""


class Life(Struct, frozen=True, omit_defaults=True):
    """One life of a job: from its push, or from a retry, to the retry that ended it.

    Attributes:
        number: which it was, from 1; so that of the last one says how often the job was retried.
        state: how it had ended.
        retried: when it was retried, in seconds since the epoch.
        starts: how often the job had been started by then, in all its lives.
        failure: why it had not succeeded, without the traceback.
        note: why it was retried.
        edited: its arguments were replaced; `body` are the old ones.
        body: None if they were not replaced, or were larger than is kept.
    """

    number: int
    state: State
    retried: float
    starts: int
    failure: Failure | None = None
    note: str = ""
    edited: bool = False
    body: bytes | None = None
    codec: str = "json"


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[Life, ...]).decode


def read_past(text: str | bytes | None) -> tuple[Life, ...]:
    """Past lives as they are stored, the oldest first."""
    return () if text is None else _decode(text)


def write_past(past: tuple[Life, ...]) -> bytes:
    """Past lives for the store."""
    return _encode(past)


def one_more(past: tuple[Life, ...], life: Life) -> tuple[Life, ...]:
    """The past of a job with the life that ends now; its number follows from the last one."""
    number = past[-1].number + 1 if past else 1
    failure = None if life.failure is None else replace(life.failure, traceback="")
    return (*past, replace(life, number=number, failure=failure))[-MAX_LIVES:]
