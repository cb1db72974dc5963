"""Steering: queues are paused and resumed, and get limits. Both are fields to look at; nothing is done to the jobs."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from noria.backends.contract import (
    Close,
    FamilyRef,
    GroupRef,
    Limit,
    Open,
    Pause,
    Paused,
    QueueLimits,
    QueueRef,
    ResourceRef,
    Resume,
    Rule,
    Steered,
    Steering,
    Target,
)
from noria.backends.redis.call import Call, Request, Steps, Word
from noria.backends.redis.grouped import SteerGroup, SteerRule
from noria.backends.redis.heads import NEVER
from noria.backends.redis.settings import Settings
from noria.backends.units import millis
from noria.errors import InvalidInput
from noria.model.groups import Need
from noria.model.queue import NO_LIMITS, check_circle

_TIMES: Final = struct.Struct("<dd")
_ANY_TIME: Final = 0
_BOUNDS: Final = struct.Struct("<ddddd")
_LIMITS: Final = ("order", "ageing", "max_age", "max_length", "concurrency", "high_water")
_TIMED: Final = ("ageing", "max_age")


@dataclass(slots=True)
class Steer(Call):
    """The call."""

    target: QueueRef
    change: Pause | Resume | Limit

    def steps(self, settings: Settings) -> Steps:
        """Pause or resume a queue, or change its limits."""
        ((pause, limits, *circle),) = yield [_request(self.target.queue, self.change)]
        for flat in circle:
            _refuse(self.target.queue, self.change, flat)
        return Steered(
            None if pause is None else read_pause(pause, _ANY_TIME),
            NO_LIMITS if limits is None else read_limits(limits),
        )


def steering_of(target: Target, change: Steering) -> Call:
    """The call that does this to such a target.

    Raises:
        InvalidInput: the change is none for it.
    """
    if isinstance(target, QueueRef) and isinstance(change, Pause | Resume | Limit):
        return Steer(target, change)
    if isinstance(target, GroupRef) and isinstance(change, Close | Open):
        return SteerGroup(target, change)
    if isinstance(target, FamilyRef) and isinstance(change, Rule):
        return SteerRule(target.family, change)
    if isinstance(target, ResourceRef) and isinstance(change, Need) and change.name == target.name:
        return SteerRule(target.name, change)
    raise InvalidInput(f"{type(change).__name__} is nothing that can be done to {target!r:.200}")


def _refuse(queue: str, change: Pause | Resume | Limit, flat: Sequence[bytes]) -> None:
    """Say by which others the queue would be held by itself."""
    pairs = zip(flat[::2], flat[1::2], strict=True)
    marks = {name.decode(): read_limits(packed).high_water for name, packed in pairs}
    if isinstance(change, Limit) and change.high_water:
        marks[queue] = change.high_water
    check_circle(queue, marks)


def _request(queue: str, change: Pause | Resume | Limit) -> Request:
    words: list[Word]
    if isinstance(change, Limit):
        named = change.named()
        return Request("limit", [queue, *(_limit(field, named) for field in _LIMITS)])
    if isinstance(change, Pause):
        until = b"" if change.until is None else millis(change.until)
        words = [queue, 1, until, msgspec.json.encode((change.reason, change.by))]
    else:
        words = [queue, 0, b"", b""]
    return Request("steer", words)


def _limit(field: str, named: Mapping[str, Any]) -> Word:
    """One limit as `limit.lua` takes it."""
    if field not in named:
        return b""
    value = named[field]
    if value is None:
        return b"n"
    if field == "high_water":
        return msgspec.json.encode(value)
    if field == "order":
        return int(value == "newest")
    return millis(value) if field in _TIMED else int(value)


def read_limits(packed: bytes) -> QueueLimits:
    """Limits as they are stored."""
    newest, ageing, max_age, max_length, concurrency = _BOUNDS.unpack_from(packed)
    water = packed[_BOUNDS.size :]
    return QueueLimits(
        order="newest" if newest else "oldest",
        ageing=ageing / 1000,
        max_age=None if max_age == NEVER else max_age / 1000,
        max_length=None if max_length == NEVER else int(max_length),
        concurrency=None if concurrency == NEVER else int(concurrency),
        high_water=msgspec.json.decode(water, type=dict[str, int]) if water else None,
    )


def read_pause(packed: bytes, now: int) -> Paused | None:
    """A pause as it is stored; None if it is over."""
    since, until = _TIMES.unpack_from(packed)
    if until <= now:
        return None
    reason, by = msgspec.json.decode(packed[_TIMES.size :], type=tuple[str, str])
    return Paused(reason, by, since / 1000, None if until == NEVER else until / 1000)
