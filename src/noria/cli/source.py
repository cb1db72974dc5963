"""What commands ask about jobs and queues; a store answers, or a front somewhere else.

A command prints what it gets from here and does not know which of them it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal, NamedTuple, Protocol

from noria.backends.contract import Altered, Counts
from noria.cli.query import Wanted
from noria.ids import Id
from noria.model.job import Record
from noria.model.reason import Reason

PAGE = 200
"""Jobs that are read or changed at once."""
Kind = Literal["cancel", "retry", "discard"]


class Listed(NamedTuple):
    """A page of jobs. `next` is where the one behind it begins; None if there is none."""

    records: list[Record]
    next: str | None = None
    scan_limited: bool = False


class Source(Protocol):
    """Who answers. Everything raises `Unavailable` or `NoAnswer` if nobody does."""

    async def find(self, wanted: Wanted, after: str | None, limit: int) -> Listed:
        """A page of the jobs that are wanted, newest first, at most 200."""
        ...

    async def newest(self, most: int) -> list[Id]:
        """The ids of that many of the newest jobs."""
        ...

    async def read(self, id: Id) -> tuple[Record, list[Reason]]:
        """One job with all its parts, how it stands, and why it does not run.

        Raises:
            JobNotFound: there is none.
        """
        ...

    async def alter(self, found: Sequence[Id], kind: Kind, note: str = "") -> list[Altered]:
        """Change jobs, at most 200 for a store; what became of each, in order."""
        ...

    async def counts(self) -> Counts:
        """Queues and workers."""
        ...


async def find(source: Source, wanted: Wanted, after: str | None, limit: int) -> Listed:
    """Read pages until there are `limit` records, or no more, or the search stopped looking."""
    records: list[Record] = []
    while True:
        page = await source.find(wanted, after, min(PAGE, limit - len(records)))
        records += page.records
        after = page.next
        if after is None or len(records) >= limit or page.scan_limited:
            return Listed(records, after, page.scan_limited)


async def walk(source: Source, wanted: Wanted) -> AsyncIterator[Record]:
    """Every record that is wanted, page by page."""
    after: str | None = None
    while True:
        page = await source.find(wanted, after, PAGE)
        for record in page.records:
            yield record
        after = page.next
        if after is None:
            return
