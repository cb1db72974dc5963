"""What is decided about a change: the answer, what is to be written, and how the change is recorded with the job."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec
from msgspec import Struct, structs, to_builtins

from noria.backends.contract import Altered, Change
from noria.backends.redis.heads import Head
from noria.backends.redis.settings import Settings
from noria.backends.redis.writes import Seen, Write
from noria.model.job import Record
from noria.model.state import State

_encode = msgspec.json.Encoder().encode


class Answer(Struct):
    """The answer to a change of one job, and what is to be written if nothing happens meanwhile."""

    altered: Altered
    write: Write | None = None


class Case(Struct):
    """A change of one job that exists, with all that a decision needs; the record only if it is to be run again."""

    seen: Seen
    head: Head
    change: Change
    now: int
    settings: Settings
    record: Record | None = None

    @property
    def state(self) -> State:
        """Where the job stands."""
        return State(self.head.state)

    def done(self, write: Write | None = None) -> Answer:
        """It is, or will be with this, as was asked."""
        state = self.state if write is None else State(write.head.state)
        return Answer(Altered("done", state), write)

    def refused(self) -> Answer:
        """Its state does not allow it."""
        return Answer(Altered("refused", self.state))

    def recorded(self, change: bytes) -> bytes:
        """A change for the record, beside what the job remembers."""
        return with_past(change, past_of(self.seen.change))

    def write(
        self,
        head: Head,
        parts: Mapping[str, bytes | bool] | None = None,
        *,
        prune_at: float = 0.0,
        wake: bool = False,
        ask: str | None = None,
    ) -> Write:
        """What makes the head this, and records the change with the job."""
        recorded = {"change": self.recorded(changed(self.change)), **(parts or {})}
        return Write(
            self.seen.id, self.head.version, head, prune_at=prune_at, parts=recorded, wake=wake, ask=ask
        )


def asked(change: Change, now: int) -> bytes:
    """A cancel that the worker was told of, for the record, with the time of asking in milliseconds."""
    return _encode({**to_builtins(change), "asked": now})


def changed(change: Change) -> bytes:
    """A change for the record, by which its repetition is known. A new body is stored itself, here its digest."""
    if change.body is None:
        return _encode(change)
    digest = hashlib.blake2b(change.body, digest_size=16).hexdigest()
    return _encode({**to_builtins(structs.replace(change, body=None)), "body": digest})


class _Remembered(Struct):
    """What a job remembers, beside its last change by a person."""

    past: msgspec.Raw = msgspec.Raw(b"")


_decode_past = msgspec.json.Decoder(_Remembered).decode


def past_of(stored: bytes | None) -> bytes:
    """The past lives of a job, as JSON; empty if it has none. They stand with its last change, since few have any."""
    return b"" if stored is None else bytes(_decode_past(stored).past)


def with_past(change: bytes, past: bytes) -> bytes:
    """A change for the record, with the past of its job."""
    return change if not past else change[:-1] + b',"past":' + past + b"}"


def same_change(stored: bytes | None, change: Change) -> bool:
    """Whether the last change of a job was this one."""
    return stored is not None and stored == with_past(changed(change), past_of(stored))
