"""Rows 12 and 13: what jobs ask of persons. A key that is limited sees and answers what jobs of its own ask."""

from __future__ import annotations

import asyncio
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
    page, after = await book_of(ask).page(None if start is None else start.decode(errors="replace"), _PAGE)
    while after is not None:
        found += [each for each in page if _is_seen(ask, each) and _fits(each, wanted)]
        if len(found) > limit:
            break
        page, after = await book_of(ask).page(after, _PAGE)
    more = cursor(found[limit - 1].id.encode(), ["questions", wanted]) if len(found) > limit else None
    return replies.page([await _view(ask, each) for each in found[:limit]], more)


async def one(ask: Ask) -> Response:
    """`GET /v1/questions/{id}`, however it stands."""
    return replies.json(await _view(ask, await book_of(ask).get(ask.path["id"], _own(ask))))


async def answer(ask: Ask) -> Response:
    """`POST /v1/questions/{id}/answer`. The first answer counts; the same one again is taken for it."""
    action, data = await read_answer(ask)
    try:
        answered = await book_of(ask).answer(ask.path["id"], action, data, by=ask.who.id, check=_own(ask))
    except InvalidAnswer as error:
        raise refused_answer(error) from None
    return replies.json(await _view(ask, answered))


async def read_answer(ask: Ask) -> tuple[Action, Any]:
    """What a body says to a question.

    Raises:
        Problem: it is none.
    """
    wanted = await bodies.read_struct(ask.request, _answer)
    if (wanted.action == "accept") == (wanted.data is UNSET):
        words = "accept needs data" if wanted.data is UNSET else f"{wanted.action} takes no data"
        raise Problem("invalid_value", words, errors=[Part("/data", words)])
    return wanted.action, wanted.data


def refused_answer(error: InvalidAnswer) -> Problem:
    """An answer that does not fit, with the places where it does not."""
    parts = [Part(f"/data{where}", words) for where, words in error.flaws]
    return Problem("invalid_answer", str(error), errors=parts)


async def job_view(ask: Ask, record: Record) -> dict[str, Any]:
    """A job with its links, and with the question that it asks, if it asks."""
    resource = view.job_view(record, ask.root)
    if record.question and (question := await book_of(ask).of(record)) is not None:
        resource["question"] = await _view(ask, question)
    return resource


async def _view(ask: Ask, question: Question) -> dict[str, Any]:
    """A question, with the link that answers it for those who may answer it themselves."""
    url = None
    here = "answers" in ask.desk.settings.expose
    if question.state == "open" and ask.who.may("questions:answer") and (here or ask.desk.answers.base):
        url = await ask.desk.answers.url(question.id, ask.root)
    return question_resource(question, ask.root, url)


def book_of(ask: Ask) -> QuestionBook:
    """The questions of the store."""
    return QuestionBook(ask.desk.backend, ask.desk.clock.wall, apart=asyncio.to_thread)


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
