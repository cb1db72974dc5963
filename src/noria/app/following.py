"""Following a job: its states, its progress and its partial results, as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from noria import aio, ids
from noria.app.link import Link
from noria.app.status import StateWord
from noria.clock import utc
from noria.errors import JobNotFound
from noria.ids import Id
from noria.model.job import Record
from noria.model.mark import Progress

_PAGE = 100


class JobEvent(Struct, frozen=True, kw_only=True):
    """Something that has happened to a job.

    Attributes:
        kind: "state": it is in another state; "progress": it has come further; "item": a partial result; "gap": items
            were dropped before they could be read, up to `offset`.
        state: the state that it is in, or was when this was read.
        fraction, note: how far it has come, from 0 to 1; None if it has not said so.
        question: the id of the question that it asks; empty if it does not.
        offset: of an item, from 0; of a gap, that of the first item behind it.
        item: the partial result, as JSON has it.
        at: when the item or the progress was written down, in UTC; None for a state.
    """

    kind: Literal["state", "progress", "item", "gap"]
    state: StateWord
    fraction: float | None = None
    note: str = ""
    question: str = ""
    offset: int | None = None
    item: Any = None
    at: datetime | None = None


async def follow(link: Link, id: Id, offset: int) -> AsyncIterator[JobEvent]:
    """What happens to a job, from now on and until it has ended; items from an offset on, also old ones.

    States in which a job is only briefly may be left out; items never, except for those that a gap tells of.
    """
    before: Record | None = None
    with link.outcomes.following(id) as following:
        while True:
            following.news.clear()
            [record] = await link.backend.get([id], watch=link.backend.reply_channel)
            if record is None:
                raise JobNotFound(
                    f"job {ids.to_text(id)} is not there: erased, pruned, or never enqueued here"
                )
            # An end is told last, behind all items.
            if not record.state.final:
                for event in _news(before, record):
                    yield event
            if record.items > offset:
                async for event in _items(link, record, offset):
                    yield event
                offset = record.items
            if record.state.final:
                for event in _news(before, record):
                    yield event
                return
            before = record
            await aio.happened(following.news, following.every)


def _news(before: Record | None, record: Record) -> list[JobEvent]:
    events = []
    if record.progress is not None and (before is None or before.progress != record.progress):
        events.append(_event("progress", record, at=utc(record.progress.at)))
    if before is None or (before.state, before.question) != (record.state, record.question):
        events.append(_event("state", record))
    return events


async def _items(link: Link, record: Record, offset: int) -> AsyncIterator[JobEvent]:
    while offset < record.items:
        page = await link.backend.emitted(record.id, offset, _PAGE)
        if page is None or not page.items:
            return
        if (first := page.items[0].offset) > offset:
            yield _event("gap", record, offset=first)
        for item in page.items:
            data = msgspec.json.decode(item.data)
            yield _event("item", record, offset=item.offset, item=data, at=utc(item.at))
        offset = page.items[-1].offset + 1


def _event(kind: Literal["state", "progress", "item", "gap"], record: Record, **fields: Any) -> JobEvent:
    progress = record.progress or Progress(0.0)
    return JobEvent(
        kind=kind,
        state=record.state.word,  # type: ignore[arg-type]  # the literal lists every state
        fraction=None if record.progress is None else progress.fraction,
        note=progress.note,
        question=record.question,
        **fields,
    )
