"""Small documents: read, scanned, and written with compare-and-swap, alone or along with jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from noria.backends.contract import Doc, DocWrite, Version
from noria.backends.docs import PAGE_BYTES, Address, address
from noria.backends.docs import conflict as refusal
from noria.backends.sql.call import Call
from noria.backends.sql.rows import decode, encode, from_bytes, to_bytes
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis, seconds_or_none
from noria.errors import Conflict
from noria.model.limits import MAX_BATCH

_LAST: Final = "\U0010ffff"
"""Behind every character that a name may have."""
_NEW: Final = -1
"""Stands for the version of a document that is about to be written: nobody can have seen it."""


@dataclass(slots=True)
class ReadDocs(Call):
    """The call."""

    kind: str
    names: Sequence[str]
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[Doc | None]:
        """Read documents by their names."""
        asked = encode([(self.kind, name) for name in self.names])
        found = decode(work.row("board_read", asked, work.now)[0], list[_Content | None])
        return [
            None if content is None else _doc(self.kind, name, content)
            for name, content in zip(self.names, found, strict=True)
        ]


@dataclass(slots=True)
class ScanDocs(Call):
    """The call."""

    kind: str
    after: str | None
    limit: int
    prefix: str
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[Doc]:
        """Read a page of documents in the order of their names."""
        limit = max(1, min(self.limit, MAX_BATCH))
        bounds = (self.after or "", self.prefix, self.prefix + _LAST)
        found = work.row("board_scan", self.kind, *bounds, work.now, limit, PAGE_BYTES)[0]
        return [_doc(self.kind, name, content) for name, content in decode(found, list[tuple[str, _Content]])]


@dataclass(slots=True)
class WriteDocs(Call):
    """The call."""

    docs: Sequence[DocWrite]

    def run(self, work: Transaction) -> list[Version]:
        """Write documents, all or none."""
        (conflict,) = admit(work, [self.docs])
        if conflict is not None:
            raise conflict
        put(work, self.docs)
        return _versions(work, [address(doc) for doc in self.docs])


def admit(work: Transaction, calls: Sequence[Sequence[DocWrite]]) -> list[Conflict | None]:
    """Which of these calls, made one after the other, may write their documents; a conflict for each that may not."""
    asked = list({address(doc): None for docs in calls for doc in docs})
    versions = dict(zip(asked, _versions(work, asked), strict=True))
    told: list[Conflict | None] = []
    for docs in calls:
        clashing = [doc for doc in docs if doc.if_version not in (None, versions[address(doc)])]
        told.append(refusal(clashing, versions) if clashing else None)
        if not clashing:
            versions.update({address(doc): 0 if doc.data is None else _NEW for doc in docs})
    return told


def put(work: Transaction, docs: Iterable[DocWrite]) -> None:
    """Write documents that were admitted; of two with one name the later stays."""
    last = {address(doc): doc for doc in docs}
    gone = [address for address, doc in last.items() if doc.data is None]
    if gone:
        work.run("board_delete", encode(gone))
    rows = [_row(work, doc) for doc in last.values() if doc.data is not None]
    if rows:
        work.run("board_write", encode(rows))


def put_anyway(work: Transaction, docs: Sequence[DocWrite]) -> None:
    """Write documents whatever their versions are."""
    if docs:
        _versions(work, list(dict.fromkeys(map(address, docs))))  # which also makes sure of their places
        put(work, docs)


def drop_expired(work: Transaction, limit: int) -> int:
    """Drop documents whose time is over; says how many."""
    return work.changes("board_drop", work.now, limit)


_Content = tuple[Version, int | None, str | None, str | None]
"""Version, expiry, data as text, data as hex."""


def _versions(work: Transaction, asked: Sequence[Address]) -> list[Version]:
    return decode(work.row("board_versions", encode(asked), work.now)[0], list[Version])


def _row(work: Transaction, doc: DocWrite) -> tuple[str, str, int | None, str | None, str | None]:
    expires = None if doc.ttl is None else work.now + max(1, millis(doc.ttl))
    return doc.kind, doc.name, expires, *from_bytes(doc.data, "json")


def _doc(kind: str, name: str, content: _Content) -> Doc:
    version, expires, text, hex = content
    return Doc(kind, name, version, to_bytes(text, hex) or b"", seconds_or_none(expires))
