"""Slots of the loop, and the runs that wait for a person: they hold none meanwhile."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from noria.model.task import Executor
from noria.worker.held import Run


class Slots:
    """Which slots are free. Whoever comes back from waiting is first in line for the next one of the loop's.

    Args:
        sizes: how many there are of each kind.
        freed: called when one has become free.

    Attributes:
        suspects: how many runs in slots are of jobs that have crashed their process; one that waits crashes nothing.
    """

    def __init__(self, sizes: Mapping[Executor, int], freed: Callable[[], None]) -> None:
        self.free = dict(sizes)
        self.suspects = 0
        self._numbers = list(range(sum(sizes.values())))
        self._freed = freed
        self._back: deque[asyncio.Future[None]] = deque()

    def take(self, run: Run, kind: Executor) -> None:
        """Give a run a slot; the caller has seen that one is free."""
        self.free[kind] -= 1
        self.suspects += run.lease.tally.suspect
        run.slot = self._numbers.pop()

    def give_back(self, run: Run, kind: Executor) -> None:
        """The run needs its slot no more; one that is away has none."""
        if not run.away:
            self._numbers.append(run.slot)
            self.suspects -= run.lease.tally.suspect
            self._release(kind)

    def leave(self, run: Run) -> None:
        """The run waits, and needs no slot from here on; its number stays as a sign that it has begun."""
        if not run.away:
            self.give_back(run, "async")
            run.away = True
            self._freed()

    async def come_back(self, run: Run) -> None:
        """Wait for a slot."""
        if self.free["async"] > 0:
            self.free["async"] -= 1
        else:
            await self._turn()
        run.slot = self._numbers.pop()
        self.suspects += run.lease.tally.suspect
        run.away = False

    async def _turn(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._back.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                # It was handed a slot that it cannot use.
                self._release("async")
                self._freed()
            raise

    def _release(self, kind: Executor) -> None:
        if kind == "async":
            while self._back:
                turn = self._back.popleft()
                if not turn.done():
                    return turn.set_result(None)
        self.free[kind] += 1
