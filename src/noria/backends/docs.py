"""What every backend asks of documents, and what it says when they conflict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from noria.backends.contract import DocWrite, Version
from noria.errors import Conflict, InvalidInput, TooLarge, shown
from noria.model.limits import MAX_DELAY, MAX_DOC, MIB
from noria.model.names import MAX_KEY, check_text

Address = tuple[str, str]
"""Kind and name of a document."""

MAX_KIND: Final = 64
PAGE_BYTES: Final = 4 * MIB
"""Bytes of documents that one scan reads, unless the first has more."""


def check(docs: Iterable[DocWrite]) -> None:
    """Refuse what cannot be stored.

    Raises:
        InvalidInput: a name has a form that is not allowed, a document is too large, or one is written twice.
    """
    seen: set[Address] = set()
    for doc in docs:
        check_names(doc.kind, doc.name)
        if doc.data is not None and len(doc.data) > MAX_DOC:
            raise TooLarge(f"document {_label(doc)} has {len(doc.data)} bytes, and {MAX_DOC} is the limit")
        if doc.ttl is not None and not 0 < doc.ttl <= MAX_DELAY:
            raise InvalidInput(f"document {_label(doc)} cannot be kept for {doc.ttl:g} seconds", field="ttl")
        if address(doc) in seen:
            raise InvalidInput(f"document {_label(doc)} is written twice in one call", field="docs")
        seen.add(address(doc))


def check_names(kind: str, *names: str) -> None:
    """Refuse names in a form that is not allowed: `InvalidInput`."""
    check_text("kind", kind, MAX_KIND)
    for name in names:
        check_text("name", name, MAX_KEY)


def conflict(docs: Sequence[DocWrite], versions: Mapping[Address, Version]) -> Conflict:
    """The error for these documents, which are not of the versions that were expected, given those that there are."""
    what = ", ".join(f"{_label(doc)} {_standing(versions[address(doc)])}" for doc in docs[:5])
    return Conflict(
        f"nothing was written: {what}; read again, then decide", documents=tuple(map(address, docs))
    )


def address(doc: DocWrite) -> Address:
    """Kind and name of a document."""
    return doc.kind, doc.name


def _standing(version: Version) -> str:
    return "exists no more" if version == 0 else "exists already, or has changed"


def _label(doc: DocWrite) -> str:
    return f"{shown(doc.kind)} {shown(doc.name)}"
