"""Rows 9 and 10: what people do to a job. Each may be repeated, and answers with the job as it stands then."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace
from starlette.responses import Response

from noria.app import checks
from noria.app.options import JOB_CHECKS
from noria.app.ties import check_same_group
from noria.backends.contract import Altered, Change, DocWrite, Parts
from noria.errors import InvalidInput
from noria.front import bodies, limits, replies, view
from noria.front.enqueue import Order, check_queue, find_task, job_of
from noria.front.idempotency import key_of, once
from noria.front.problem import Part, Problem
from noria.front.requests import Nothing
from noria.front.route import Ask
from noria.front.submit import accept
from noria.front.times import point
from noria.front.waiting import Full, Left
from noria.ids import Id, from_text, to_text
from noria.model.job import Record

_PATIENCE: Final = 60.0
_ERASED: Final = "erased"
"""The kind of document that remembers who has erased which job."""


class CancelWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a job is cancelled; how many seconds to wait until one that runs has ended."""

    reason: str = ""
    wait: float = 0.0


class DiscardWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a job counts as a dead letter no more."""

    reason: str = ""


class RetryWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """When a job is tried again, how often, with which arguments, and why."""

    delay: float = 0.0
    attempts: int | None = None
    args: Raw | UnsetType = UNSET
    reason: str = ""


class EditWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to change of a job that waits. `args` only before its first start."""

    priority: int | UnsetType = UNSET
    run_at: datetime | UnsetType = UNSET
    expires_at: datetime | UnsetType | None = UNSET
    tags: list[str] | UnsetType = UNSET
    args: Raw | UnsetType = UNSET
    queue: str | UnsetType = UNSET


class CopyWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """What differs in a copy of a job."""

    args: Raw | UnsetType = UNSET
    queue: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    delay: float | UnsetType = UNSET


_cancel: Final = msgspec.json.Decoder(CancelWanted)
_discard: Final = msgspec.json.Decoder(DiscardWanted)
_retry: Final = msgspec.json.Decoder(RetryWanted)
_edit: Final = msgspec.json.Decoder(EditWanted)
_copy: Final = msgspec.json.Decoder(CopyWanted)
_nothing: Final = msgspec.json.Decoder(Nothing)


async def cancel(ask: Ask) -> Response:
    """`POST /v1/jobs/{id}/cancel`. A job that ended before is answered as it ended."""
    wanted = await bodies.read_optional(ask.request, _cancel)
    note = _checked(checks.text, "reason", wanted.reason)
    seconds = min(_checked(checks.seconds(0.0), "wait", wanted.wait), _PATIENCE)
    record = await view.find(ask)
    [answer] = await ask.desk.backend.alter([record.id], Change(kind="cancel", note=note))
    if seconds:
        with suppress(Full, Left):
            await ask.desk.waiting.ending(ask, record.id, seconds)
    return await _as_it_stands(ask, answer)


async def retry(ask: Ask) -> Response:
    """`POST /v1/jobs/{id}/retry`."""
    wanted = await bodies.read_optional(ask.request, _retry)
    record = await view.find(ask)
    body = await _arguments(ask, record, wanted.args)
    note = _checked(checks.text, "reason", wanted.reason)
    change = _change(kind="retry", delay=wanted.delay, attempts=wanted.attempts, body=body, note=note)
    return await _alter(ask, record, change, "failed, cancelled and expired jobs can be retried")


async def run(ask: Ask) -> Response:
    """`POST /v1/jobs/{id}/run`."""
    await bodies.read_optional(ask.request, _nothing)
    record = await view.find(ask)
    return await _alter(ask, record, Change(kind="run"), "scheduled and retrying jobs can be run now")


async def discard(ask: Ask) -> Response:
    """`POST /v1/jobs/{id}/discard`."""
    wanted = await bodies.read_optional(ask.request, _discard)
    note = _checked(checks.text, "reason", wanted.reason)
    record = await view.find(ask)
    return await _alter(ask, record, Change(kind="discard", note=note), "failed jobs can be discarded")


async def erase(ask: Ask) -> Response:
    """`DELETE /v1/jobs/{id}`. Who erased a job is told so again for 24 hours; to others it is not there."""
    try:
        record = await view.find(ask)
    except Problem as problem:
        if problem.code == "job_not_found" and await _has_erased(ask):
            return replies.nothing()
        raise
    name = _trace_name(ask, record.id)
    await ask.desk.backend.write([DocWrite(_ERASED, name, b"", ttl=limits.REMEMBERED)])
    [answer] = await ask.desk.backend.alter([record.id], Change(kind="erase"))
    _judge(answer, record, "jobs that have ended can be erased; cancel it first")
    return replies.nothing()


async def _has_erased(ask: Ask) -> bool:
    """Whether the job is gone that the path names, and whoever asks now has asked for that."""
    try:
        id = from_text(ask.path["id"])
    except InvalidInput:
        return False
    [record] = await ask.desk.backend.get([id])
    [trace] = await ask.desk.backend.read(_ERASED, [_trace_name(ask, id)])
    return record is None and trace is not None


def _trace_name(ask: Ask, id: Id) -> str:
    return f"{ask.who.id} {to_text(id)}"


async def edit(ask: Ask) -> Response:
    """`PATCH /v1/jobs/{id}`. Everything is checked before anything is changed."""
    wanted = await bodies.read_struct(ask.request, _edit)
    record = await view.find(ask)
    body = await _arguments(ask, record, wanted.args)
    given = _edited(wanted) if body is None else {**_edited(wanted), "body": body}
    if not given and wanted.queue is UNSET:
        raise Problem("invalid_value", f"name at least one of {', '.join(EditWanted.__struct_fields__)}")
    change = _change(kind="edit", **given) if given else None
    if wanted.queue is UNSET:
        await _edit_then(ask, record, change)
        return await _as_it_stands(ask)
    move = _change(kind="move", queue=_checked(checks.queue, "queue", wanted.queue))
    check_queue(ask.who, wanted.queue)
    async with ask.desk.intake.admit(ask.who, wanted.queue, int(wanted.queue != record.queue)):
        await _edit_then(ask, record, change)
        [answer] = await ask.desk.backend.alter([record.id], move)
        _judge(answer, record, "jobs that wait can be moved")
    return await _as_it_stands(ask)


async def _edit_then(ask: Ask, record: Record, change: Change | None) -> None:
    if change is not None:
        [answer] = await ask.desk.backend.alter([record.id], change)
        _judge(
            answer,
            record,
            "jobs that wait can be edited, and their args and expires_at before they first began",
        )


def _edited(wanted: EditWanted) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name in ("priority", "tags"):
        if (value := getattr(wanted, name)) is not UNSET:
            given[name] = _checked(JOB_CHECKS[name], name, value)
    if wanted.run_at is not UNSET:
        given["run_at"] = _checked(point, "run_at", wanted.run_at)
    if wanted.expires_at is not UNSET:
        given["expires"] = _checked(checks.maybe(point), "expires_at", wanted.expires_at)
    return given


async def copy(ask: Ask) -> Response:
    """`POST /v1/jobs/{id}/copy`: a new job that names the one it was made of."""
    wanted = await bodies.read_optional(ask.request, _copy)
    key = key_of(ask.request, required=ask.desk.settings.require_idempotency)
    record = await view.find(ask, Parts.BODY)
    known = await find_task(ask.desk, ask.who, record.task, park=True)
    options = {
        name: value
        for name in ("queue", "priority", "delay")
        if (value := getattr(wanted, name)) is not UNSET
    }
    options = {**_same(record), "unique": None, **options}
    if wanted.args is UNSET:
        # The same arguments are the same group, also if a function of the task's found it.
        options["group"] = record.group
    args = record.body if wanted.args is UNSET else bytes(wanted.args)
    if args is None or (wanted.args is UNSET and record.codec != "json"):
        raise Problem("wrong_state", "the arguments of this job are not kept as JSON; give args")
    job = job_of(ask.desk, ask.who, known, args, options)
    extras = replace(record.extras, copy_of=to_text(record.id), parent_id="", root_id="")
    if not extras.feed:
        extras = replace(extras, after=(), on="success")
    job = replace(job, extras=extras)
    route = f"POST /v1/jobs/{to_text(record.id)}/copy"
    first = None if key is None else once(ask.who, route, key, msgspec.to_builtins(wanted))
    found = await accept(ask.desk, ask.who, Order(job), first)
    headers = {"Location": view.path_of(found.record.id, ask.root)}
    if found.how == "replayed":
        headers["Idempotent-Replayed"] = "true"
    return replies.json(view.job_view(found.record, ask.root), 201, headers)


def _same(record: Record) -> dict[str, Any]:
    return {
        "queue": record.queue,
        "priority": record.priority,
        "attempts": record.tally.attempts,
        "crashes": record.tally.crash_budget,
        "keep": record.keep,
    }


async def _arguments(ask: Ask, record: Record, args: Raw | UnsetType) -> bytes | None:
    if args is UNSET:
        return None
    known = await find_task(ask.desk, ask.who, record.task, park=True)
    job = job_of(ask.desk, ask.who, known, bytes(args), {"queue": record.queue})
    try:
        check_same_group(record.id, record.group, job)
    except InvalidInput as error:
        raise Problem("invalid_args", str(error), errors=[Part("/args", str(error))]) from None
    return job.body


async def _alter(ask: Ask, record: Record, change: Change, allowed: str) -> Response:
    [answer] = await ask.desk.backend.alter([record.id], change)
    _judge(answer, record, allowed)
    return await _as_it_stands(ask, answer)


def _judge(answer: Altered, record: Record, allowed: str) -> None:
    id = to_text(record.id)
    match answer.status:
        case "missing":
            raise view.missing(id)
        case "conflict":
            raise Problem(
                "unique_conflict",
                f"another live job of task {record.task!r} has the unique key of job {id}",
                job_id=id,
                state=(answer.state or record.state).word,
            )
        case "refused":
            word = (answer.state or record.state).word
            raise Problem("wrong_state", f"job {id} is {word}; only {allowed}", job_id=id, state=word)


async def _as_it_stands(ask: Ask, answer: Altered | None = None) -> Response:
    """The job as it is by now, and in header fields what became of the change, and the state in which it left it.

    A job that runs is only `asked` to end.
    """
    record = await view.find(ask, Parts.BODY | Parts.RESULT)
    said: dict[str, str] = {} if answer is None else {"Noria-Change": answer.status}
    if answer is not None and answer.state is not None:
        said["Noria-State"] = answer.state.word
    return replies.json(view.job_view(view.slim(record), ask.root), 200, said)


def _checked(check: checks.Check, name: str, value: Any) -> Any:
    try:
        return check(name, value)
    except InvalidInput as error:
        raise Problem("invalid_value", str(error), errors=[Part(f"/{name}", str(error))]) from None


def _change(**fields: Any) -> Change:
    try:
        return Change(**fields)
    except InvalidInput as error:
        raise Problem("invalid_value", str(error), errors=[Part(f"/{error.field}", str(error))]) from None
