"""Dead letters: failed jobs that nobody has retried or discarded yet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from uuid import UUID

from msgspec import Struct

from noria import ids
from noria.app import checks
from noria.app.alter import altered
from noria.app.link import Links
from noria.app.status import JobStatus, StateWord, status_of
from noria.backends.contract import Altered, Change, Query
from noria.errors import JobNotFound, WrongState
from noria.ids import Id
from noria.model.limits import MAX_BATCH
from noria.model.names import check_name


class DeadPage(Struct, frozen=True):
    """A page of dead letters, newest first.

    Attributes:
        items: how the jobs stand; their logs are left out.
        next: pass it as `after` for the next page; None on the last one.
    """

    items: list[JobStatus]
    next: str | None


class Dealt(Struct, frozen=True):
    """What became of one dead letter.

    Attributes:
        id: the job's, a UUID as text.
        state: its state afterwards; None if it could not be changed.
        why: the reason for that; empty if it was changed.
    """

    id: str
    state: StateWord | None
    why: str = ""


class DeadLetters:
    """Lists dead letters and deals with them. `async for status in app.dead` gives them all, newest first.

    Raises `NotRunning` outside `async with app:`, and `BackendError` if the backend does not answer.
    """

    def __init__(self, links: Links) -> None:
        self._links = links

    async def page(
        self,
        after: str | UUID | None = None,
        *,
        limit: int = 50,
        tasks: Iterable[str] = (),
        queues: Iterable[str] = (),
    ) -> DeadPage:
        """Read a page.

        Args:
            after: `next` of the page before; None for the first.
            limit: how many at most; 1 to 1,000.
            tasks, queues: only of any of these; empty for all.

        Raises:
            InvalidInput: `after` is not a UUID, `limit` is no whole number from 1 to 1,000, or a name is none.
        """
        query = Query(dead=True, tasks=_names("task", tasks), queues=_names("queue", queues))
        limit = checks.whole(1, MAX_BATCH)("limit", limit)
        start = ids.from_text(after) if after is not None else None
        found = await self._links.here().backend.find(query, start, limit)
        following = ids.to_text(found.next) if found.next is not None else None
        return DeadPage([status_of(record) for record in found.records], following)

    async def __aiter__(self) -> AsyncIterator[JobStatus]:
        after: str | None = None
        while True:
            page = await self.page(after, limit=200)
            for each in page.items:
                yield each
            if page.next is None:
                return
            after = page.next

    async def retry(self, jobs: Iterable[str | UUID]) -> list[Dealt]:
        """Queue these jobs again, with fresh attempts and no time bounds.

        Args:
            jobs: ids, UUIDs or their text.

        Returns:
            for each, in order, what became of it; one that cannot be retried does not hinder the others.

        Raises:
            InvalidInput: an id is not a UUID; nothing was changed.
        """
        return await self._change(jobs, Change(kind="retry"))

    async def discard(self, jobs: Iterable[str | UUID], note: str = "") -> list[Dealt]:
        """Keep the records of these jobs, but count them as dead letters no more; as `retry`."""
        return await self._change(jobs, Change(kind="discard", note=checks.text("note", note)))

    async def _change(self, jobs: Iterable[str | UUID], change: Change) -> list[Dealt]:
        targets = [ids.from_text(job) for job in checks.several("jobs", jobs, "job ids")]
        backend = self._links.here().backend
        dealt: list[Dealt] = []
        for start in range(0, len(targets), MAX_BATCH):
            batch = targets[start : start + MAX_BATCH]
            answers = await backend.alter(batch, change)
            dealt += [_dealt(id, change, answer) for id, answer in zip(batch, answers, strict=True)]
        return dealt


def _names(kind: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(check_name(kind, name) for name in checks.several(f"{kind}s", names, "names"))


def _dealt(id: Id, change: Change, answer: Altered) -> Dealt:
    try:
        return Dealt(ids.to_text(id), altered(id, change, answer))
    except (JobNotFound, WrongState) as error:
        return Dealt(ids.to_text(id), None, str(error))
