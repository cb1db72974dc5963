"""Rows 1, 3 to 5 and 8: enqueue a job, list jobs, read one, its result, and why it is not running."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace
from starlette.responses import Response

from noria.app.explain import in_one_line, reasons_of
from noria.app.scene import look_around
from noria.backends.contract import Change, Parts
from noria.front import bodies, limits, prefer, questions, replies, view
from noria.front.enqueue import order_of
from noria.front.idempotency import key_of, once
from noria.front.prefer import Patience
from noria.front.problem import Problem
from noria.front.requests import JobWanted
from noria.front.resources import failure_resource
from noria.front.route import Ask
from noria.front.stats import seen
from noria.front.submit import Accepted, accept
from noria.front.waiting import Full, Left, full_problem
from noria.ids import to_text
from noria.model.job import Record
from noria.model.state import State

_wanted: Final = msgspec.json.Decoder(JobWanted)

_SHOWN: Final = Parts.BODY | Parts.RESULT


async def create(ask: Ask) -> Response:
    """`POST /v1/jobs`."""
    bodies.check_media(ask.request, bodies.JSON)
    body = await bodies.read(ask.request, limits.BODY)
    wanted = bodies.decode(body, _wanted)
    key = key_of(ask.request, required=ask.desk.settings.require_idempotency)
    patience = prefer.patience(ask.request, ask.desk.settings.wait)
    order = await order_of(ask.desk, ask.who, wanted)
    first = once(ask.who, "POST /v1/jobs", key, msgspec.json.decode(body)) if key is not None else None
    found = await accept(ask.desk, ask.who, order, first)
    return await answer(ask, found, patience, cancel=wanted.cancel_on_disconnect)


async def answer(ask: Ask, found: Accepted, patience: Patience, *, cancel: bool = False) -> Response:
    """The answer to a request that has made or found a job, after a wait if it wants one."""
    headers = {**patience.headers, **_SAID[found.how]}
    record = found.record
    if not record.state.final and patience.seconds:
        waited = await _wait(ask, record, patience.seconds, cancel=cancel)
        if waited is None:
            return left()
        record = waited
    if record.state.final:
        return replies.json(view.job_view(view.slim(record), ask.root), 200, headers)
    if record.question and patience.asked:
        return replies.json(await questions.job_view(ask, view.slim(record)), 200, headers)
    if found.stands and not patience.asked:
        return replies.json(await questions.job_view(ask, record), 200, headers)
    return view.accepted(ask, record, headers)


_SAID: Final[dict[str, dict[str, str]]] = {
    "created": {},
    "replayed": {"Idempotent-Replayed": "true"},
    **{word: {"Unique-Conflict": word} for word in ("existing", "replaced", "updated", "merged")},
}


def left() -> Response:
    """Nobody reads it: the client has left."""
    return Response(status_code=499)


async def _wait(ask: Ask, record: Record, seconds: float, *, cancel: bool) -> Record | None:
    """The job after a wait, ended or not; None if the client has left. Too many waiters: it does not wait."""
    try:
        return await _waited(ask, record, seconds, _SHOWN, known="")
    except Full:
        return record
    except Left:
        if cancel:
            change = Change(kind="cancel", note="the client that had enqueued it has left")
            await ask.desk.backend.alter([record.id], change)
        return None


async def _waited(ask: Ask, record: Record, seconds: float, parts: Parts, known: str | None = None) -> Record:
    """A job after a wait, ended or not; also one that was erased at its success, which is what was waited for.

    With `known` the wait is over as well when the job asks something, unless that is the question of this id.

    Raises: Full, Left.
        Problem: it is gone, or was moved out of sight.
    """
    ending = await ask.desk.waiting.ending(ask, record.id, seconds, known)
    [found] = await ask.desk.backend.get([record.id], parts)
    if found is None and ending is not None:
        found = replace(
            record,
            state=ending.state,
            result=ending.result,
            result_codec=ending.codec,
            failure=ending.failure,
        )
    if found is None or not ask.who.sees(found.queue, found.task):
        raise view.missing(to_text(record.id))
    return found


async def _read(ask: Ask, patience: Patience, parts: Parts, *, asks: bool = False) -> Record | None:
    """The job that the path names, after a wait if one is wanted; None if the client has left.

    With `asks` the wait is over as well when the job begins to ask something.

    Raises:
        Problem: there is none, or too many wait.
    """
    record = await view.find(ask, parts)
    if record.state.final or not patience.seconds:
        return record
    try:
        known = record.question if asks else None
        return await _waited(ask, record, patience.seconds, parts, known)
    except Full:
        raise full_problem() from None
    except Left:
        return None


async def show(ask: Ask) -> Response:
    """`GET /v1/jobs/{id}`."""
    parts = prefer.included(ask.request)
    patience = prefer.patience(ask.request, ask.desk.settings.wait)
    record = await _read(ask, patience, _SHOWN if parts is None else parts, asks=True)
    if record is None:
        return left()
    headers = patience.headers
    if not record.state.final:
        headers["Retry-After"] = str(ask.desk.again(record.queue))
    shown = record if parts is not None else view.slim(record)
    return replies.json(await questions.job_view(ask, shown), 200, headers)


async def result(ask: Ask) -> Response:
    """`GET /v1/jobs/{id}/result`."""
    patience = prefer.patience(ask.request, ask.desk.settings.wait)
    record = await _read(ask, patience, Parts.RESULT)
    if record is None:
        return left()
    if record.state is State.SUCCEEDED and record.result is not None:
        return bare(record.result, record.result_codec, patience.headers)
    raise no_result(record, ask.desk.again(record.queue))


def bare(result: bytes, codec: str, headers: dict[str, str]) -> Response:
    """A result as it was stored, with its own media type."""
    media = "application/json" if codec == "json" else "application/octet-stream"
    return Response(result, 200, headers, media)


def no_result(record: Record, again: int) -> Problem:
    """Why a job has no result to show."""
    id = to_text(record.id)
    if not record.state.final:
        return Problem(
            "not_finished",
            f"job {id} is {record.state.word}",
            job_id=id,
            state=record.state.word,
            retry_after=again,
        )
    if record.state is State.SUCCEEDED:
        return Problem("result_expired", f"job {id} succeeded, and its result is no longer kept", job_id=id)
    return Problem(
        "no_result",
        f"job {id} ended as {record.state.word}",
        job_id=id,
        state=record.state.word,
        error=failure_resource(record.failure, record.task, record.tally.spent),
    )


async def why(ask: Ask) -> Response:
    """`GET /v1/jobs/{id}/explain`."""
    record = await view.find(ask, Parts.LOG)
    scene = await look_around(ask.desk.backend, record, ask.desk.clock.wall())
    reasons = reasons_of(record, replace(scene, counts=seen(scene.counts, ask.who)))
    told = {"explain": in_one_line(reasons), "reasons": reasons}
    return replies.json({"id": to_text(record.id), "state": record.state.word, **told})
