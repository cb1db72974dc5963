"""A question as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from noria.clock import moment
from noria.model.question import Question


def question_resource(question: Question, root: str, answer_url: str | None) -> dict[str, Any]:
    """A question; `answer` is there if it has one that may be shown.

    Args:
        root: where the front is mounted.
        answer_url: the link that answers it without a key, for those who may have it.
    """
    path = f"{root}/v1/questions/{question.id}"
    resource: dict[str, Any] = {
        "id": question.id,
        "job_id": question.job,
        "task": question.task,
        "queue": question.queue,
        "name": question.name,
        "message": question.message,
        "schema": question.schema,
        "secret": question.secret,
        "state": question.state,
        "created_at": moment(question.created),
        "expires_at": moment(question.expires),
        "on_expiry": question.on_expiry,
        "answered_by": question.by or None,
        "supersedes": question.supersedes or None,
        "following": question.following or None,
        "answer_url": answer_url,
        "links": {"self": path, "answer": f"{path}/answer", "job": f"{root}/v1/jobs/{question.job}"},
    }
    if not question.secret and question.data is not UNSET:
        resource["answer"] = question.data
    return resource
