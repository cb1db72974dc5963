"""Bodies and results too large for their row: kept beside it, so that changes of state do not copy them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from noria.backends.sqlite.rows import encode, from_bytes
from noria.backends.sqlite.settings import BLOB_CHUNK
from noria.backends.sqlite.transaction import Transaction

BODY: Final = 0
RESULT: Final = 1

Large = tuple[str, bytes, str]
"""An id as hex, the value, its codec."""


def store(work: Transaction, part: int, values: Iterable[Large]) -> None:
    """Store large values, as many in one statement as it can well take."""
    for chunk in _chunks(values):
        work.run("store_blobs", encode([(id, part, *from_bytes(value, codec)) for id, value, codec in chunk]))


def drop(work: Transaction, ids: Sequence[str], part: int) -> None:
    """Drop the large values of jobs from this part on."""
    if ids:
        work.run("drop_blobs", encode(ids), part)


def _chunks(values: Iterable[Large]) -> Iterable[list[Large]]:
    chunk: list[Large] = []
    size = 0
    for value in values:
        if chunk and size + len(value[1]) > BLOB_CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(value)
        size += len(value[1])
    if chunk:
        yield chunk
