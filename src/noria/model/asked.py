"""A question as handlers, and who asks the application for it, see it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct

from noria.clock import utc
from noria.model.question import OnExpiry, Question, Standing


class QuestionStatus(Struct, frozen=True, kw_only=True):
    """A question as it stood when it was read. Times are aware and in UTC.

    Attributes:
        id: its own, a UUID as text; job_id: of the job that asks.
        task, queue: of that job.
        message, name: what is asked, for people and for programs.
        schema: what an answer looks like, as JSON schema.
        secret: the answer is shown nowhere.
        created_at, expires_at: while it may be answered.
        on_expiry: what happens when nobody has.
        state: "open", "answered", "declined", "cancelled", "expired", "superseded" or "withdrawn".
        answer: the answer, as JSON has it; None if there is none, or it is secret.
        answered_by: who gave it.
        following: the question that was asked in its place.
        answer_url: a link by which a person answers this question without a key, with a form; empty once it is not open
            any more. Only a path, unless `NORIA_PUBLIC_URL` says where a front can be reached.
    """

    id: str
    job_id: str
    task: str
    queue: str
    message: str
    name: str
    schema: dict[str, Any]
    secret: bool
    created_at: datetime
    expires_at: datetime
    on_expiry: OnExpiry
    state: Standing
    answer: Any
    answered_by: str
    following: str
    answer_url: str


Notify = Callable[[QuestionStatus], Any]
"""Told of a question once it is open; if it gives something to await, that is awaited."""


def status_of_question(question: Question, answer_url: str) -> QuestionStatus:
    """The public view of a question. `answer_url`: the link by which it is answered while it is open."""
    hidden = question.secret or question.data is UNSET
    return QuestionStatus(
        id=question.id,
        job_id=question.job,
        task=question.task,
        queue=question.queue,
        message=question.message,
        name=question.name,
        schema=question.schema,
        secret=question.secret,
        created_at=utc(question.created),
        expires_at=utc(question.expires),
        on_expiry=question.on_expiry,
        state=question.state,
        answer=None if hidden else question.data,
        answered_by=question.by,
        following=question.following,
        answer_url=answer_url if question.state == "open" else "",
    )
