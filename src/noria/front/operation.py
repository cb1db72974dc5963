"""A bulk operation as it is stored: who wanted what done to which jobs, and how far it has come.

Which jobs belong to it is fixed first: their ids are written down in chunks of 500. Then chunk after chunk is changed,
and each chunk is counted in the same step in which it is crossed out. So an operation survives the death of the front
that runs it, at any moment, and counts each job once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from noria.backends.contract import Altered, Board, Change, Doc, DocWrite, Query
from noria.clock import moment
from noria.errors import InvalidOption
from noria.ids import Id, to_text

KIND: Final = "operation"
LIVE: Final = "operation-live"
"""A document for each operation that has not ended, so that fronts find these without reading the others."""
IDS: Final = "operation-ids"
CHUNK: Final = 500
KEPT: Final = 90 * 24 * 3600.0
"""Seconds for which an operation is remembered."""
_ERRORS: Final = 20
_SIZE: Final = 16

Action = Literal["retry", "cancel", "discard", "delete", "move", "set_priority", "run"]


class Params(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an action needs: `queue` for "move", `priority` for "set_priority"; "retry" may have `delay` and `attempts`.

    "cancel" and "discard" may have a `reason`, which goes with each job; else the note does.
    """

    queue: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    delay: float | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class Trouble(Struct, frozen=True):
    """A job that could not be changed, and why."""

    job_id: str
    code: str


class Operation(Struct, frozen=True, kw_only=True):
    """A bulk operation.

    Attributes:
        id: its UUIDv7, as text.
        action, params, note: what is to be done, and why.
        filter: as it was given, for people.
        query: which jobs; None if their ids were given.
        by: the key that wanted it.
        state: "freezing": its jobs are being written down; "running"; "done"; "cancelled".
        rate: jobs a second, at most.
        created, finished: seconds since the epoch.
        after: behind which job freezing goes on.
        chunks: how many were written down; `chunk`, `offset`: where it is in them.
        matched, done, skipped, failed: jobs; skipped are those whose state did not allow it any more.
        errors: the first that failed.
        owner, until: the front that runs it, and until when nobody else should.
    """

    id: str
    action: Action
    params: Params
    note: str
    filter: dict[str, str]
    query: Query | None
    by: str
    state: Literal["freezing", "running", "done", "cancelled"] = "freezing"
    rate: float | None = None
    created: float
    finished: float | None = None
    after: str | None = None
    chunks: int = 0
    chunk: int = 0
    offset: int = 0
    matched: int = 0
    done: int = 0
    skipped: int = 0
    failed: int = 0
    errors: tuple[Trouble, ...] = ()
    owner: str = ""
    until: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether nothing more will be done."""
        return self.state in ("done", "cancelled")

    def change(self) -> Change:
        """What is done to each job.

        Raises:
            InvalidOption: a parameter is out of range.
        """
        given = {
            name: value
            for name in Params.__struct_fields__
            if name != "reason" and (value := getattr(self.params, name)) is not UNSET
        }
        reason = self.params.reason
        if reason is not UNSET and self.action not in ("cancel", "discard"):
            raise InvalidOption(f"{self.action} takes no reason; a note says why", field="reason")
        match self.action:
            case "delete":
                return Change(kind="erase", **given)
            case "set_priority":
                return Change(kind="edit", **given)
            case "cancel" | "discard" as action:
                return Change(kind=action, note=self.note if reason is UNSET else reason, **given)
            case action:
                return Change(kind=action, **given)


_operations: Final = msgspec.json.Decoder(Operation)


class Held(Struct, frozen=True):
    """An operation as it was read, with the version that a write must still find."""

    operation: Operation
    version: int


def name_of(id: str) -> str:
    """The name of its document. Names rise as ids fall, so that a scan meets the newest first."""
    return (((1 << 128) - 1) ^ UUID(id).int).to_bytes(16).hex()


async def read(board: Board, id: str) -> Held | None:
    """An operation; None if there is none."""
    [doc] = await board.read(KIND, [name_of(id)])
    return None if doc is None else held(doc)


def held(doc: Doc) -> Held:
    """The operation in a document."""
    return Held(_operations.decode(doc.data), doc.version)


def creation(operation: Operation, ids: Sequence[Id] = ()) -> list[DocWrite]:
    """The documents that make an operation; with ids, these are its jobs."""
    chunks = [ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK)]
    if ids:
        operation = replace(operation, state="running", chunks=len(chunks), matched=len(ids))
    name = name_of(operation.id)
    live = DocWrite(LIVE, name, operation.id.encode(), if_version=0, ttl=KEPT)
    return [
        _written(operation, 0),
        live,
        *(_chunk(operation, place, each) for place, each in enumerate(chunks)),
    ]


async def update(board: Board, before: Held, after: Operation, *more: DocWrite) -> Held:
    """Write how far an operation has come, with all that belongs to that step.

    Raises:
        Conflict: somebody else has written it meanwhile; nothing was done.
    """
    ending = [DocWrite(LIVE, name_of(after.id), None)] if after.ended else []
    [version, *_] = await board.write([_written(after, before.version), *more, *ending])
    return Held(after, version)


def frozen(operation: Operation, ids: Sequence[Id], after: Id | None) -> tuple[Operation, list[DocWrite]]:
    """The operation with one more chunk of jobs, and what is to be written with it."""
    docs = [_chunk(operation, operation.chunks, ids)] if ids else []
    return replace(
        operation,
        chunks=operation.chunks + len(docs),
        matched=operation.matched + len(ids),
        after=None if after is None else after.hex(),
        state="running" if after is None else "freezing",
    ), docs


async def ids_of(board: Board, operation: Operation) -> list[Id]:
    """The jobs of the chunk in which an operation is."""
    [doc] = await board.read(IDS, [_chunk_name(operation, operation.chunk)])
    data = b"" if doc is None else doc.data
    return [Id(data[place : place + _SIZE]) for place in range(0, len(data), _SIZE)]


def counted(
    operation: Operation, ids: Sequence[Id], answers: Sequence[Altered], left: int
) -> tuple[Operation, list[DocWrite]]:
    """The operation after some jobs of its chunk were changed; `left`: how many of the chunk were not yet."""
    words = [_judged(answer) for answer in answers]
    troubles = [
        Trouble(to_text(id), word)
        for id, word in zip(ids, words, strict=True)
        if word not in ("done", "skipped")
    ]
    after = replace(
        operation,
        done=operation.done + words.count("done"),
        skipped=operation.skipped + words.count("skipped"),
        failed=operation.failed + len(troubles),
        errors=(*operation.errors, *troubles)[:_ERRORS],
        chunk=operation.chunk + (left == 0),
        offset=operation.offset + len(ids) if left else 0,
    )
    return after, [] if left else [DocWrite(IDS, _chunk_name(operation, operation.chunk), None)]


def _judged(answer: Altered) -> str:
    match answer.status:
        case "done" | "asked":
            return "done"
        case "conflict":
            return "unique_conflict"
        case _:
            return "skipped"


def _written(operation: Operation, version: int) -> DocWrite:
    return DocWrite(KIND, name_of(operation.id), msgspec.json.encode(operation), if_version=version, ttl=KEPT)


def _chunk(operation: Operation, place: int, ids: Sequence[Id]) -> DocWrite:
    return DocWrite(IDS, _chunk_name(operation, place), b"".join(ids), ttl=KEPT)


def _chunk_name(operation: Operation, place: int) -> str:
    return f"{name_of(operation.id)}/{place:08}"


def operation_view(operation: Operation) -> dict[str, Any]:
    """An operation as it is shown."""
    return {
        "id": operation.id,
        "action": operation.action,
        "target": "jobs",
        "filter": operation.filter,
        "params": operation.params,
        "state": operation.state,
        "matched": operation.matched,
        "done": operation.done,
        "skipped": operation.skipped,
        "failed": operation.failed,
        "errors": operation.errors,
        "rate": operation.rate,
        "by": operation.by,
        "note": operation.note,
        "created_at": moment(operation.created),
        "finished_at": moment(operation.finished),
    }
