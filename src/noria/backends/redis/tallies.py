"""The store in numbers, read from counts that every change keeps true."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, ClassVar

from noria.backends.contract import Counts, QueueCounts, WorkerLine
from noria.backends.redis import notes
from noria.backends.redis.call import Call, Request, Steps
from noria.backends.redis.fleet import Line, lines
from noria.backends.redis.settings import Settings
from noria.backends.redis.steer import read_limits, read_pause
from noria.model.queue import NO_LIMITS
from noria.model.state import State


@dataclass(slots=True)
class Count(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Jobs by queue and state, live workers, and how many records were erased."""
        (moment, flat, pauses, ready, limits), fleet, askers = yield [
            Request("counts", []),
            Request("fleet", []),
            notes.ASKING,
        ]
        now = int(moment)
        states: dict[str, dict[State, int]] = defaultdict(dict)
        numbers: dict[str, dict[str, int]] = defaultdict(dict)
        for field, n in _pairs(flat):
            if n == b"0":
                continue
            word, _, queue = field.decode().partition(" ")
            if word.isdecimal():
                states[queue][State(int(word))] = int(n)
            else:
                numbers[word][queue] = int(n)
        for asked_in, asking in notes.queues_of_askers(askers).items():
            # They are counted as running; these were counted a moment before.
            there = states[asked_in].pop(State.RUNNING, 0)
            asking = min(asking, there)
            told = {State.RUNNING: there - asking, State.ASKING: asking}
            states[asked_in] |= {state: m for state, m in told.items() if m}
        oldest = {queue.decode(): max(0, now - int(due)) / 1000 for queue, due in _pairs(ready)}
        held = {queue.decode(): read_pause(pause, now) for queue, pause in _pairs(pauses)}
        paused = {queue: pause for queue, pause in held.items() if pause is not None}
        bounds = {queue.decode(): read_limits(packed) for queue, packed in _pairs(limits)}
        queues = {
            queue: QueueCounts(
                states.get(queue, {}),
                numbers["dead"].get(queue, 0),
                oldest.get(queue),
                paused.get(queue),
                bounds.get(queue, NO_LIMITS),
            )
            for queue in sorted(states.keys() | paused.keys() | bounds.keys())
        }
        workers = [_worker(line) for line in lines(fleet) if not line.late]
        return Counts(queues, workers, sum(numbers["erased"].values()))


def _worker(line: Line) -> WorkerLine:
    return WorkerLine(
        session=line.session,
        card=line.card,
        vitals=line.vitals,
        opened=line.opened / 1000,
        beat=line.beat,
        seen=line.seen / 1000,
    )


def _pairs(flat: list[Any]) -> zip[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)
