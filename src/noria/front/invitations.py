"""One question, answered by whoever holds its link: a form for people, JSON for programs, and no key.

Looking never answers, since programs that scan mails open links. The link is good for this question alone, and as long
as it is open: an answer that was given is not shown to who comes later. A link that is none counts as a key that is
none.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qsl

from msgspec import UNSET
from starlette.responses import Response

from noria.clock import moment
from noria.errors import InvalidAnswer, NoriaError, QuestionNotFound
from noria.front import bodies, replies
from noria.front.answer_form import answer_in, wrong_fields
from noria.front.answer_page import ACTION, done_page, form_page, refusal_page
from noria.front.asked import Asked
from noria.front.problem import Problem, problem_of
from noria.front.questions import book_of, read_answer, refused_answer
from noria.front.route import Ask
from noria.model.limits import MAX_ANSWER
from noria.model.question import Question

log = logging.getLogger("noria.front")

BY: Final = "link"
"""Who answered: somebody with the link."""
FORM: Final = "application/x-www-form-urlencoded"
HTML: Final = "text/html"
_FIELDS: Final = 1_000
_WEIGHT: Final = re.compile(r"(?:^|;)\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*(?:;|$)", re.ASCII)
_LARGEST: Final = 3 * MAX_ANSWER + 4_096
"""Bytes of a form: each of an answer may be written as three, beside the names."""

_WORDS: Final = {
    "question_not_found": (
        "Nothing here",
        "This link is not complete, or its question was closed long ago. Please open it as it was sent to you.",
    ),
    "answered": ("Answered already", "This question has its answer, and the first one counts."),
    "declined": ("Declined already", "Somebody has said that this question will not be answered."),
    "cancelled": ("Put away", "This question was put away without an answer."),
    "question_expired": ("Too late", "The time to answer this question is over."),
    "question_superseded": (
        "Asked anew",
        "What asked you this was interrupted and begins again, so this question does not count any more. If an answer "
        "is still needed, another question is asked, with a link of its own.",
    ),
    "wrong_state": ("Not needed any more", "Nobody waits for the answer to this question any more."),
    "rate_limited": ("Too many tries", "Please wait a few seconds, and try again."),
    "too_large": ("Too long", "The answer is longer than can be taken."),
    "backend_down": (
        "Not now",
        "The answer cannot be taken just now. Nothing is lost: please try again in a moment.",
    ),
    "draining": (
        "Not now",
        "The answer cannot be taken just now. Nothing is lost: please try again in a moment.",
    ),
}


async def show(ask: Ask) -> Response:
    """`GET /answer/{token}`: the question as a form, or as JSON."""
    if not _wants_page(ask.request):
        return replies.json(_resource(await _open(ask)))

    async def page() -> Response:
        return form_page(await _open(ask), ask.desk.clock.wall())

    return await _for_people(page)


async def take(ask: Ask) -> Response:
    """`POST /answer/{token}`: an answer, from the form or as JSON."""
    if not _wants_page(ask.request):
        return replies.json(_resource(await _answered(ask)))
    return await _for_people(lambda: _answered_page(ask))


async def _answered_page(ask: Ask) -> Response:
    question = await _open_for_answer(ask)
    sent = await _form(ask.request)
    try:
        return done_page(await _say(ask, question, sent))
    except InvalidAnswer as error:
        given: dict[str, list[str]] = {}
        for name, text in sent:
            given.setdefault(name, []).append(text)
        return form_page(question, ask.desk.clock.wall(), given, wrong_fields(error.flaws))


async def _answered(ask: Ask) -> Question:
    question = await _open_for_answer(ask)
    try:
        if bodies.check_media(ask.request, bodies.JSON, FORM) == FORM:
            return await _say(ask, question, await _form(ask.request))
        action, data = await read_answer(ask)
        return await book_of(ask).answer(question.id, action, data, by=BY)
    except InvalidAnswer as error:
        raise refused_answer(error) from None


async def _say(ask: Ask, question: Question, sent: list[tuple[str, str]]) -> Question:
    pressed = [text for name, text in sent if name == ACTION]
    if pressed[:1] == ["decline"]:
        return await book_of(ask).answer(question.id, "decline", by=BY)
    data = answer_in(question.schema, [each for each in sent if each[0] != ACTION])
    return await book_of(ask).answer(question.id, "accept", data, by=BY)


async def _form(request: Asked) -> list[tuple[str, str]]:
    """What a form has sent.

    Raises:
        Problem: it is none, or too large.
    """
    bodies.check_media(request, FORM)
    body = await bodies.read(request, _LARGEST)
    try:
        return parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS
        )
    except ValueError:  # as a decoder's errors are
        raise Problem(
            "bad_request", "the body is no form: application/x-www-form-urlencoded in UTF-8"
        ) from None


# -- the question ------------------------------------------------------------------------------------------


async def _open(ask: Ask) -> Question:
    """The question of the link, while it can be answered.

    Raises:
        Problem: the link is none.
        NoriaError: it cannot be answered any more.
    """
    return await book_of(ask).get_open(await _id(ask))


async def _open_for_answer(ask: Ask) -> Question:
    """The question of the link, however it stands: the same answer again is taken for the first."""
    id = await _id(ask)
    ask.desk.door.count_answer(id)
    return await book_of(ask).get(id)


async def _id(ask: Ask) -> str:
    id = await ask.desk.answers.question_of(ask.path["token"])
    if id is None:
        ask.desk.door.count_guess(ask.request)
        raise Problem("question_not_found", "there is no question behind this link")
    return id


def _resource(question: Question) -> dict[str, Any]:
    """A question as who has its link may see it: nothing of the job."""
    found: dict[str, Any] = {
        "id": question.id,
        "name": question.name,
        "message": question.message,
        "schema": question.schema,
        "secret": question.secret,
        "state": question.state,
        "expires_at": moment(question.expires),
    }
    if question.data is not UNSET and not question.secret:
        found["answer"] = question.data
    return found


# -- people ------------------------------------------------------------------------------------------------


def _wants_page(request: Asked) -> bool:
    """Browsers name HTML; whoever takes anything is a program."""
    accept = request.fields.get("accept", "").lower()
    return _weight(accept, HTML) > _weight(accept, bodies.JSON)


def _weight(accept: str, media: str) -> float:
    """How much somebody wants just this (RFC 9110 section 12.4.2); 0 if it is not named."""
    for part in accept.split(","):
        name, _, rest = part.partition(";")
        if name.strip() == media:
            told = _WEIGHT.search(rest)
            return 1.0 if told is None else float(told[1])
    return 0.0


async def _for_people(page: Callable[[], Awaitable[Response]]) -> Response:
    """A page, also of a failure that can be foreseen."""
    try:
        return await page()
    except QuestionNotFound:
        problem = Problem("question_not_found", "")
    except NoriaError as error:
        problem = problem_of(error)
    except Problem as refused:
        problem = refused
    if problem.code == "internal":
        raise problem
    word = problem.members["state"] if problem.code == "already_answered" else problem.code
    if problem.status >= 500:
        log.error("the page of a link could not be shown: %s", problem)
    title, text = _WORDS.get(word, (problem.title, problem.detail))
    headers = dict(problem.headers)
    if "retry_after" in problem.members:
        headers["Retry-After"] = str(problem.members["retry_after"])
    return refusal_page(problem.status, title, text, headers)
