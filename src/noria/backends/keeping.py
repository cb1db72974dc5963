"""What a backend keeps beside jobs, and gives to the keeper of a worker, and to the transactions of callers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from noria.backends.terms import Fence, Orders, Verdict, Vitals
from noria.ids import SessionId
from noria.model.document import Doc, DocWrite, Version
from noria.model.job import NewJob, Receipt
from noria.model.settlement import Settlement


class Board(Protocol):
    """Small documents, each written whole, with compare-and-swap."""

    async def read(self, kind: str, names: Sequence[str]) -> list[Doc | None]:
        """Read documents; None where there is none, or its time is over."""
        ...

    async def write(self, docs: Sequence[DocWrite]) -> list[Version]:
        """Write or delete documents, all in one step; returns their versions, 0 for those that are deleted.

        May be repeated: yes; a write that expects a version then conflicts with itself, so read before you do.

        Raises:
            Conflict: a document is not of the version that was expected; nothing was written.
            InvalidInput: a document is too large, its name cannot be stored, or it is written twice.
        """
        ...

    async def scan(
        self, kind: str, after: str | None = None, limit: int = 100, prefix: str = ""
    ) -> list[Doc]:
        """Read documents of a kind in the order of their names (of the code points in them), a page at a time.

        `after`: only names behind this one. `prefix`: only names that begin with this. At most `limit`, and at most
        1,000; a page may hold fewer, and only an empty one is the last.
        """
        ...


class Joins(Protocol):
    """What a backend with the capability `transactional` has as well."""

    async def push_within(self, conn: object, jobs: Sequence[NewJob]) -> list[Receipt]:
        """Enqueue jobs in the transaction of a caller's own connection.

        On return: they are stored if, and when, that transaction commits; no worker sees them before, and nothing
        is left of them if it is undone. Receipts are as those of `push`.
        On exception: the caller's transaction has failed, and must be undone.
        May be repeated with the same ids: yes.

        Raises:
            InvalidInput: it is no connection that the backend knows, or it is in no transaction.
        """
        ...


class Keeper(Protocol):
    """The synchronous, independent way to do a session's duties while the event loop cannot turn.

    For one thread. Every call may raise `Unavailable` or `Unknown`, and may be repeated.
    """

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        """As `Sessions.renew`."""
        ...

    def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        """As `Queue.settle`; who asks again on the loop is told ALREADY."""
        ...

    def recall(self, session: SessionId, known: Collection[Fence], why: str) -> list[Fence]:
        """As `Queue.recall`, but says which starts were given back; `why` goes into their log."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
