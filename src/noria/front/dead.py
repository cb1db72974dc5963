"""Row 19: dead letters, one by one or by what is probably one fault."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace
from starlette.responses import Response

from noria.backends.contract import DeadGroup, Query
from noria.clock import moment
from noria.front import limits, replies
from noria.front.listing import OTHERS, answer, query_of
from noria.front.paging import limit_of
from noria.front.problem import Problem
from noria.front.query import narrowed
from noria.front.route import Ask
from noria.ids import Id, to_text
from noria.model.fingerprint import fingerprint
from noria.model.job import Record

_CHUNK: Final = 500


async def show(ask: Ask) -> Response:
    """`GET /v1/dead`."""
    params = ask.request.query_params
    query = replace(query_of(params, ask.desk.clock.wall(), (*OTHERS, "group")), dead=True)
    group = params.get("group")
    if group is None:
        return await answer(ask, query, {"dead": "true"})
    if group != "fingerprint":
        raise Problem("bad_filter", "group is fingerprint, or left out")
    limit = limit_of(params.get("limit"), limits.PAGE, limits.USUAL_PAGE)
    if query == Query(dead=True) and not ask.who.limited:
        groups = await ask.desk.backend.dead_groups(limit)
    else:
        groups = await _among(ask, narrowed(query, ask.who), limit)
    return replies.page([_view(each) for each in groups], None)


async def _among(ask: Ask, query: Query | None, limit: int) -> list[DeadGroup]:
    """The groups among the newest 10,000 dead letters that match, the most frequent first."""
    groups: dict[str, DeadGroup] = {}
    after: Id | None = None
    for _ in range(0, limits.COUNT if query is not None else 0, _CHUNK):
        assert query is not None
        page = await ask.desk.backend.find(query, after, _CHUNK)
        for record in page.records:
            _add(groups, record)
        after = page.next
        if after is None:
            break
    return sorted(groups.values(), key=lambda group: (-group.n, group.fingerprint))[:limit]


def _add(groups: dict[str, DeadGroup], record: Record) -> None:
    if record.failure is None:
        return
    mark = fingerprint(record.task, record.failure)
    at = record.finished or record.created
    group = groups.get(mark) or DeadGroup(mark, 0, at, at, record)
    newest = record if at >= group.last else group.sample
    groups[mark] = DeadGroup(mark, group.n + 1, min(group.first, at), max(group.last, at), newest)


def _view(group: DeadGroup) -> dict[str, Any]:
    failure = group.sample.failure
    return {
        "fingerprint": group.fingerprint,
        "task": group.sample.task,
        "count": group.n,
        "reason": failure.reason if failure else None,
        "type": (failure.type or None) if failure else None,
        "message": failure.message if failure else "",
        "first_seen_at": moment(group.first),
        "last_seen_at": moment(group.last),
        "sample_job_id": to_text(group.sample.id),
    }
