"""Resources within a lease: which tokens there are, and which lines of jobs can have theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from noria.backends.rules import read_need
from noria.backends.sql.groups import FOREVER
from noria.backends.sql.rows import decode, encode
from noria.model.groups import Need

if TYPE_CHECKING:
    from noria.backends.sql.transaction import Transaction


def names(gate: str) -> list[str]:
    """The resources that a line of jobs needs."""
    return gate.split(" ") if gate else []


def gate(needs: Iterable[Need]) -> str:
    """The line of jobs with these needs."""
    return " ".join(sorted({need.name for need in needs}))


@dataclass(slots=True)
class _Supply:
    """What there is of one resource."""

    need: Need
    tat: float
    left: int
    taken: int = 0


@dataclass(slots=True)
class Tokens:
    """The tokens that a lease can give.

    Attributes:
        blocked: lines of which a job could not have its tokens.
    """

    now: int
    _supplies: dict[str, _Supply]
    blocked: set[str] = field(default_factory=set)

    def take(self, gate: str) -> bool:
        """Take one token of each of these, or none."""
        supplies = [self._supplies[name] for name in names(gate) if name in self._supplies]
        if any(supply.left <= supply.taken for supply in supplies):
            self.blocked.add(gate)
            return False
        for supply in supplies:
            supply.taken += 1
        return True

    def next_at(self) -> int | None:
        """When a rate will allow the next job of a line that could have none; in milliseconds."""
        times = [self._opens(gate) for gate in self.blocked]
        return min((at for at in times if at is not None), default=None)

    def _opens(self, gate: str) -> int | None:
        """When the rates of a line allow a job; None if it waits for somebody to give back a token."""
        times = []
        for name in names(gate):
            supply = self._supplies.get(name)
            if supply is None or supply.left > supply.taken:
                continue
            rate = supply.need.rate
            if rate is None:
                return None
            tat = rate.take(supply.tat, self.now, supply.taken) if supply.taken else supply.tat
            if rate.tokens(tat, self.now) > 0:
                return None
            times.append(rate.when(tat, 1))
        return max(times, default=None)

    def started(self, gates: Iterable[str]) -> list[tuple[str, float]]:
        """What is to be written of rated resources, since jobs with these needs have started."""
        started = Counter(name for gate in gates for name in names(gate))
        rows = []
        for name, n in started.items():
            supply = self._supplies.get(name)
            if supply is not None and supply.need.rate is not None:
                rows.append((name, supply.need.rate.take(supply.tat, self.now, n)))
        return rows


def tokens_of(work: Transaction, gates: Iterable[str]) -> Tokens:
    """The tokens that jobs of these lines could need."""
    wanted = sorted({name for gate in gates for name in names(gate)})
    if not wanted:
        return Tokens(work.now, {})
    Line = tuple[str, str, float]
    found = [
        (name, read_need(name, need), tat)
        for name, need, tat in decode(work.row("resources_read", encode(wanted))[0], list[Line])
    ]
    used = used_of(work) if any(need.capacity is not None for _, need, _ in found) else Counter()
    supplies = {name: _Supply(need, tat, _left(need, tat, used[name], work.now)) for name, need, tat in found}
    return Tokens(work.now, supplies)


def supply(work: Transaction, needs: Mapping[str, Need]) -> None:
    """Set resources where they are others."""
    if not needs:
        return
    Line = tuple[str, str, float]
    found = decode(work.row("resources_read", encode(sorted(needs)))[0], list[Line])
    known = {name: read_need(name, need) for name, need, _ in found}
    new = {name: need for name, need in needs.items() if known.get(name) != need}
    if new:
        rows = [
            (name, encode(need), _owed_at_most(need, work.now) if name in known else 0.0)
            for name, need in new.items()
        ]
        work.run("resources_write", encode(rows))
        for queue in decode(work.row("bound_queues")[0], list[str]):
            work.has_work(queue)


def _owed_at_most(need: Need, now: int) -> float:
    """The greatest `tat` that a resource can have: a slower rate than this may have left more behind."""
    return FOREVER if need.rate is None else need.rate.owed(FOREVER, now)


def used_of(work: Transaction) -> Counter[str]:
    """How many tokens of each resource running jobs hold."""
    used: Counter[str] = Counter()
    for gate, n in decode(work.row("resources_used")[0], list[tuple[str, int]]):
        used.update(dict.fromkeys(names(gate), n))
    return used


def _left(need: Need, tat: float, used: int, now: int) -> int:
    left = 1 << 31
    if need.capacity is not None:
        left = need.capacity - used
    if need.rate is not None:
        left = min(left, need.rate.tokens(tat, now))
    return max(0, left)
