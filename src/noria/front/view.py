"""A job as the front shows it: the resource, its links, and the headers that go with it."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace
from starlette.responses import Response

from noria import ids
from noria.backends.contract import Parts
from noria.errors import InvalidInput
from noria.front import limits, replies
from noria.front.problem import Problem
from noria.front.resources import job_resource
from noria.front.route import Ask
from noria.ids import Id
from noria.model.job import Record

_VERBS: Final = ("result", "events", "explain", "cancel")


def job_view(record: Record, root: str) -> dict[str, Any]:
    """A job with its links. `root` is the path under which the front is mounted."""
    resource = job_resource(record)
    path = path_of(record.id, root)
    resource["links"] = {"self": path, **{verb: f"{path}/{verb}" for verb in _VERBS}}
    return resource


def path_of(id: Id, root: str) -> str:
    """Where a job is."""
    return f"{root}/v1/jobs/{ids.to_text(id)}"


def accepted(ask: Ask, record: Record, headers: dict[str, str]) -> Response:
    """202: the job is on its way."""
    more = {"Location": path_of(record.id, ask.root), "Retry-After": str(ask.desk.again(record.queue))}
    return replies.json(job_view(slim(record), ask.root), 202, {**headers, **more})


async def find(ask: Ask, parts: Parts = Parts.NONE) -> Record:
    """The job that the path names.

    Raises:
        Problem: there is none that this key may see; which of these is not told.
    """
    text = ask.path["id"]
    try:
        id = ids.from_text(text)
    except InvalidInput:
        raise missing(text) from None
    return await again(ask, id, parts)


async def again(ask: Ask, id: Id, parts: Parts) -> Record:
    """A job as it stands now.

    Raises:
        Problem: there is none that this key may see.
    """
    [record] = await ask.desk.backend.get([id], parts)
    if record is None or not ask.who.sees(record.queue, record.task):
        raise missing(ids.to_text(id))
    return record


def missing(text: str) -> Problem:
    """There is no such job."""
    return Problem("job_not_found", f"there is no job {text[:64]!r} here: erased, pruned, or never enqueued")


def slim(record: Record) -> Record:
    """A record without what is too large to come unasked."""
    heavy = {
        name: None
        for name in ("body", "result")
        if (value := getattr(record, name)) is not None and len(value) > limits.SHOWN
    }
    return replace(record, **heavy) if heavy else record
