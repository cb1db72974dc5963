"""Event streams with one rule removed; `BROKEN` is the list of all broken builds, these among them."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec

from noria.front import events, watch
from noria.front.position import Position
from noria.model.job import Record
from noria.testing.simulation import SOUND, Build
from tests.sim.broken import BROKEN as BROKEN
from tests.sim.broken import Patch, without


@without("a stream tells each version once", "I15", readers=3)
def _tells_again(patch: Patch) -> Build:
    moved = events.Stream._moved

    async def forgetful(self: events.Stream, follower: watch.Follower, send: Any) -> bool:
        self._record = msgspec.structs.replace(self._record, version=-1)
        return await moved(self, follower, send)

    def tell(self: watch.Follower, record: Record | None) -> None:
        self.record = record
        self.news.set()

    patch.setattr(events.Stream, "_moved", forgetful)
    patch.setattr(watch.Follower, "tell", tell)
    return SOUND


@without("the end of a job is the end of its stream", "I15", readers=3)
def _goes_on(patch: Patch) -> Build:
    moved = events.Stream._moved

    async def on(self: events.Stream, follower: watch.Follower, send: Any) -> bool:
        await moved(self, follower, send)
        return False

    patch.setattr(events.Stream, "_moved", on)
    return SOUND


@without("followed jobs are looked at now and then, hints or none", "I15", readers=3)
def _relies_on_hints(patch: Patch) -> Build:
    patch.setattr(watch, "POLL", 3_600.0)
    return SOUND


@without("the number of an event is the version of its job", "I15", readers=3)
def _numbers_by_itself(patch: Patch) -> Build:
    numbers, event = count(1), events._event

    def numbered(name: str, at: Position, what: object) -> bytes:
        return event(name, msgspec.structs.replace(at, version=next(numbers)), what)

    patch.setattr(events, "_event", numbered)
    return SOUND
