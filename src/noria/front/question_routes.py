"""The routes of questions. Who may answer may also read what is asked: an inbox needs one scope."""

from __future__ import annotations

from typing import Final

from noria.front import invitations, limits, questions, shapes
from noria.front.params import CURSOR, limit
from noria.front.route import Param, Route

_OK: Final = {200: "done"}
_THERE: Final = ("question_not_found",)
_OVER: Final = ("already_answered", "wrong_state", "question_expired", "question_superseded")
_BUSY: Final = ("rate_limited", "backend_down")
_PAGES: Final = ("application/json", "text/html")

QUESTIONS: Final[tuple[Route, ...]] = (
    Route(
        method="GET", path="/v1/questions", role="jobs", gives=shapes.Page[shapes.Question],
        scope="questions:answer", handler=questions.show, about="List open questions, the oldest first",
        params=(
            *(Param(name, f"only of this {name.removesuffix('_id')}") for name in questions.FILTERS),
            limit(limits.PAGE), CURSOR,
        ),
        success=_OK, problems=("bad_cursor",),
    ),
    Route(
        method="GET", path="/v1/questions/{id}", role="jobs", gives=shapes.Question,
        scope="questions:answer", handler=questions.one, about="Read a question", success=_OK, problems=_THERE,
    ),
    Route(
        method="POST", path="/v1/questions/{id}/answer", role="jobs", gives=shapes.Question,
        scope="questions:answer", handler=questions.answer, about="Answer a question",
        body=questions.AnswerWanted, success={200: "it has this answer"},
        problems=(
            *_THERE, *_OVER, "invalid_answer"
        ),
    ),
    Route(
        method="GET", path="/answer/{token}", role="answers", gives=shapes.Invitation, scope=None, link=True,
        handler=invitations.show, about="The question of a link: a form for browsers, JSON for programs",
        media=_PAGES, open_query=True, success=_OK, problems=(*_THERE, *_OVER, *_BUSY),
    ),
    Route(
        method="POST", path="/answer/{token}", role="answers", gives=shapes.Invitation, scope=None, link=True,
        handler=invitations.take, about="Answer the question of a link, by its form or as JSON",
        body=questions.AnswerWanted, media=_PAGES, open_query=True, success={200: "it has this answer"},
        problems=(*_THERE, *_OVER, *_BUSY, "invalid_answer"),
    ),
)  # fmt: skip
