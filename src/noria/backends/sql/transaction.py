"""One transaction as the calls in it see it: its moment, its statements, and what must follow its commit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import msgspec

from noria.backends.contract import Channel, Outline
from noria.backends.sql.bounds import NONE, Bounds, Sizes, held_among, marked_by
from noria.backends.sql.groups import Groups
from noria.backends.sql.patterns import Patterns
from noria.backends.sql.rows import decode, encode
from noria.backends.sql.settings import Settings
from noria.model.flow import Word
from noria.model.queue import GOES_ON, WAITS_TO_RUN
from noria.model.state import State

if TYPE_CHECKING:
    from noria.backends.sql.drafts import Drafts

DEAD: Final = -1
ERASED: Final = -2
"""Counted beside the states: dead letters, and records erased at success."""


T = TypeVar("T")

MINUTE: Final = 60_000
"""Milliseconds."""


class Transaction(ABC):
    """What one transaction reads and changes. A backend says how its statements are run.

    Attributes:
        patterns: how its statements are told what to look for.
        now: its moment, in milliseconds since the epoch.
        outlines: outcomes to be told after the commit, by reply channel.
        wake: channels to be hinted after the commit, each with the lane that has work, or None.
        hints: what else is to be sent after the commit.
        ended_parents: jobs that have ended and that others wait for, by id as hex, with their states.
        groups: what is done to groups; settled at the end of each call.
    """

    patterns: ClassVar[Patterns]
    looks_first: ClassVar[bool] = True
    """Whether a push looks for limits before it stores anything; else it is told when it does."""

    def __init__(self, settings: Settings, now: int) -> None:
        self.settings = settings
        self.now = now
        self.outlines: dict[Channel, list[Outline]] = {}
        self.wake: dict[Channel, int | None] = {}
        self.hints: list[tuple[Channel, bytes]] = []
        self.ended_parents: dict[str, int] = {}
        self.groups = Groups()
        self._counts: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._flow: defaultdict[tuple[str, str, Word], int] = defaultdict(int)
        self._bounds: dict[str, Bounds] | None = None

    @abstractmethod
    def row_or_none(self, name: str, *values: Any) -> Sequence[Any] | None:
        """The only row that a statement returns, if it returns one."""

    @abstractmethod
    def run(self, name: str, *values: Any) -> None:
        """Run a statement whose answer nobody needs; it may go out together with the next one."""

    @abstractmethod
    def changes(self, name: str, *values: Any) -> int:
        """Run a statement that returns nothing; says how many rows it changed."""

    @abstractmethod
    def insert(self, drafts: Drafts) -> None:
        """Store new jobs; those for which another job stands are dropped from the drafts instead."""

    def row(self, name: str, *values: Any) -> Sequence[Any]:
        """The one row that a statement returns."""
        found = self.row_or_none(name, *values)
        assert found is not None, f"{name}.sql always returns one row"
        return found

    def moved(self, queue: str, before: int | None, after: int | None, n: int = 1) -> None:
        """Count jobs that went from one state to another; None is where they did not exist."""
        if before is not None:
            self._counts[queue, before] -= n
        if after is not None:
            self._counts[queue, after] += n

    def happened(self, queue: str, task: str, word: Word, n: int = 1) -> None:
        """Count what has happened to jobs of a task."""
        self._flow[queue, task, word] += n

    def tell(self, reply: str | None, outline: Outline) -> None:
        """Have an outcome told to whoever waits for it."""
        if reply is not None:
            self.outlines.setdefault(reply, []).append(outline)

    def ended(self, id: str, reply: str | None, state: State, awaited: int = 0) -> None:
        """Have the end of a job without a value told to whoever waits for it, jobs included."""
        self.tell(reply, Outline(id.lower(), int(state)))
        if awaited:
            self.ended_parents[id.lower()] = int(state)

    def has_work(self, queue: str, lane: int | None = None) -> None:
        """Wake those who wait for jobs of this queue, in any lane unless one is named."""
        channel = f"queue:{queue}"
        self.wake[channel] = lane if self.wake.get(channel, lane) == lane else None

    # ---- limits of queues

    @property
    def bounds(self) -> Mapping[str, Bounds]:
        """The limits of all queues that have any."""
        if self._bounds is None:
            self.know_bounds(self.row("limits")[0])
        assert self._bounds is not None, "known by now"
        return self._bounds

    def know_bounds(self, found: str | bytes | list[Any]) -> None:
        """Another statement has read along what `limits.sql` reads."""
        none = not isinstance(found, list) and len(found) <= len(NONE)
        self._bounds = {} if none else {each.queue: each for each in _read(found, list[Bounds])}

    def forget_bounds(self) -> None:
        """They have changed."""
        self._bounds = None

    def bounds_of(self, queue: str) -> Bounds:
        """The limits of one queue."""
        return self.bounds.get(queue) or Bounds(queue)

    def sizes(self, queues: Collection[str]) -> Sizes:
        """How many jobs these queues have in each state, what this transaction did included."""
        found = _read(self.row("sizes", encode(sorted(queues)))[0], list[tuple[str, int, int]])
        return [*found, *((queue, state, n) for (queue, state), n in self._counts.items() if queue in queues)]

    def hold_lengths(self, queues: Collection[str]) -> None:
        """Have others wait who add to these queues by their length, until this has ended; one writes at a time."""
        return

    def hold_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        """Have others wait who may change the holders of these keys, until this has ended; one writes at a time."""
        return

    def hold_limits(self) -> None:
        """Have others wait who change limits that depend on each other; one writes at a time."""
        return

    def held(self, queues: Collection[str]) -> set[str]:
        """Those of these queues of which nothing is leased while others back up; their limits are known."""
        marked = marked_by(self.bounds, queues) if self.bounds else ()
        return held_among(self.bounds, queues, self.sizes(marked)) if marked else set()

    def _wake_freed(self) -> None:
        """Tell whoever waits that a place is free in a queue of which only so many jobs may run."""
        for (queue, state), n in self._counts.items():
            if state == State.RUNNING and n < 0 and self.bounds_of(queue).concurrency is not None:
                self.has_work(queue)
        ebbed = self._ebbed()
        if ebbed:
            self.wake_held(ebbed, gone=[(queue, state, n) for (queue, state), n in self._counts.items()])

    def _ebbed(self) -> set[str]:
        """The queues that may back up no longer: fewer jobs wait there, or fewer go on."""
        waiting: defaultdict[str, int] = defaultdict(int)
        going: defaultdict[str, int] = defaultdict(int)
        for (queue, state), n in self._counts.items():
            if state in WAITS_TO_RUN:
                waiting[queue] += n
            if state in GOES_ON:
                going[queue] += n
        return {queue for queue, n in [*waiting.items(), *going.items()] if n < 0}

    def wake_held(self, ebbed: Collection[str], *, gone: Sizes = (), coming: Sizes = ()) -> None:
        """Tell whoever waits for jobs of queues that others have held until now, and hold no longer.

        Args:
            ebbed: the others.
            gone, coming: how their sizes change; `gone` is in them already when they are read.
        """
        marked = [queue for queue, each in self.bounds.items() if set(each.high_water or ()) & set(ebbed)]
        if not marked:
            return
        sizes = self.sizes(marked_by(self.bounds, marked))
        before = [*sizes, *((queue, state, -n) for queue, state, n in gone)]
        for queue in sorted(
            held_among(self.bounds, marked, before) - held_among(self.bounds, marked, [*sizes, *coming])
        ):
            self.has_work(queue)

    # ---- last

    def write_counts(self) -> None:
        """Write the differences to the counts; last in a transaction."""
        self._wake_freed()
        self._write_counts()

    def _write_counts(self) -> None:
        changed = self._changed()
        if changed:
            self.run("add_counts", encode(changed))
        self._write_flow()

    def _changed(self) -> list[tuple[str, int, int]]:
        return [(queue, state, n) for (queue, state), n in self._counts.items() if n]

    def _write_flow(self) -> None:
        if len(self._flow) == 1:
            # Nearly always: a producer's jobs, or a worker's outcomes. To read JSON would take longer than the rest.
            ((key, n),) = self._flow.items()
            self.run("add_flow_one", *key, n, self.now // MINUTE)
        elif self._flow:
            lines = [(*key, n) for key, n in self._flow.items()]
            self.run("add_flow", encode(lines), self.now // MINUTE)


def _read(found: Any, kind: type[T]) -> T:
    """JSON as it was read, or as a caller's own driver has read it already, if it is told to."""
    return msgspec.convert(found, kind) if isinstance(found, list) else decode(found, kind)
