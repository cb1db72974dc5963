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
from noria.model.state import State

_encode = msgspec.json.Encoder().encode


class Answer(Struct):
    """The answer to a change of one job, and what is to be written if nothing happens meanwhile."""

    altered: Altered
    write: Write | None = None


class Case(Struct):
    """A change of one job that exists, with all that a decision needs."""

    seen: Seen
    head: Head
    change: Change
    now: int
    settings: Settings

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
        recorded = {"change": changed(self.change), **(parts or {})}
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
