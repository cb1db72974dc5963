"""The store in numbers, read from counts that every transaction keeps true."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from noria.backends.contract import Counts, QueueCounts, Vitals, WorkerCard, WorkerLine
from noria.backends.sql.call import Call
from noria.backends.sql.marks import asking
from noria.backends.sql.rows import decode
from noria.backends.sql.steer import pauses
from noria.backends.sql.transaction import DEAD, ERASED, Transaction
from noria.ids import SessionId
from noria.model.state import State


@dataclass(slots=True)
class Count(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> Counts:
        """Jobs by queue and state, live workers, and how many records were erased."""
        states: dict[str, dict[State, int]] = defaultdict(dict)
        dead: dict[str, int] = {}
        oldest: dict[str, float] = {}
        erased = 0
        for queue, state, n, due in decode(work.row("counts")[0], list[tuple[str, int, int, int | None]]):
            if state == ERASED:
                erased += n
            elif state == DEAD:
                dead[queue] = n
            elif n:
                states[queue][State(state)] = n
            if due is not None:
                oldest[queue] = max(0, work.now - due) / 1000
        for queue, n in asking(work).items():
            states[queue][State.ASKING] = n
            states[queue][State.RUNNING] -= n
            if states[queue][State.RUNNING] <= 0:
                del states[queue][State.RUNNING]
        paused = pauses(work)
        queues = {
            queue: QueueCounts(
                states.get(queue, {}),
                dead.get(queue, 0),
                oldest.get(queue),
                paused.get(queue),
                work.bounds_of(queue).limits,
            )
            for queue in sorted(states.keys() | paused.keys() | work.bounds.keys())
        }
        return Counts(queues, _workers(work), erased)


def _workers(work: Transaction) -> list[WorkerLine]:
    Row = tuple[SessionId, str, str, int, int, int]
    return [
        WorkerLine(
            session=session,
            card=decode(card, WorkerCard),
            vitals=decode(vitals, Vitals),
            opened=opened / 1000,
            beat=beat,
            seen=seen / 1000,
        )
        for session, card, vitals, opened, beat, seen in decode(work.row("workers", work.now)[0], list[Row])
    ]
