"""Groups and resources: how they stand, and groups closed and opened by people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from noria import ids
from noria.backends.contract import Close, GroupRef, Open
from noria.clock import moment
from noria.errors import InvalidInput
from noria.front import bodies, limits, replies
from noria.front.paging import cursor, limit_of, place
from noria.front.problem import Part, Problem
from noria.front.requests import GroupWanted
from noria.front.route import Ask
from noria.front.times import point
from noria.ids import Id
from noria.model.groups import GroupLine, Rate, ResourceLine

NAMED: Final = 10
"""Holders that are named."""


class CloseWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """Which group is closed, why, and until when; without an end, until somebody opens it."""

    family: str
    key: str
    reason: str = ""
    until: datetime | None = None


_close: Final = msgspec.json.Decoder(CloseWanted)
_open: Final = msgspec.json.Decoder(GroupWanted)


async def show(ask: Ask) -> Response:
    """`GET /v1/groups`: those that are in use. A key that sees some queues alone sees none: groups go across queues."""
    if ask.who.limited:
        return replies.page([], None)
    params = ask.request.query_params
    family = params.get("family")
    most = limit_of(params.get("limit"), limits.PAGE, limits.USUAL_PAGE)
    last = place(params.get("cursor"), ["groups", family], None)
    after = None if last is None else GroupRef(*msgspec.json.decode(last, type=tuple[str, str]))
    lines = await ask.desk.backend.groups(family, after, most)
    ref = lines[-1].ref if len(lines) == most else None
    more = None if ref is None else cursor(msgspec.json.encode((ref.family, ref.key)), ["groups", family])
    return replies.page([group_resource(line) for line in lines], more)


async def resources(ask: Ask) -> Response:
    """`GET /v1/resources`: all of them; none to a key that sees some queues alone."""
    lines = [] if ask.who.limited else await ask.desk.backend.resources()
    return replies.page([resource_resource(line) for line in lines], None)


async def close(ask: Ask) -> Response:
    """`POST /v1/groups/close`. Closing again changes the words and the end."""
    wanted = await bodies.read_struct(ask.request, _close)
    _check_allowed(ask)
    try:
        until = None if wanted.until is None else point("until", wanted.until, after=ask.desk.clock.wall())
        change = Close(reason=wanted.reason, by=ask.who.id, until=until)
        ref = GroupRef(wanted.family, wanted.key)
    except InvalidInput as error:
        raise Problem("invalid_value", str(error), errors=[Part(f"/{error.field}", str(error))]) from None
    await ask.desk.backend.steer(ref, change)
    return await _told(ask, ref)


async def reopen(ask: Ask) -> Response:
    """`POST /v1/groups/open`."""
    wanted = await bodies.read_struct(ask.request, _open)
    _check_allowed(ask)
    try:
        ref = GroupRef(wanted.family, wanted.key)
    except InvalidInput as error:
        raise Problem("invalid_value", str(error), errors=[Part(f"/{error.field}", str(error))]) from None
    await ask.desk.backend.steer(ref, Open())
    return await _told(ask, ref)


async def _told(ask: Ask, ref: GroupRef) -> Response:
    """How a group stands; one that is not in use is open and empty."""
    [line] = await ask.desk.backend.group([ref])
    return replies.json(_idle(ref) if line is None else group_resource(line))


def _check_allowed(ask: Ask) -> None:
    if ask.who.limited:
        raise Problem("queue_not_allowed", "groups go across queues, and this key may use some queues alone")


def group_resource(line: GroupLine) -> dict[str, Any]:
    """A group as it is shown."""
    shut = line.closed
    closed = shut and {"by": shut.by or None, "reason": shut.reason or None, "until": moment(shut.until)}
    return {
        **_idle(line.ref),
        "limit": line.rule.most,
        "rate": _rate(line.rule.rate),
        "ordered": line.rule.ordered,
        "taken": line.taken,
        "waiting": line.waiting,
        "holders": _holders(line.holders),
        "closed": closed,
        "next_at": moment(line.next_at),
    }


def resource_resource(line: ResourceLine) -> dict[str, Any]:
    """A resource as it is shown."""
    return {
        "name": line.need.name,
        "capacity": line.need.capacity,
        "rate": _rate(line.need.rate),
        "used": line.used,
        "holders": _holders(line.holders),
        "next_at": moment(line.next_at),
    }


def _idle(ref: GroupRef) -> dict[str, Any]:
    return {
        "family": ref.family, "key": ref.key, "limit": None, "rate": None, "ordered": False, "taken": 0, "waiting": 0,
        "holders": [], "closed": None, "next_at": None,
    }  # fmt: skip


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    return None if rate is None else {"times": rate.times, "seconds": rate.seconds, "burst": rate.burst}


def _holders(holders: Sequence[Id]) -> list[str]:
    return [ids.to_text(id) for id in holders[:NAMED]]
