"""Row 21: timers. A key that is limited sees and changes those whose task and queue are its own."""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from noria.app import checks
from noria.app.timerbook import Check, TimerBook, not_there
from noria.backends.contract import DocWrite
from noria.clock import moment, utc
from noria.errors import InvalidInput, ScheduleNotFound, WrongState
from noria.front import bodies, limits, replies
from noria.front.paging import cursor, limit_of, place
from noria.front.problem import Part, Problem
from noria.front.requests import Nothing
from noria.front.resources import rule_resource, schedule_resource
from noria.front.route import Ask
from noria.front.schedule_requests import (
    BackfillWanted,
    PreviewWanted,
    RestWanted,
    ScheduleWanted,
    TimerPut,
    rule_in,
    schedule_of,
)
from noria.front.times import point
from noria.model.names import check_name
from noria.model.schedule import Schedule, renewed
from noria.model.timetable import Rule

_ERASED: Final = "erased-schedule"
"""The kind of document that remembers who has deleted which timer."""
_PAGE: Final = 100

_made: Final = msgspec.json.Decoder(ScheduleWanted)
_put: Final = msgspec.json.Decoder(TimerPut)
_pause: Final = msgspec.json.Decoder(RestWanted)
_backfill: Final = msgspec.json.Decoder(BackfillWanted)
_preview: Final = msgspec.json.Decoder(PreviewWanted)
_nothing: Final = msgspec.json.Decoder(Nothing)


async def show(ask: Ask) -> Response:
    """`GET /v1/schedules`: by name."""
    params = ask.request.query_params
    limit = limit_of(params.get("limit"), limits.PAGE, limits.USUAL_PAGE)
    start = place(params.get("cursor"), "schedules", None)
    found: list[tuple[str, Schedule]] = []
    page, after = await _book(ask).page(None if start is None else start.decode(errors="replace"), _PAGE)
    while after is not None:
        found += [(name, each) for name, each in page if _is_seen(ask, each)]
        if len(found) > limit:
            break
        page, after = await _book(ask).page(after, _PAGE)
    following = cursor(found[limit - 1][0].encode(), "schedules") if len(found) > limit else None
    now = ask.desk.clock.wall()
    return replies.page([schedule_resource(name, each, now) for name, each in found[:limit]], following)


async def one(ask: Ask) -> Response:
    """`GET /v1/schedules/{name}`."""
    name = _named(ask)
    return _shown(ask, name, await _found(ask, name))


async def create(ask: Ask) -> Response:
    """`POST /v1/schedules`. To make the same again is done; one that differs stays as it is."""
    wanted = await bodies.read_struct(ask.request, _made)
    try:
        name = check_name("schedule", wanted.name)
    except InvalidInput as error:
        raise Problem("invalid_value", str(error), errors=[Part("/name", str(error))]) from None
    made = await schedule_of(ask.desk, ask.who, wanted)

    def check(stored: Schedule | None) -> None:
        if stored is not None and (not _is_seen(ask, stored) or renewed(stored, made) != stored):
            raise WrongState(f"there is a timer {name!r} already; PUT changes one, or choose another name")

    stored = await _book(ask).put(name, made, check)
    return _shown(ask, name, stored, 201, {"Location": f"{ask.root}/v1/schedules/{name}"})


async def put(ask: Ask) -> Response:
    """`PUT /v1/schedules/{name}`: makes it, or says how it is from now on; it goes on where it was."""
    wanted = await bodies.read_struct(ask.request, _put)
    name = _named(ask)
    if wanted.name not in (UNSET, name):
        why = f"the path names {name!r}; a timer keeps its name"
        raise Problem("invalid_value", why, errors=[Part("/name", why)])
    made = await schedule_of(ask.desk, ask.who, wanted)

    def check(stored: Schedule | None) -> None:
        if stored is not None and not _is_seen(ask, stored):
            raise WrongState(
                f"there is a timer {name!r} already, which is not this key's; choose another name"
            )

    return _shown(ask, name, await _book(ask).put(name, made, check))


async def delete(ask: Ask) -> Response:
    """`DELETE /v1/schedules/{name}`. Who deleted it is told so again for 24 hours."""
    await bodies.read_optional(ask.request, _nothing)
    name, book, backend = _named(ask), _book(ask), ask.desk.backend
    trace = f"{ask.who.id} {name}"
    try:
        await _found(ask, name)
    except ScheduleNotFound:
        if list(await backend.read(_ERASED, [trace])) == [None]:
            raise
        return replies.nothing()
    await backend.write([DocWrite(_ERASED, trace, b"", ttl=limits.REMEMBERED)])
    await book.delete(name, _seen(ask, name))
    return replies.nothing()


async def pause(ask: Ask) -> Response:
    """`POST /v1/schedules/{name}/pause`. Pausing again changes the words."""
    wanted = await bodies.read_optional(ask.request, _pause)
    name = _named(ask)
    return _shown(ask, name, await _book(ask).pause(name, wanted.reason, ask.who.id, _seen(ask, name)))


async def resume(ask: Ask) -> Response:
    """`POST /v1/schedules/{name}/resume`."""
    await bodies.read_optional(ask.request, _nothing)
    name = _named(ask)
    return _shown(ask, name, await _book(ask).resume(name, _seen(ask, name)))


async def run(ask: Ask) -> Response:
    """`POST /v1/schedules/{name}/run`: now, out of turn."""
    await bodies.read_optional(ask.request, _nothing)
    name = _named(ask)
    queue = (await _found(ask, name)).template.queue
    async with ask.desk.intake.admit(ask.who, queue):
        done = await _book(ask).run(name, _seen(ask, name))
    return _shown(ask, name, done)


async def backfill(ask: Ask) -> Response:
    """`POST /v1/schedules/{name}/backfill`: run the slots of a time in the past once more."""
    wanted = await bodies.read_struct(ask.request, _backfill)
    name = _named(ask)
    since, until = (utc(point(field, getattr(wanted, field))) for field in ("since", "until"))
    slots, done = await _book(ask).backfill(name, since, until, _seen(ask, name))
    return replies.json({**schedule_resource(name, done, ask.desk.clock.wall()), "slots": slots})


async def preview(ask: Ask) -> Response:
    """`POST /v1/schedules/preview`: when a rule is due, in words and times."""
    wanted = await bodies.read_struct(ask.request, _preview)
    count = checks.whole(1, limits.SLOTS)("count", wanted.count)
    after = ask.desk.clock.wall() if wanted.after is None else point("after", wanted.after)
    rule = await _rule(ask, wanted)
    slots = [moment(slot) for slot in islice(rule.slots(after), count)]
    return replies.json({**rule_resource(rule), "next_at": slots})


async def _rule(ask: Ask, wanted: PreviewWanted) -> Rule:
    if wanted.name is None:
        return rule_in(wanted)
    if wanted.every is not None or wanted.cron is not None or wanted.tz is not None:
        raise Problem(
            "invalid_value", "a name or a rule, not both", errors=[Part("/name", "stands beside a rule")]
        )
    return (await _found(ask, wanted.name)).rule


# -- which, and for whom -------------------------------------------------------------------------------------


def _book(ask: Ask) -> TimerBook:
    home = ask.desk.app.home
    return TimerBook(ask.desk.backend, home.clock, home.ids)


def _named(ask: Ask) -> str:
    """The name in the path.

    Raises:
        ScheduleNotFound: no timer can be called so.
    """
    try:
        return check_name("schedule", ask.path["name"])
    except InvalidInput:
        raise not_there(ask.path["name"]) from None


async def _found(ask: Ask, name: str) -> Schedule:
    """A timer that this key may see.

    Raises:
        ScheduleNotFound: there is none.
    """
    try:
        found = await _book(ask).get(name)
    except InvalidInput:
        raise not_there(name) from None
    _seen(ask, name)(found)
    return found


def _seen(ask: Ask, name: str) -> Check:
    """That a timer which this key may not see is as one that is not there."""

    def check(schedule: Schedule | None) -> None:
        if schedule is not None and not _is_seen(ask, schedule):
            raise not_there(name)

    return check


def _is_seen(ask: Ask, schedule: Schedule) -> bool:
    return ask.who.sees(schedule.template.queue, schedule.template.task)


def _shown(
    ask: Ask, name: str, schedule: Schedule, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return replies.json(schedule_resource(name, schedule, ask.desk.clock.wall()), status, headers)
