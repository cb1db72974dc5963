"""What a commit tells those who wait: outcomes on reply channels, and wake-ups without words on others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import structs

from noria.backends.contract import Channel, Outline
from noria.backends.sqlite.transaction import Transaction
from noria.model.limits import MAX_HINT

Note = tuple[Channel, bytes]
"""A hint to send: its channel and payload."""

LARGEST: Final = MAX_HINT - 2
"""Bytes of an outline that still go along; the value of a larger one has to be read."""


def notes_of(work: Transaction) -> list[Note]:
    """Everything that a transaction has to say once it is committed."""
    told = [(channel, payload) for channel, lines in work.outlines.items() for payload in pack(lines)]
    return told + [(channel, b"") for channel in sorted(work.wake)]


def pack(outlines: Iterable[Outline]) -> Iterator[bytes]:
    """Outlines as JSON lists, none of them longer than a hint may be."""
    portion: list[bytes] = []
    size = 2
    for outline in outlines:
        line = _fit(outline)
        if portion and size + len(line) + 1 > MAX_HINT:
            yield _join(portion)
            portion, size = [], 2
        portion.append(line)
        size += len(line) + 1
    if portion:
        yield _join(portion)


def _fit(outline: Outline) -> bytes:
    line = msgspec.json.encode(outline)
    if len(line) <= LARGEST:
        return line
    return msgspec.json.encode(structs.replace(outline, result=None))


def _join(lines: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(lines) + b"]"
