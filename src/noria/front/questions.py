"""Rows 12 and 13: what jobs ask of persons. A key that is limited sees and answers what jobs of its own ask."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from noria.app.questionbook import Check, QuestionBook
from noria.errors import InvalidAnswer, QuestionNotFound
from noria.front import bodies, limits, replies, view
from noria.front.paging import cursor, limit_of, place
from noria.front.problem import Part, Problem
from noria.front.question_resource import question_resource
from noria.front.route import Ask
from noria.model.job import Record
from noria.model.question import Action, Question

FILTERS: Final = ("task", "queue", "job_id")
_PAGE: Final = 100
_FIELDS: Final = {"task": "task", "queue": "queue", "job_id": "job"}


class AnswerWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person says to a question: `accept` it with `data`, `decline` to answer, or `cancel` the question."""

    action: Action
    data: Any | UnsetType = UNSET


_answer: Final = msgspec.json.Decoder(AnswerWanted)


async def show(ask: Ask) -> Response:
    """`GET /v1/questions`: the open ones, the oldest first."""
    params = ask.request.query_params
    limit = limit_of(params.get("limit"), limits.PAGE, limits.USUAL_PAGE)
    wanted = {name: value for name in FILTERS if (value := params.get(name)) is not None}
    start = place(params.get("cursor"), ["questions", wanted], None)
    found: list[Question] = []
    page, after = await _book(ask).page(None if start is None else start.decode(errors="replace"), _PAGE)
    while after is not None:
        found += [each for each in page if _is_seen(ask, each) and _fits(each, wanted)]
        if len(found) > limit:
            break
        page, after = await _book(ask).page(after, _PAGE)
    more = cursor(found[limit - 1].id.encode(), ["questions", wanted]) if len(found) > limit else None
    return replies.page([question_resource(each, ask.root) for each in found[:limit]], more)


async def one(ask: Ask) -> Response:
    """`GET /v1/questions/{id}`, however it stands."""
    return replies.json(question_resource(await _book(ask).get(ask.path["id"], _own(ask)), ask.root))


async def answer(ask: Ask) -> Response:
    """`POST /v1/questions/{id}/answer`. The first answer counts; the same one again is taken for it."""
    wanted = await bodies.read_struct(ask.request, _answer)
    if (wanted.action == "accept") == (wanted.data is UNSET):
        words = "accept needs data" if wanted.data is UNSET else f"{wanted.action} takes no data"
        raise Problem("invalid_value", words, errors=[Part("/data", words)])
    try:
        answered = await _book(ask).answer(
            ask.path["id"], wanted.action, wanted.data, by=ask.who.id, check=_own(ask)
        )
    except InvalidAnswer as error:
        parts = [Part(f"/data{where}", words) for where, words in error.flaws]
        raise Problem("invalid_answer", str(error), errors=parts) from None
    return replies.json(question_resource(answered, ask.root))


async def job_view(ask: Ask, record: Record) -> dict[str, Any]:
    """A job with its links, and with the question that it asks, if it asks."""
    resource = view.job_view(record, ask.root)
    if record.question and (question := await _book(ask).of(record)) is not None:
        resource["question"] = question_resource(question, ask.root)
    return resource


def _book(ask: Ask) -> QuestionBook:
    return QuestionBook(ask.desk.backend, ask.desk.clock.wall)


def _is_seen(ask: Ask, question: Question) -> bool:
    return ask.who.sees(question.queue, question.task)


def _fits(question: Question, wanted: dict[str, str]) -> bool:
    return all(getattr(question, _FIELDS[name]) == value for name, value in wanted.items())


def _own(ask: Ask) -> Check:
    """Refuses questions of others, as if there were none."""

    def check(question: Question) -> None:
        if not _is_seen(ask, question):
            id = question.id
            raise QuestionNotFound(f"there is no question {id}, or it was closed long ago", question=id)

    return check
