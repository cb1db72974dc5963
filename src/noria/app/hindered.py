"""What keeps a job from running that is tied to others: its group is closed, full or slowed, a resource is used up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noria import ids
from noria.app.scene import MOST_AHEAD, Scene, when
from noria.clock import moment
from noria.ids import Id
from noria.model.groups import GroupRef
from noria.model.job import Record
from noria.model.reason import Reason
from noria.model.state import State
from noria.model.wording import ordinal

_NAMED = 5
"""How many holders a sentence names."""


def closed(record: Record, scene: Scene) -> Iterator[Reason]:
    """Its group is closed."""
    group = scene.group
    if group is None or group.closed is None:
        return
    by = f" by {group.closed.by}" if group.closed.by else ""
    because = f" because {' '.join(group.closed.reason.split())}" if group.closed.reason else ""
    until = "" if group.closed.until is None else f" until {when(group.closed.until, scene.now)}"
    told = {"by": group.closed.by, "reason": group.closed.reason, "until": moment(group.closed.until)}
    yield Reason(
        "group_closed", f"{_named(group.ref)} is closed{by}{because}{until}", {**_fields(group.ref), **told}
    )


def places(record: Record, scene: Scene) -> Iterator[Reason]:
    """All places of its group are taken."""
    group = scene.group
    if group is None or record.state is not State.WAITING or group.rule.most is None:
        return
    if group.taken >= group.rule.most:
        held = (
            f"{_named(group.ref)} has {group.taken} of {group.rule.most} places taken: {_jobs(group.holders)}"
        )
        ordered = ", and keeps the order" if group.rule.ordered else ""
        told = {"taken": group.taken, "limit": group.rule.most, "ordered": group.rule.ordered}
        holders = " ".join(map(ids.to_text, group.holders[:_NAMED]))
        yield Reason("group_full", held + ordered, {**_fields(group.ref), **told, "holders": holders})


def slowed(record: Record, scene: Scene) -> Iterator[Reason]:
    """The rate of its group allows no start yet."""
    group = scene.group
    if group is None or record.state is not State.WAITING or group.rule.rate is None:
        return
    rate = group.rule.rate
    at = "" if group.next_at is None else f", the next at {when(group.next_at, scene.now)}"
    text = f"{_named(group.ref)} may start {rate.times} in {rate.seconds:g} s{at}"
    told = {"times": rate.times, "seconds": rate.seconds, "next_at": moment(group.next_at)}
    yield Reason("group_rate", text, {**_fields(group.ref), **told})


def needing(record: Record, scene: Scene) -> Iterator[Reason]:
    """A resource has no token left, or its rate allows none yet."""
    for line in scene.resources:
        need, name = line.need, line.need.name
        if need.capacity is not None and line.used >= need.capacity:
            text = f"{name!r} has {line.used} of {need.capacity} in use: {_jobs(line.holders)}"
            yield Reason(
                "resource_used", text, {"resource": name, "used": line.used, "capacity": need.capacity}
            )
        if need.rate is not None and line.next_at is not None:
            what = f"task {name[5:]!r}" if name.startswith("task:") else f"{name!r}"
            next_at = when(line.next_at, scene.now)
            text = f"{what} may start {need.rate.times} in {need.rate.seconds:g} s, the next at {next_at}"
            yield Reason("resource_rate", text, {"resource": name, "next_at": moment(line.next_at)})


def in_line(place: int) -> str:
    """Where a job stands in the line of its group."""
    if place >= MOST_AHEAD:
        return f"behind at least {MOST_AHEAD:,}"
    return "the next" if not place else f"the {ordinal(place + 1)}"


def _named(ref: GroupRef) -> str:
    return f"its group {ref.family}={ref.key}"


def _fields(ref: GroupRef) -> dict[str, str]:
    return {"family": ref.family, "key": ref.key}


def _jobs(holders: Sequence[Id]) -> str:
    named = ", ".join(f"job {ids.to_text(id)}" for id in holders[:_NAMED])
    return f"{named}, …" if len(holders) > _NAMED else named or "nobody any more"
