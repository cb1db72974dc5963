"""The part of a store that keeps small documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from noria.backends import docs as docs_of
from noria.backends.contract import Doc, DocWrite, Version
from noria.backends.sql import board
from noria.backends.sql.call import Call
from noria.backends.sql.desk import Reader


class SqlBoard(ABC):
    """See `noria.backends.contract.Board`, whose promises are not repeated here."""

    @abstractmethod
    async def _ask(self, call: Call) -> Any:
        """Have the engine answer."""

    @abstractmethod
    async def _consult(self, call: Call, reader: Reader = "reader") -> Any:
        """Have a reader answer."""

    async def read(self, kind: str, names: Sequence[str]) -> list[Doc | None]:
        docs_of.check_names(kind, *names)
        docs: list[Doc | None] = await self._consult(board.ReadDocs(kind, names))
        return docs

    async def write(self, docs: Sequence[DocWrite]) -> list[Version]:
        docs_of.check(docs)
        versions: list[Version] = await self._ask(board.WriteDocs(docs))
        return versions

    async def scan(
        self, kind: str, after: str | None = None, limit: int = 100, prefix: str = ""
    ) -> list[Doc]:
        docs_of.check_names(kind, *filter(None, (after, prefix)))
        docs: list[Doc] = await self._consult(board.ScanDocs(kind, after, limit, prefix))
        return docs
