"""An open store as a source of jobs and queues."""

from __future__ import annotations

from collections.abc import Sequence

from noria import ids
from noria.app.explain import reasons_of
from noria.app.scene import look_around
from noria.backends.contract import Altered, Backend, Change, Counts, Parts, Query
from noria.cli.query import Wanted
from noria.cli.source import PAGE, Kind, Listed
from noria.cli.target import answer
from noria.clock import SystemClock
from noria.errors import JobNotFound
from noria.ids import Id
from noria.model.job import Record
from noria.model.reason import Reason


class StoreSource:
    """An open store; it is given so many seconds for each answer."""

    def __init__(self, store: Backend, seconds: float) -> None:
        self._store = store
        self._seconds = seconds

    async def find(self, wanted: Wanted, after: str | None, limit: int) -> Listed:
        """As `Source`; `after` is the id of a job."""
        place = None if after is None else ids.from_text(after)
        page = await answer(self._store.find(wanted.query, place, limit), self._seconds)
        return Listed(page.records, None if page.next is None else ids.to_text(page.next), page.scan_limited)

    async def newest(self, most: int) -> list[Id]:
        """As `Source`."""
        found: list[Id] = []
        after: Id | None = None
        while len(found) < most:
            page = await answer(self._store.find(Query(), after, PAGE), self._seconds)
            found += [record.id for record in page.records]
            after = page.next
            if after is None:
                break
        return found

    async def read(self, id: Id) -> tuple[Record, list[Reason]]:
        """As `Source`."""
        [record] = await answer(self._store.get([id], Parts.ALL), self._seconds)
        if record is None:
            raise JobNotFound(f"there is no job {ids.to_text(id)}: erased, pruned, or never enqueued here")
        scene = await answer(look_around(self._store, record, SystemClock().wall()), self._seconds)
        return record, reasons_of(record, scene)

    async def alter(self, found: Sequence[Id], kind: Kind, note: str = "") -> list[Altered]:
        """As `Source`."""
        return await answer(self._store.alter(found, Change(kind=kind, note=note)), self._seconds)

    async def counts(self) -> Counts:
        """As `Source`."""
        return await answer(self._store.counts(), self._seconds)
