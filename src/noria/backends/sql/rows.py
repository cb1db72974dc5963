"""Rows as they cross the border to SQL: JSON arrays, read into structs by position.

Ids cross as hex. Bytes cross as text if they are text that JSON and SQL both carry unchanged, else as hex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from noria.ids import Id
from noria.model.job import NO_EXTRAS, Extras
from noria.model.outcome import Failure, Tally

T = TypeVar("T")

Bytes = tuple[str | None, str | None]
"""A value of bytes: as text or as hex, of which one is None; both are, if there is no value."""

STALE, HELD, ENDED = range(3)
"""What a fence says: the start is another's or unknown; this session holds it; this session has ended it."""

DEADLINE, TOO_OLD = 1, 2
"""Why a job expires that was to begin in time: its deadline is past, or it is older than its queue lets jobs become."""

_encoder = msgspec.json.Encoder()
to_id = cast("Callable[[str], Id]", bytes.fromhex)
"""An id that crossed as hex. The very function of `bytes`: it is called for every job, three times and more."""

_extras = msgspec.json.Decoder(Extras)
_failure = msgspec.json.Decoder(Failure)


class Held(Struct, array_like=True, gc=False):
    """A row of `lease_read.sql`; a large body has a `key` in its stead, and a group is filled in by who took it.

    `checkpoint`, `asked`: what earlier starts have left.
    """

    id: str
    state: int
    starts: int
    task: str
    queue: str
    codec: str
    spent: int
    attempts: int
    crashes: int
    crash_budget: int
    releases: int
    snoozes: int
    priority: int
    created: int
    deadline: int | None
    extras: str | None
    text: str | None
    hex: str | None
    key: int | None
    checkpoint: str | None = None
    asked: str | None = None
    family: str | None = None
    group_key: str | None = None


class Fenced(Struct, array_like=True, gc=False):
    """A row of `settle_look_done.sql`; `fence` is one of `STALE`, `HELD`, `ENDED`."""

    fence: int
    queue: str = ""
    task: str = ""
    reply: str | None = None
    keep: int | None = None
    spilled: int = 0
    awaited: int = 0
    family: str | None = None
    group_key: str | None = None
    gate: str | None = None


class Running(Struct, array_like=True, gc=False):
    """A row of `settle_look.sql` and `held_pick.sql`; `fence` is one of `STALE`, `HELD`, `ENDED`.

    `cancel`: why its cancellation was asked for, which may be empty; None if it was not.
    """

    fence: int
    id: str
    starts: int
    queue: str = ""
    task: str = ""
    reply: str | None = None
    cancel: str | None = None
    spent: int = 0
    attempts: int = 0
    crashes: int = 0
    crash_budget: int = 0
    releases: int = 0
    snoozes: int = 0
    rank: int = 0
    priority: int = 0
    due: int = 0
    expires: int | None = None
    deadline: int | None = None
    began: int | None = None
    awaited: int = 0
    family: str | None = None
    group_key: str | None = None
    gate: str | None = None


class Due(Struct, array_like=True, gc=False):
    """A row of `due_pick.sql`. `placed`: it has a place in its group."""

    id: str
    queue: str
    state: int
    family: str | None = None
    group_key: str | None = None
    placed: int = 0


class Waiting(Struct, array_like=True, gc=False):
    """A row of `lapsed_pick.sql` and `parked_pick.sql`. `late`: `DEADLINE`, `TOO_OLD`, or 0 if it should have begun.

    `awaited`: others wait for its end. `placed`: it has a place in its group.
    """

    id: str
    queue: str
    task: str
    state: int
    reply: str | None
    late: int
    awaited: int = 0
    family: str | None = None
    group_key: str | None = None
    placed: int = 0


class Altering(Struct, array_like=True, gc=False):
    """A row of `alter_look.sql`; `state` is 0 if there is no such job, `erased` says that there was one.

    `unique_key`: the one that it holds, or takes again with a retry. `holder`: who has that meanwhile, and until when
    if it does so for a time of its own.
    `changed`: the last change by a person, as JSON, as long as nothing has happened to the job since.
    """

    id: str
    state: int
    erased: int
    queue: str = ""
    task: str = ""
    unique_key: str | None = None
    holder: tuple[str, int | None] | None = None
    dead: int = 0
    session: int = 0
    starts: int = 0
    priority: int = 0
    due: int = 0
    expires: int | None = None
    deadline: int | None = None
    begun: int = 0
    reply: str | None = None
    changed: str | None = None
    extras: str | None = None
    asks: int = 0
    awaited: int = 0
    family: str | None = None
    group_key: str | None = None
    placed: int = 0
    pending: int = 0


class Waiter(Struct, array_like=True, gc=False):
    """A row of `await_look.sql`. `pending`: how many it waits for; `spoiled`: one did not succeed."""

    id: str
    queue: str
    task: str
    lane: int
    reply: str | None
    pending: int
    spoiled: int
    on: str | None
    priority: int
    due: int
    awaited: int
    family: str | None
    group_key: str | None


class Row(Struct, array_like=True, gc=False):
    """A row of `records.sql`. `marked`: the version of its marks; `question`: what it asks now."""

    id: str
    task: str
    queue: str
    state: int
    version: int
    dead: int
    priority: int
    created: int
    due: int
    began: int | None
    finished: int | None
    expires: int | None
    deadline: int | None
    session: int
    worker: str
    starts: int
    spent: int
    attempts: int
    crashes: int
    crash_budget: int
    releases: int
    snoozes: int
    unique_key: str | None
    keep: int | None
    cancelling: int
    asked: int | None
    failure: str | None
    extras: str | None
    codec: str
    result_codec: str | None
    log: str | None
    past: str | None
    body_text: str | None
    body_hex: str | None
    result_text: str | None
    result_hex: str | None
    linked: str | None
    marked: int
    emitted: int
    progress: float | None
    note: str | None
    noted: int | None
    question: str | None
    awaits: str | None = None
    family: str | None = None
    group_key: str | None = None
    gate: str | None = None


def encode(value: object) -> str:
    """JSON text for a statement."""
    return _encoder.encode(value).decode()


def decode(text: str | bytes | list[Any], type: type[T]) -> T:
    """Read what a statement returned."""
    if isinstance(text, list):  # a caller's own driver has read the JSON already, if it is told to
        return msgspec.convert(text, type)
    return msgspec.json.decode(text, type=type)


def to_bytes(text: str | None, hex: str | None) -> bytes | None:
    """Bytes that crossed in one of both forms."""
    if text is not None:
        return text.encode()
    return None if hex is None else bytes.fromhex(hex)


def from_bytes(value: bytes | None, codec: str) -> Bytes:
    """Bytes on their way in. Only a text codec is tried as text; NUL would end a text in SQL."""
    if value is None:
        return None, None
    if codec == "json" and b"\0" not in value:
        try:
            return value.decode(), None
        except UnicodeDecodeError:
            pass
    return None, value.hex()


def read_extras(text: str | None) -> Extras:
    """Extras as they are stored: NULL where there are none.

    What a version of ours cannot read must not keep the job from being leased, seen or cancelled.
    """
    try:
        return NO_EXTRAS if text is None else _extras.decode(text)
    except msgspec.DecodeError:
        return NO_EXTRAS


def write_extras(extras: Extras) -> str | None:
    """Extras for their column.

    Raises:
        ValueError: they would not read back.
    """
    if extras is NO_EXTRAS:
        return None
    text = encode(extras)
    try:
        _extras.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"its extras do not fit their types: {error}") from error
    return text


def read_failure(text: str | None) -> Failure | None:
    """A failure as it is stored."""
    return None if text is None else _failure.decode(text)


def tally_of(row: Held | Row | Running) -> Tally:
    """The counters of a row."""
    return Tally(row.spent, row.attempts, row.crashes, row.crash_budget, row.releases, row.snoozes)
