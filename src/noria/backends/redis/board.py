"""Small documents: read, scanned, and written with compare-and-swap, alone or along with jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from noria.backends import docs as common
from noria.backends.contract import Doc, DocWrite
from noria.backends.docs import PAGE_BYTES, address
from noria.backends.redis.call import Call, Request, Steps, Word
from noria.backends.redis.settings import Settings
from noria.backends.units import millis
from noria.errors import Conflict
from noria.model.limits import MAX_BATCH

_BEHIND_ALL: Final = b"\xff"
"""Behind every name: no byte of UTF-8 is this one."""


@dataclass(slots=True)
class ReadDocs(Call):
    """The call."""

    kind: str
    names: Sequence[str]
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Read documents by their names."""
        if not self.names:
            return []
        (found,) = yield [Request("board_read", [self.kind, *self.names])]
        return [
            None if version is None else _doc(self.kind, name, version, expires, data)
            for name, version, expires, data in zip(
                self.names, found[::3], found[1::3], found[2::3], strict=True
            )
        ]


@dataclass(slots=True)
class ScanDocs(Call):
    """The call."""

    kind: str
    after: str | None
    limit: int
    prefix: str
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Read a page of documents in the order of their names."""
        limit = max(1, min(self.limit, MAX_BATCH))
        words: list[Word] = [self.kind, *self._bounds(), limit, PAGE_BYTES]
        (found,) = yield [Request("board_scan", words)]
        return [
            _doc(self.kind, name.decode(), version, expires, data)
            for name, version, expires, data in zip(
                found[::4], found[1::4], found[2::4], found[3::4], strict=True
            )
        ]

    def _bounds(self) -> tuple[bytes, bytes]:
        first, last = self.prefix.encode(), self.prefix.encode() + _BEHIND_ALL
        after = (self.after or "").encode()
        return (b"(" + after if after and after >= first else b"[" + first), b"(" + last


@dataclass(slots=True)
class WriteDocs(Call):
    """The call."""

    docs: Sequence[DocWrite]

    def steps(self, settings: Settings) -> Steps:
        """Write documents, all or none."""
        if not self.docs:
            return []
        (answer,) = yield [Request("board_write", list(words(self.docs)))]
        if isinstance(answer, bytes):
            raise conflict(self.docs, answer)
        return answer


def words(docs: Sequence[DocWrite]) -> Iterator[Word]:
    """Documents as `board_write.lua` takes them."""
    for doc in docs:
        yield doc.kind
        yield doc.name
        yield b"" if doc.if_version is None else doc.if_version
        yield b"" if doc.ttl is None else max(1, millis(doc.ttl))
        yield b"d" if doc.data is None else b"w" + doc.data


def conflict(docs: Sequence[DocWrite], versions: bytes) -> Conflict:
    """The error for documents that are not of the versions that were expected, given those that there are."""
    there = dict(zip(map(address, docs), map(int, versions.split()), strict=True))
    return common.conflict([doc for doc in docs if doc.if_version not in (None, there[address(doc)])], there)


def _doc(kind: str, name: str, version: Any, expires: Any, data: Any) -> Doc:
    return Doc(kind, name, int(version), data, int(expires) / 1000 if expires else None)
