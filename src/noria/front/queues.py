"""Rows 15 and 16: queues in numbers, their limits, and their pauses."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs
from starlette.responses import Response

from noria.app.service import holder_of
from noria.backends.contract import Counts, Limit, Pause, QueueCounts, QueueRef, Resume
from noria.errors import InvalidInput
from noria.front import bodies, replies
from noria.front.problem import Part, Problem, problem_of
from noria.front.requests import Nothing
from noria.front.resources import queue_resource
from noria.front.route import Ask
from noria.front.times import point
from noria.model.names import check_name
from noria.model.queue import NO_LIMITS, check_sense, whole
from noria.model.state import State


class PauseWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a queue is paused, and until when; without an end, until somebody resumes it."""

    reason: str = ""
    until: datetime | None = None


class LimitsWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a queue; null is none."""

    order: Literal["oldest", "newest"] | UnsetType | None = UNSET
    ageing: float | UnsetType | None = UNSET
    max_age: float | UnsetType | None = UNSET
    max_length: int | UnsetType | None = UNSET
    concurrency: int | UnsetType | None = UNSET
    high_water: dict[str, int] | UnsetType | None = UNSET


class QueueWanted(LimitsWanted, frozen=True, forbid_unknown_fields=True):
    """Limits of a queue, and what else `GET` shows of it: that changes nothing, and the name is that of the path."""

    name: str | UnsetType = UNSET
    counts: Any = UNSET
    dead: Any = UNSET
    oldest_ready_seconds: Any = UNSET
    consumers: Any = UNSET
    paused: Any = UNSET
    held_by: Any = UNSET
    in_rate: Any = UNSET
    out_rate: Any = UNSET
    seconds_to_empty: Any = UNSET

    def limits(self) -> LimitsWanted:
        """The limits alone."""
        return LimitsWanted(**{field: getattr(self, field) for field in LimitsWanted.__struct_fields__})


_queue: Final = msgspec.json.Decoder(QueueWanted)
_limits: Final = msgspec.json.Decoder(LimitsWanted)
_pause: Final = msgspec.json.Decoder(PauseWanted)
_nothing: Final = msgspec.json.Decoder(Nothing)


async def show(ask: Ask) -> Response:
    """`GET /v1/queues`: those that have jobs, a pause, or workers."""
    counts = await ask.desk.backend.counts()
    names = {name for name in _known(counts) if ask.who.sees_queue(name)}
    return replies.page([await _view(ask, name, counts) for name in sorted(names)], None)


async def one(ask: Ask) -> Response:
    """`GET /v1/queues/{name}`."""
    counts = await ask.desk.backend.counts()
    name = ask.path["name"]
    if name not in _known(counts) or not ask.who.sees_queue(name):
        raise Problem("queue_unknown", f"queue {name[:128]!r} has no jobs, no pause and no worker")
    return replies.json(await _view(ask, name, counts))


async def put(ask: Ask) -> Response:
    """`PUT /v1/queues/{name}`: a queue needs no making; it is there as soon as somebody names it.

    If it names a limit, those that it does not name are lifted; if it names none, they stay as they are.
    """
    wanted = await bodies.read_optional(ask.request, _queue)
    change = _change(wanted.limits())
    name = _allowed(ask)
    if wanted.name not in (UNSET, name):
        why = f"it is not the name in the path, {name!r}"
        raise Problem("invalid_value", why, errors=[Part("/name", why)])
    if change.named():
        await _limit(ask, name, whole(change.applied(NO_LIMITS)))
    return replies.json(await _view(ask, name, await ask.desk.backend.counts()))


async def patch(ask: Ask) -> Response:
    """`PATCH /v1/queues/{name}`: those limits that are named change."""
    change = _change(await bodies.read_optional(ask.request, _limits))
    name = _allowed(ask)
    await _limit(ask, name, change)
    return replies.json(await _view(ask, name, await ask.desk.backend.counts()))


def _change(wanted: LimitsWanted) -> Limit:
    try:
        return Limit(**structs.asdict(wanted))
    except InvalidInput as error:
        raise problem_of(error) from None


async def _limit(ask: Ask, name: str, change: Limit) -> None:
    """Change limits, if what comes of it makes sense."""
    for other in change.high_water or ():
        if not ask.who.sees_queue(other):
            raise Problem("queue_not_allowed", f"this key may not use queue {other[:128]!r}")
    before = (await ask.desk.backend.counts()).queues.get(name, QueueCounts({})).limits
    try:
        check_sense(change.applied(before))
        await ask.desk.backend.steer(QueueRef(name), change)
    except InvalidInput as error:
        raise problem_of(error) from None


async def pause(ask: Ask) -> Response:
    """`POST /v1/queues/{name}/pause`. Pausing again changes the words."""
    wanted = await bodies.read_optional(ask.request, _pause)
    name = _allowed(ask)
    try:
        until = None if wanted.until is None else point("until", wanted.until, after=ask.desk.clock.wall())
        change = Pause(reason=wanted.reason, by=ask.who.id, until=until)
    except InvalidInput as error:
        raise Problem("invalid_value", str(error), errors=[Part(f"/{error.field}", str(error))]) from None
    await ask.desk.backend.steer(QueueRef(name), change)
    return replies.json(await _view(ask, name, await ask.desk.backend.counts()))


async def resume(ask: Ask) -> Response:
    """`POST /v1/queues/{name}/resume`."""
    await bodies.read_optional(ask.request, _nothing)
    name = _allowed(ask)
    await ask.desk.backend.steer(QueueRef(name), Resume())
    return replies.json(await _view(ask, name, await ask.desk.backend.counts()))


def _allowed(ask: Ask) -> str:
    """The queue that the path names."""
    name = ask.path["name"]
    if not ask.who.sees_queue(name):
        raise Problem("queue_not_allowed", f"this key may not use queue {name[:128]!r}")
    try:
        return check_name("queue", name)
    except InvalidInput as error:
        raise Problem("queue_unknown", str(error)) from None


def _known(counts: Counts) -> set[str]:
    return {*counts.queues, *(queue for worker in counts.workers for queue in worker.card.queues)}


async def _view(ask: Ask, name: str, counts: Counts) -> dict[str, Any]:
    """A queue as it is shown, with what comes and goes a second."""
    await ask.desk.flows.refresh()
    rates = ask.desk.flows.rates(lambda point: point.queue == name)
    queue = counts.queues.get(name, QueueCounts({}))
    shrinks = rates.went - rates.came
    waiting = queue.states.get(State.QUEUED, 0)
    return {
        **queue_resource(name, queue, counts.workers, holder_of(name, counts.queues)),
        "in_rate": rates.came,
        "out_rate": rates.went,
        "seconds_to_empty": round(waiting / shrinks, 1) if shrinks > 0 else None if waiting else 0.0,
    }
