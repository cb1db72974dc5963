"""Steering: queues are paused and resumed. A pause is a field that leases look at, and nothing is done to the jobs."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import msgspec

from noria.backends.contract import Pause, Paused, QueueRef, Resume, Steered
from noria.backends.redis.call import Call, Request, Steps, Word
from noria.backends.redis.heads import NEVER
from noria.backends.redis.settings import Settings
from noria.backends.units import millis

_TIMES: Final = struct.Struct("<dd")
_ANY_TIME: Final = 0


@dataclass(slots=True)
class Steer(Call):
    """The call."""

    target: QueueRef
    change: Pause | Resume

    def steps(self, settings: Settings) -> Steps:
        """Pause or resume a queue."""
        change = self.change
        words: list[Word]
        if isinstance(change, Pause):
            until = b"" if change.until is None else millis(change.until)
            words = [self.target.queue, 1, until, msgspec.json.encode((change.reason, change.by))]
        else:
            words = [self.target.queue, 0, b"", b""]
        (answer,) = yield [Request("steer", words)]
        return Steered(None if answer is None else read_pause(answer, _ANY_TIME))


def read_pause(packed: bytes, now: int) -> Paused | None:
    """A pause as it is stored; None if it is over."""
    since, until = _TIMES.unpack_from(packed)
    if until <= now:
        return None
    reason, by = msgspec.json.decode(packed[_TIMES.size :], type=tuple[str, str])
    return Paused(reason, by, since / 1000, None if until == NEVER else until / 1000)
