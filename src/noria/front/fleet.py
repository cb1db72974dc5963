"""Row 20: the workers: who they are, how they are, what they hold; they are told to be quiet, to stop, to go on."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace
from starlette.responses import Response

from noria.backends.contract import Command, Member
from noria.clock import moment
from noria.front import bodies, replies
from noria.front.principal import Principal
from noria.front.problem import Problem
from noria.front.requests import Nothing
from noria.front.route import Ask
from noria.ids import to_text

_nothing: Final = msgspec.json.Decoder(Nothing)


async def show(ask: Ask) -> Response:
    """`GET /v1/workers`."""
    members = await ask.desk.backend.fleet()
    return replies.page([worker_view(each, ask.who) for each in members if _seen(each, ask.who)], None)


async def one(ask: Ask) -> Response:
    """`GET /v1/workers/{id}`."""
    return replies.json(worker_view(await _find(ask), ask.who))


async def quiet(ask: Ask) -> Response:
    """`POST /v1/workers/{id}/quiet`."""
    return await _tell(ask, "quiet")


async def stop(ask: Ask) -> Response:
    """`POST /v1/workers/{id}/stop`."""
    return await _tell(ask, "stop")


async def resume(ask: Ask) -> Response:
    """`POST /v1/workers/{id}/resume`."""
    return await _tell(ask, "resume")


async def _tell(ask: Ask, command: Command) -> Response:
    await bodies.read_optional(ask.request, _nothing)
    member = await _find(ask)
    if not await ask.desk.backend.command(member.session, command):
        raise _missing(ask)
    try:
        member = await _find(ask)
    except Problem:  # it has ended already, as it was told
        member = replace(member, command="stop" if command == "stop" else None)
    return replies.json(worker_view(member, ask.who))


async def _find(ask: Ask) -> Member:
    """The worker that the path names, if this key may see it."""
    for member in await ask.desk.backend.fleet():
        if id_of(member) == ask.path["id"] and _seen(member, ask.who):
            return member
    raise _missing(ask)


def _missing(ask: Ask) -> Problem:
    return Problem("worker_unknown", f"no worker {ask.path['id'][:32]!r} lives")


def id_of(member: Member) -> str:
    """Its session, as text."""
    return f"{member.session:016x}"


def _seen(member: Member, who: Principal) -> bool:
    return any(who.sees_queue(queue) for queue in member.card.queues)


def worker_view(member: Member, who: Principal) -> dict[str, Any]:
    """A worker, with as much of its queues and tasks as a key may see; its jobs only for keys without limits."""
    card, vitals = member.card, member.vitals
    return {
        "id": id_of(member),
        "name": card.worker,
        "host": card.host,
        "pid": card.pid,
        "version": card.version,
        "language": card.language,
        "queues": [queue for queue in card.queues if who.sees_queue(queue)],
        "tasks": [task for task in card.tasks if who.sees_task(task)],
        "slots": {
            kind: {"busy": vitals.busy.get(kind, 0), "size": size} for kind, size in card.sizes.items()
        },
        "state": _state(member),
        "command": member.command,
        "started_at": moment(member.opened),
        "beat_at": moment(member.seen),
        "rss": vitals.memory,
        "load": vitals.load,
        "loop_lag": vitals.lag,
        "buffered": vitals.buffered,
        "unsettled": vitals.unsettled,
        "settled": vitals.settled,
        "held": member.held,
        "jobs": [] if who.limited else list(map(to_text, member.jobs)),
    }


def _state(member: Member) -> str:
    """How it is: lost is who was silent for longer than it may be, suspect who was for half of that."""
    if member.overdue:
        return "lost"
    return "suspect" if member.silent > member.card.ttl / 2 else member.vitals.state
