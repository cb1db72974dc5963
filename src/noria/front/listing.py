"""Row 3: lists of jobs, page by page, newest first."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.responses import Response

from noria.backends.contract import Page, Parts, Query
from noria.errors import InvalidInput
from noria.front import limits, prefer, replies, view
from noria.front.paging import cursor, limit_of, place
from noria.front.problem import Part, Problem
from noria.front.query import PARAMETERS, narrowed, read_query
from noria.front.route import Ask
from noria.ids import Id, to_text

OTHERS: Final = ("limit", "cursor", "include", "fields", "order", "count")
_NOTHING: Final = Page([])


def query_of(params: QueryParams, now: float, others: tuple[str, ...]) -> Query:
    """The query that a query string asks for.

    Args:
        others: parameters that are no filters.

    Raises:
        Problem: one is unknown, given twice, or malformed.
    """
    given = {}
    for name, text in params.multi_items():
        if name in others:
            continue
        if name in given:
            raise Problem("bad_filter", f"{name} is given twice; separate alternatives by commas")
        given[name] = text
    try:
        return read_query(given, now)
    except InvalidInput as error:
        raise Problem("bad_filter", str(error), errors=[Part("", str(error))]) from None


async def show(ask: Ask) -> Response:
    """`GET /v1/jobs`."""
    params = ask.request.query_params
    query = query_of(params, ask.desk.clock.wall(), OTHERS)
    if params.get("order", "-created_at") not in ("-created_at", "created_at"):
        raise Problem("bad_filter", "order is -created_at (newest first) or created_at")
    if params.get("order") == "created_at":
        query = replace(query, oldest_first=True)
    return await answer(ask, query, {})


async def answer(ask: Ask, query: Query, more: dict[str, Any]) -> Response:
    """A page of a list of jobs. `more` goes into the mark of its cursors, beside the parameters."""
    params = ask.request.query_params
    only_ids, counted = _flag(params, "fields", "id"), _flag(params, "count", "capped")
    limit = limit_of(params.get("limit"), limits.PAGE_OF_IDS if only_ids else limits.PAGE, limits.USUAL_PAGE)
    parts = prefer.included(ask.request) or Parts.NONE
    words = {**more, **{name: params[name] for name in (*PARAMETERS, "order") if name in params}}
    after = place(params.get("cursor"), words)
    seen = narrowed(query, ask.who)
    found = _NOTHING
    if seen is not None:
        from_ = None if after is None else Id(after)
        found = await ask.desk.backend.find(seen, from_, limit, parts=parts, ids_only=only_ids)
    said: dict[str, Any] = {"scan_limited": True} if found.scan_limited else {}
    if counted:
        said |= await _count(ask, seen)
    items = (
        [to_text(id) for id in found.ids]
        if only_ids
        else [view.job_view(each, ask.root) for each in found.records]
    )
    return replies.page(items, None if found.next is None else cursor(found.next, words), **said)


def _flag(params: QueryParams, name: str, word: str) -> bool:
    """Whether a parameter is there; it takes one word only."""
    if params.get(name, word) != word:
        raise Problem("bad_filter", f"{name} is {word}, or left out")
    return name in params


async def _count(ask: Ask, query: Query | None) -> dict[str, Any]:
    if query is None:
        return {"count": 0, "count_capped": False}
    found = await ask.desk.backend.tally(query, limits.COUNT)
    return {"count": found.n, "count_capped": found.capped or found.scan_limited}
