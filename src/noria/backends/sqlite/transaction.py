"""One transaction as the calls in it see it: its moment, its statements, and what must follow its commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import apsw

from noria.backends.contract import Channel, Outline
from noria.backends.sqlite.rows import encode
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.statements import statement
from noria.model.state import State

DEAD: Final = -1
ERASED: Final = -2
"""Counted beside the states: dead letters, and records erased at success."""


class Transaction:
    """What one transaction reads and changes.

    Attributes:
        now: its moment, in milliseconds since the epoch.
        outlines: outcomes to be told after the commit, by reply channel.
        wake: channels to be hinted after the commit, without a payload.
    """

    def __init__(self, connection: apsw.Connection, settings: Settings, now: int) -> None:
        self.settings = settings
        self.now = now
        self.outlines: dict[Channel, list[Outline]] = {}
        self.wake: set[Channel] = set()
        self._connection = connection
        self._counts: Counter[tuple[str, int]] = Counter()

    def row(self, name: str, *values: Any) -> tuple[Any, ...]:
        """The one row that a statement returns."""
        found = self.row_or_none(name, *values)
        assert found is not None, f"{name}.sql always returns one row"
        return found

    def row_or_none(self, name: str, *values: Any) -> tuple[Any, ...] | None:
        """The only row that a statement returns, if it returns one."""
        return self._connection.execute(statement(name), values).fetchone()

    def run(self, name: str, *values: Any) -> int:
        """Run a statement that returns nothing; says how many rows it changed."""
        self._connection.execute(statement(name), values)
        return self._connection.changes()

    def moved(self, queue: str, before: int | None, after: int | None, n: int = 1) -> None:
        """Count jobs that went from one state to another; None is where they did not exist."""
        if before is not None:
            self._counts[queue, before] -= n
        if after is not None:
            self._counts[queue, after] += n

    def tell(self, reply: str | None, outline: Outline) -> None:
        """Have an outcome told to whoever waits for it."""
        if reply is not None:
            self.outlines.setdefault(reply, []).append(outline)

    def ended(self, id: str, reply: str | None, state: State) -> None:
        """Have the end of a job without a value told to whoever waits for it."""
        self.tell(reply, Outline(id.lower(), int(state)))

    def has_work(self, queues: Iterable[str]) -> None:
        """Wake those who wait for jobs of these queues."""
        self.wake.update(f"queue:{queue}" for queue in queues)

    def write_counts(self) -> None:
        """Write the differences to the counts; last in a transaction."""
        changed = [(queue, state, n) for (queue, state), n in self._counts.items() if n]
        if changed:
            self.run("add_counts", encode(changed))
