"""Every failure as one body shape: RFC 9457 problem details, with a stable `code` for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from noria.errors import (
    AlreadyAnswered,
    BackendError,
    Conflict,
    DuplicateJob,
    InvalidInput,
    JobNotFound,
    NoriaError,
    NotRunning,
    QuestionExpired,
    QuestionNotFound,
    QuestionSuperseded,
    QueueFull,
    ScheduleNotFound,
    TooLarge,
    Unknown,
    UnknownTask,
    WrongState,
)

MEDIA: Final = "application/problem+json"

CODES: Final[dict[str, tuple[int, str]]] = {
    "bad_json": (400, "The body is no JSON"),
    "bad_request": (400, "The request is malformed"),
    "bad_cursor": (400, "The cursor is not of this list"),
    "unknown_parameter": (400, "A parameter is unknown"),
    "bad_filter": (400, "The filter cannot be understood"),
    "idempotency_required": (400, "An Idempotency-Key is required here"),
    "no_key": (401, "A key is needed"),
    "bad_key": (401, "The key is not known, or no longer good"),
    "scope_missing": (403, "The key may not do this"),
    "queue_not_allowed": (403, "The key may not use this queue"),
    "task_not_allowed": (403, "The key may not use this task"),
    "id_not_allowed": (403, "The key may not choose ids"),
    "host_not_allowed": (403, "The front is not called by this name"),
    "cross_origin": (403, "Pages of other origins may not call this front"),
    "not_safe": (403, "Only tasks that are declared safe answer GET"),
    "not_found": (404, "There is nothing here"),
    "job_not_found": (404, "No such job"),
    "task_unknown": (404, "No such task"),
    "queue_unknown": (404, "No such queue"),
    "worker_unknown": (404, "No such worker"),
    "schedule_not_found": (404, "No such timer"),
    "question_not_found": (404, "No such question"),
    "operation_unknown": (404, "No such operation"),
    "key_unknown": (404, "No such key"),
    "method_not_allowed": (405, "This cannot be done here"),
    "not_acceptable": (406, "It cannot be answered in such a form"),
    "read_timeout": (408, "The body took too long to arrive"),
    "wrong_state": (409, "Its state does not allow it"),
    "not_finished": (409, "The job has not ended"),
    "no_result": (409, "The job ended without a result"),
    "unique_conflict": (409, "Another job has this unique key"),
    "id_conflict": (409, "Another job has this id"),
    "already_answered": (409, "The question has another answer"),
    "result_expired": (410, "It was there, and is no longer kept"),
    "question_expired": (410, "The time to answer is over"),
    "question_superseded": (410, "The question was asked anew"),
    "count_changed": (412, "More matches than was expected"),
    "too_large": (413, "Too large"),
    "unsupported_media": (415, "Bodies are JSON"),
    "invalid_args": (422, "The arguments do not fit the task"),
    "invalid_value": (422, "A value is out of range"),
    "invalid_answer": (422, "The answer does not fit the question"),
    "unknown_field": (422, "A field is unknown"),
    "idempotency_mismatch": (422, "The Idempotency-Key was used for another request"),
    "rate_limited": (429, "Too many requests"),
    "too_many_waiters": (429, "Too many requests wait already"),
    "too_many_streams": (429, "Too many event streams are open already"),
    "queue_full": (429, "The queue is full"),
    "head_too_large": (431, "The head of the request is too large"),
    "internal": (500, "A bug of Noria's"),
    "task_failed": (502, "The task failed"),
    "backend_down": (503, "The backend does not answer"),
    "draining": (503, "The front is stopping"),
    "not_open": (503, "The front is not open"),
}
"""Every `code`, with its status and title."""


class Part(Struct, frozen=True):
    """One thing that is wrong. `pointer`: where, as a JSON pointer (RFC 6901) into the body."""

    pointer: str
    message: str


class Problem(Exception):
    """A failure that is answered as it stands.

    Args:
        code: of `CODES`, which has status and title.
        detail: what happened, to which job or queue, and what to do; no arguments, no secrets.
        errors: what is wrong in the body.
        headers: that the answer carries.
        members: further members of the body, such as `job_id` or `retry_after`.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        errors: Iterable[Part] = (),
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.status, self.title = CODES[code]
        self.detail = detail
        self.errors = list(errors)
        self.headers = dict(headers or {})
        self.members = members

    def response(self, instance: str, root: str) -> Response:
        """The answer. `instance` names the request; `root` is the path under which the front is mounted."""
        body = {
            "type": f"{root}/docs#problem-{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "instance": instance,
            "code": self.code,
            **({"errors": self.errors} if self.errors else {}),
            **self.members,
        }
        headers = dict(self.headers)
        if "retry_after" in self.members:
            headers["Retry-After"] = str(self.members["retry_after"])
        return Response(msgspec.json.encode(body), self.status, headers, MEDIA)


def problem_of(error: NoriaError) -> Problem:
    """What an error of Noria's is to a client; one that a client cannot have caused is a bug."""
    match error:
        case TooLarge():
            return Problem("too_large", str(error))
        case InvalidInput():
            return Problem("invalid_value", str(error), errors=[Part(pointer_to(error.field), str(error))])
        case JobNotFound():
            return Problem("job_not_found", str(error))
        case ScheduleNotFound():
            return Problem("schedule_not_found", str(error))
        case QuestionNotFound():
            return Problem("question_not_found", str(error))
        case AlreadyAnswered():
            return Problem("already_answered", str(error), state=error.state)
        case QuestionExpired():
            return Problem("question_expired", str(error))
        case QuestionSuperseded():
            return Problem("question_superseded", str(error), following=error.following or None)
        case UnknownTask():
            return Problem("task_unknown", str(error))
        case DuplicateJob():
            return Problem("unique_conflict", str(error), job_id=error.job_id)
        case WrongState() | Conflict():
            return Problem("wrong_state", str(error))
        case QueueFull():
            return Problem("queue_full", str(error), retry_after=1)
        case Unknown():
            return Problem(
                "backend_down",
                "the backend did not answer in time; what was asked for may have been done",
                retry_after=1,
                retry_safe=False,
            )
        case BackendError():
            return Problem("backend_down", "the backend cannot be reached; nothing was done", retry_after=1)
        case NotRunning():
            return Problem("draining", "this front is stopping; ask another one", retry_after=0)
        case _:
            return bug()


def bug() -> Problem:
    """What nobody expected; the log has the rest."""
    return Problem(
        "internal", "something went wrong that should not; the log of the front has it under `instance`"
    )


def pointer_to(path: str, root: str = "") -> str:
    """A path such as `order.items[0].price` as a JSON pointer, below `root`."""
    steps = path.replace("[", ".").replace("]", "").split(".") if path else []
    return root + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps if step)
