"""What was leased and has not begun, and what another thread takes from it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from noria.backends.contract import Fence
from noria.ids import SessionId
from noria.worker.held import Run


class Ready:
    """Jobs of one kind that were leased and not started, the oldest first, and how many of them are suspects."""

    def __init__(self) -> None:
        self._runs: deque[Run] = deque()
        self.suspects = 0

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def since(self) -> float:
        """Since when the oldest waits; there must be one."""
        return self._runs[0].since

    def append(self, run: Run) -> None:
        """Hold one more."""
        self._runs.append(run)
        self.suspects += run.lease.tally.suspect

    def pop(self) -> Run:
        """Give up the oldest."""
        run = self._runs.popleft()
        self.suspects -= run.lease.tally.suspect
        return run

    def drop(self, run: Run) -> None:
        """Give up this one, if it is here."""
        if run in self._runs:
            self._runs.remove(run)
            self.suspects -= run.lease.tally.suspect

    def clear(self) -> list[Run]:
        """Give up all."""
        runs = list(self._runs)
        self._runs.clear()
        self.suspects = 0
        return runs


class Launched:
    """Runs that have a slot, and whose coroutines have not begun. Whoever takes one first, owns it.

    Two threads may take: each step is one operation of a dict, which the interpreter does not divide.
    """

    def __init__(self) -> None:
        self._runs: dict[Run, bool] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, run: Run) -> None:
        """One more, whose coroutine will take it when it begins."""
        self._runs[run] = True

    def take(self, run: Run) -> bool:
        """Whether it was still here."""
        return self._runs.pop(run, False)

    def clear(self) -> list[Run]:
        """Take all, whose coroutines then never begin."""
        return [run for run in list(self._runs) if self.take(run)]


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What a thread has taken while the loop did not turn.

    Attributes:
        session: whose leases these are.
        runs: they will not start here.
        known: what else the session holds, as far as this worker has heard.
    """

    session: SessionId
    runs: list[Run]
    known: list[Fence]
