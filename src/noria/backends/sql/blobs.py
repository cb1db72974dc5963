"""Bodies and results too large for their row: kept beside it, so that changes of state do not copy them.

The row holds the key instead of the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, count

from noria.backends.sql.rows import Bytes, decode, encode, from_bytes
from noria.backends.sql.settings import BLOB_CHUNK
from noria.backends.sql.transaction import Transaction

Large = tuple[int, bytes, str]
"""A key, the value, its codec."""


def keys(work: Transaction) -> Iterator[int]:
    """Free keys; the store is not asked before the first one is wanted."""
    yield from count(work.row("next_blob")[0])


def store(work: Transaction, values: Iterable[Large]) -> None:
    """Store large values, as many in one statement as it can well take."""
    for chunk in _chunks(values):
        work.run("store_blobs", encode([(key, *from_bytes(value, codec)) for key, value, codec in chunk]))


def fitting(work: Transaction, keys: Sequence[int | None], most: int) -> int:
    """How many of these values, from the first on, have no more bytes together; at least one."""
    sizes = accumulate(decode(work.row("blob_sizes", encode(keys))[0], list[int]))
    return max(1, sum(size <= most for size in sizes))


def read(work: Transaction, keys: Sequence[int | None]) -> list[Bytes]:
    """Values by their keys."""
    return decode(work.row("blob_read", encode(keys))[0], list[Bytes])


def drop(work: Transaction, ids: Sequence[str], *, bodies: bool) -> None:
    """Drop the results of these jobs, and their bodies if it says so; the rows still hold the keys."""
    if ids and work.settings.spill is not None:
        work.run("drop_blobs", encode(ids), bodies)


def _chunks(values: Iterable[Large]) -> Iterator[list[Large]]:
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
