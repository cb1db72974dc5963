"""Row 11: a task called over HTTP. Arguments come in the query or the body, the bare result goes back."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.responses import Response

from noria.app.ending import Ending
from noria.backends.contract import Parts
from noria.front import bodies, limits, prefer, questions, replies, view
from noria.front.enqueue import Order, find_task, job_of
from noria.front.idempotency import key_of, once
from noria.front.jobs import bare, left
from noria.front.prefer import Patience
from noria.front.problem import Problem
from noria.front.resources import failure_resource
from noria.front.route import Ask
from noria.front.submit import Accepted, accept
from noria.front.tasks import Known
from noria.front.texts import from_text
from noria.front.waiting import Full, Left
from noria.ids import to_text
from noria.model.job import Record
from noria.model.state import State

_NAMED: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


async def get(ask: Ask) -> Response:
    """`GET /v1/call/{task}?a=9`."""
    known = await find_task(ask.desk, ask.who, ask.path["task"])
    if not known.sheet.safe:
        raise Problem(
            "not_safe",
            f"task {known.sheet.name!r} is not declared safe, so that only POST may call it: whatever caches or "
            "fetches ahead repeats a GET",
        )
    schema: dict[str, Any] = msgspec.json.decode(known.sheet.args_schema)
    own = "wait" in schema.get("properties", {})
    query = [(name, text) for name, text in ask.request.query_params.multi_items() if name != "wait" or own]
    patience = _patience(ask, query=not own)
    return await _call(ask, known, msgspec.json.encode(from_text(schema, query)), patience)


async def post(ask: Ask) -> Response:
    """`POST /v1/call/{task}` with the arguments as body."""
    known = await find_task(ask.desk, ask.who, ask.path["task"])
    bodies.check_media(ask.request, bodies.JSON)
    body = await bodies.read(ask.request, limits.BODY)
    if body.lstrip()[:1] != b"[":
        bodies.decode(body, _NAMED)
    else:
        bodies.decode(body, _LISTED)
    return await _call(ask, known, body.strip(), _patience(ask, query=True))


_LISTED: Final = msgspec.json.Decoder(list[msgspec.Raw])


def _patience(ask: Ask, *, query: bool) -> Patience:
    """A call waits as long as it may, unless it says otherwise."""
    most = ask.desk.settings.wait
    found = prefer.patience(ask.request, most, query=query)
    return found if found.asked or prefer.at_once(ask.request) else Patience(most)


async def _call(ask: Ask, known: Known, args: bytes, patience: Patience) -> Response:
    method = "GET" if ask.request.method == "HEAD" else ask.request.method
    key = key_of(ask.request, required=ask.desk.settings.require_idempotency and method == "POST")
    job = job_of(ask.desk, ask.who, known, args, {})
    route = f"{method} /v1/call/{known.sheet.name}"
    first = None if key is None else once(ask.who, route, key, msgspec.json.decode(args))
    found = await accept(ask.desk, ask.who, Order(job), first)
    try:
        ending = await _ending(ask, found.record, patience.seconds)
    except Left:
        return left()
    headers = patience.headers
    if found.how == "replayed":
        headers["Idempotent-Replayed"] = "true"
    if isinstance(ending, Record) and ending.question:
        asking = await questions.job_view(ask, view.slim(ending))
        return replies.json(asking, 202, {**headers, "Location": view.path_of(ending.id, ask.root)})
    if isinstance(ending, Record):
        return view.accepted(ask, ending, headers)
    return _returned(found, ending, headers)


async def _ending(ask: Ask, record: Record, seconds: float) -> Ending | Record:
    """How a job ended, after a wait if one is wanted; else the job as it stands then."""
    if not record.state.final and seconds:
        try:
            ending = await ask.desk.waiting.ending(ask, record.id, seconds, "")
        except Full:
            return record
        if ending is not None:
            return ending
        record = await view.again(ask, record.id, Parts.BODY | Parts.RESULT)
    if not record.state.final:
        return record
    return Ending(record.state, record.task, record.result, record.result_codec, record.failure)


def _returned(found: Accepted, ending: Ending, headers: dict[str, str]) -> Response:
    id = to_text(found.record.id)
    if ending.state is State.SUCCEEDED:
        if ending.result is None:
            raise Problem(
                "result_expired", f"job {id} succeeded, and its result is no longer kept", job_id=id
            )
        return bare(ending.result, ending.codec, {**headers, "Noria-Job": id})
    raise Problem(
        "task_failed",
        f"task {found.record.task!r} ended as {ending.state.word}; job {id} has the rest",
        job_id=id,
        state=ending.state.word,
        error=failure_resource(ending.failure, found.record.task, max(ending.spent, 1)),
        headers=headers,
    )
