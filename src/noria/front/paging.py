"""Cursors: a list goes on behind the last item seen, whatever was added or has vanished meanwhile."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Final

import msgspec

from noria.front.problem import Problem

_CHECK: Final = 6
"""Bytes of a cursor that tell of which list it is."""


def cursor(last: bytes, filter: object) -> str:
    """Where the next page begins."""
    return urlsafe_b64encode(_mark(filter) + last).decode().rstrip("=")


def place(text: str | None, filter: object, size: int | None = 16) -> bytes | None:
    """What a cursor says.

    Raises:
        Problem: it is none, or of a list with another filter.
    """
    if text is None:
        return None
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        found = b""
    if found[:_CHECK] != _mark(filter) or (size is not None and len(found) != _CHECK + size):
        raise Problem(
            "bad_cursor", "the cursor is none of ours, or of a list with another filter; begin again"
        )
    return found[_CHECK:]


def _mark(filter: object) -> bytes:
    return blake2b(msgspec.json.encode(filter, order="deterministic"), digest_size=_CHECK).digest()


def limit_of(text: str | None, most: int, usual: int, name: str = "limit") -> int:
    """How long a page is to be.

    Raises:
        Problem: it is no number from 1 to `most`.
    """
    if text is None:
        return usual
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most:
        return int(text)
    raise Problem("bad_filter", f"{name} is a whole number from 1 to {most}")
