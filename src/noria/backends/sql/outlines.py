"""What a commit tells those who wait: outcomes on reply channels, and on others that there is work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import structs

from noria.backends.bells import lane_payload
from noria.backends.bus import Note
from noria.backends.contract import Outline
from noria.backends.sql.transaction import Transaction
from noria.model.limits import MAX_HINT

LARGEST: Final = MAX_HINT - 2
"""Bytes of an outline that still go along; the value of a larger one has to be read."""


_SURELY_FITS: Final = LARGEST // 8
"""Characters of a value that fit whatever JSON makes of them."""


def notes_of(work: Transaction) -> list[Note]:
    """Everything that a transaction has to say once it is committed."""
    told = [(channel, payload) for channel, lines in work.outlines.items() for payload in pack(lines)]
    woken = [(channel, lane_payload(lane)) for channel, lane in sorted(work.wake.items())]
    return told + woken + work.hints


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


def tells(outline: Outline, result: bytes | None) -> bool:
    """Whether who hears this outcome need not read the value: there is none, or it is text that fits into a hint."""
    if result is None or outline.result is None:
        return result is None
    return len(outline.result) < _SURELY_FITS or len(msgspec.json.encode(outline)) <= LARGEST


def _fit(outline: Outline) -> bytes:
    line = msgspec.json.encode(outline)
    if len(line) <= LARGEST:
        return line
    return msgspec.json.encode(structs.replace(outline, result=None))


def _join(lines: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(lines) + b"]"
