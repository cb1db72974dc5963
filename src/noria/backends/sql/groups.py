"""Groups within a transaction: who gives up a place, who comes in line, and who gets a place for that.

Calls say what they did to the jobs of a group; once, at the end of each call, places are handed over. A place that
goes from one job to the next changes no number, so that a full group costs no write of its row.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from noria.backends.rules import read_rule
from noria.backends.sql.rows import decode, encode
from noria.backends.units import earlier, millis_or_none, seconds_or_none
from noria.model.groups import Closed, GroupRef, Rule
from noria.model.job import NewJob
from noria.model.limits import MAX_BATCH
from noria.model.state import State

if TYPE_CHECKING:
    from noria.backends.sql.transaction import Transaction

Key = tuple[str, str]
"""A group: its family and key."""
FOREVER: Final = 1 << 53
"""Milliseconds since the epoch: closed until somebody opens it."""
_ANY: Final = Rule(fair=False)
"""The rule of a family that nobody has declared."""


class Stand(Struct, array_like=True, gc=False):
    """A row of `groups`; times are in milliseconds."""

    taken: int = 0
    ready: int = 0
    tat: float = 0.0
    closed: int | None = None
    reason: str = ""
    by: str = ""
    wake: int | None = None

    def is_closed(self, now: int) -> bool:
        """Whether no job may start."""
        return self.closed is not None and self.closed > now

    def shown(self, now: int) -> Closed | None:
        """That it is closed, for people."""
        if self.closed is None or self.closed <= now:
            return None
        until = None if self.closed >= FOREVER else self.closed
        return Closed(seconds_or_none(until), self.reason, self.by)


class Heir(Struct, array_like=True, gc=False):
    """A row of `groups_next.sql`. One without an id: somebody else is changing the next one, whom nobody goes past."""

    place: int
    id: str
    queue: str
    lane: int
    turn: int
    priority: int


@dataclass(slots=True)
class _Deed:
    """What a transaction has done to a group. `started` counts for the rate; `look`: somebody may have come in line."""

    taken: int = 0
    ready: int = 0
    started: int = 0
    look: bool = False
    close: Closed | None = None
    open: bool = False

    def matters(self, rule: Rule, key: str) -> bool:
        """Whether the group has to be looked at."""
        return bool(self.taken or self.look or self.close or self.open) or rule.tracks(key)


@dataclass(slots=True)
class Groups:
    """What a transaction has done to groups and resources, until it is `settle`d.

    `rules` are those of families that it has read; None for one that nobody has declared. `next_wake` is when the first
    of the groups that it has changed is to be looked at again, in milliseconds.
    """

    rules: dict[str, Rule | None] = field(default_factory=dict)
    next_wake: int | None = None
    _deeds: defaultdict[Key, _Deed] = field(default_factory=lambda: defaultdict(_Deed))
    _leaving: list[str] = field(default_factory=list)
    _freed: bool = False

    def come(self, family: str, key: str, *, taken: int = 0, ready: int = 0) -> None:
        """A job came in line, or time has changed something. `taken`, `ready`: what others left to be added up."""
        deed = self._deeds[family, key]
        deed.look = True
        deed.taken += taken
        deed.ready += ready

    def leave(self, family: str, key: str, *, eligible: bool = False) -> None:
        """A job gave up its place. `eligible`: without having run."""
        deed = self._deeds[family, key]
        deed.taken -= 1
        deed.ready -= eligible

    def stand_back(self, id: str) -> None:
        """A job keeps no place; if it could run by now it waits in line. Its row is changed when all is settled."""
        self._leaving.append(id)

    def start(self, family: str, key: str, *, parked: bool) -> None:
        """A job was leased. One that was parked has had its token when it was leased before."""
        deed = self._deeds[family, key]
        if not parked:
            deed.ready -= 1
            deed.started += 1

    def close(self, family: str, key: str, how: Closed) -> None:
        """No further job may start for a while."""
        self._deeds[family, key].close = how

    def open(self, family: str, key: str) -> None:
        """Jobs may start again."""
        self._deeds[family, key].open = True

    def free(self, gate: str) -> None:
        """A job that needed these resources runs no more."""
        self._freed |= bool(gate)

    def put_back(self, work: Transaction) -> None:
        """Change the rows of those that keep no place, so that whoever looks at them next finds them in line."""
        if self._leaving:
            leaving, self._leaving = self._leaving, []
            work.run("groups_leave", encode(leaving))

    def settle(self, work: Transaction) -> int:
        """Hand places over, and write how all groups stand then; says how many jobs got a place.

        Once for as much as possible: each time the groups are locked, and only those of one time are so in order.
        """
        self.put_back(work)
        admitted = 0
        if self._deeds:
            deeds, self._deeds = self._deeds, defaultdict(_Deed)
            admitted = _settle(work, deeds)
        if self._freed:
            self._freed = False
            for queue in decode(work.row("bound_queues")[0], list[str]):
                work.has_work(queue)
        return admitted

    def postpone(self, work: Transaction, jobs: Iterable[NewJob]) -> None:
        """Leave it to whoever looks next to hand places over: a caller's own transaction may last, and must lock none.

        Args:
            jobs: those that came.
        """
        self.put_back(work)
        deeds, self._deeds = self._deeds, defaultdict(_Deed)
        for job in jobs:
            if job.group is not None and (job.group.ref.family, job.group.ref.key) in deeds:
                work.has_work(job.queue)
        if deeds:
            rows = [(*key, deed.taken, deed.ready) for key, deed in deeds.items()]
            work.run("groups_coming", encode(rows))


# ---- families and resources


def rules_of(work: Transaction, families: Iterable[str]) -> dict[str, Rule]:
    """The rules of families; of one that nobody has declared there is none."""
    known, asked = work.groups.rules, set(families)
    if new := asked - known.keys():
        found = decode(work.row("families_read", encode(sorted(new)))[0], list[tuple[str, str]])
        known.update(dict.fromkeys(new))
        known.update({family: read_rule(family, rule) for family, rule in found})
    return {family: rule for family in asked if (rule := known[family]) is not None}


def declare(work: Transaction, rules: Mapping[str, Rule]) -> None:
    """Set the rules of families where they are others; jobs in line move by them with the next sweeps."""
    known = rules_of(work, rules) if rules else {}
    new = {family: rule for family, rule in rules.items() if known.get(family) != rule}
    if new:
        work.run("families_write", encode([(family, encode(rule)) for family, rule in new.items()]))
        work.run("groups_stir", encode(list(new)), work.now)
        work.groups.rules.update(new)


def wake(work: Transaction, limit: int) -> int:
    """Have groups looked at in which time alone has changed something; says how many."""
    woken = decode(work.row("groups_woken", work.now, limit)[0], list[tuple[str, str, int, int]])
    for family, key, taken, ready in woken:
        work.groups.come(family, key, taken=taken, ready=ready)
    return len(woken)


# ---- places are handed over


@dataclass(slots=True)
class _Group:
    """A group that is being looked at: as its row says, and as it stands by now.

    `barred`: somebody else is just changing the job that comes next.
    """

    key: Key
    rule: Rule
    row: Stand | None
    stand: Stand
    asked: int = 0
    more: bool = True
    barred: bool = False

    @property
    def tracked(self) -> bool:
        return self.rule.tracks(self.key[1])

    def apply(self, deed: _Deed, now: int) -> None:
        """Note what was done."""
        stand = self.stand
        if self.rule.rate is not None:
            stand.tat = self.rule.rate.owed(stand.tat, now)
        stand.taken = max(0, stand.taken + deed.taken)
        stand.ready = max(0, stand.ready + deed.ready) if self.tracked else 0
        if deed.started and self.rule.rate is not None:
            stand.tat = self.rule.rate.take(stand.tat, now, deed.started)
        if deed.close is not None:
            until = millis_or_none(deed.close.until)
            stand.closed = FOREVER if until is None else min(until, FOREVER)
            stand.reason, stand.by = deed.close.reason, deed.close.by
        if deed.open or not stand.is_closed(now):
            stand.closed, stand.reason, stand.by = None, "", ""

    def room(self, now: int) -> int:
        """How many jobs may get a place now."""
        stand, rule = self.stand, self.rule
        if stand.is_closed(now):
            return 0
        room = MAX_BATCH
        if rule.most is not None:
            room = min(room, rule.most - stand.taken)
        if self.tracked:
            window = rule.window(self.key[1])
            if window is not None:
                room = min(room, window - stand.ready)
            if rule.rate is not None:
                room = min(room, rule.rate.tokens(stand.tat, now) - stand.ready)
        return max(0, room)

    def admit(self, n: int, *, barred: bool) -> None:
        """So many got a place."""
        self.more, self.barred = n == self.asked, barred
        self.stand.taken += n
        self.stand.ready += n if self.tracked else 0

    def settle(self, now: int) -> None:
        """Decide when to look again without being asked."""
        self.stand.wake = self._wake(now)

    def _wake(self, now: int) -> int | None:
        stand, rate = self.stand, self.rule.rate
        if stand.is_closed(now):
            return stand.closed if stand.closed != FOREVER else None
        if self.barred or (self.more and self.asked >= MAX_BATCH):
            return now
        if self.more and rate is not None and stand.ready < rate.burst:
            at = rate.when(stand.tat, stand.ready + 1)
            if at > now:
                return at
        # Nobody will come by to see that it is not in use any more.
        return math.ceil(stand.tat) if not stand.taken and stand.tat > now else None

    def idle(self, now: int) -> bool:
        """Whether it is in no use."""
        stand = self.stand
        return not (stand.taken or stand.is_closed(now) or stand.tat > now or stand.wake is not None)


def _settle(work: Transaction, deeds: Mapping[Key, _Deed]) -> int:
    rules = rules_of(work, (family for family, _ in deeds))
    keys = sorted(key for key, deed in deeds.items() if deed.matters(rules.get(key[0], _ANY), key[1]))
    if not keys:
        return 0
    rows = decode(work.row("groups_look", encode(keys))[0], list[Stand | None])
    closing = [key for key in keys if deeds[key].close is not None]
    if closing:
        _pull_back(work, closing, deeds)
    groups = []
    for key, row in zip(keys, rows, strict=True):
        stand = (
            Stand() if row is None else Stand(row.taken, row.ready, row.tat, row.closed, row.reason, row.by)
        )
        group = _Group(key, rules.get(key[0], _ANY), row, stand)
        group.apply(deeds[key], work.now)
        group.asked = group.room(work.now)
        groups.append(group)
    admitted = _admit(work, [group for group in groups if group.asked])
    _write(work, groups)
    return admitted


def _pull_back(work: Transaction, keys: Sequence[Key], deeds: Mapping[Key, _Deed]) -> None:
    """Have the eligible jobs of groups that close wait in line again."""
    found = decode(work.row("groups_eligible", encode(keys))[0], list[tuple[int, str, str]])
    if found:
        work.run("groups_leave", encode([id for _, id, _ in found]))
    for place, _, queue in found:
        deed = deeds[keys[place]]
        deed.taken -= 1
        deed.ready -= 1
        work.moved(queue, State.QUEUED, State.WAITING)


def _admit(work: Transaction, groups: Sequence[_Group]) -> int:
    """Give places to those who come next; says how many they are."""
    if not groups:
        return 0
    asked = encode([(*group.key, group.asked) for group in groups])
    told = decode(work.row("groups_next", asked)[0], list[Heir])
    heirs = [heir for heir in told if heir.id]
    barred = {heir.place for heir in told if not heir.id}
    got = Counter(heir.place for heir in heirs)
    for place, group in enumerate(groups):
        group.admit(got[place], barred=place in barred)
    if not heirs:
        return 0
    fair = [group.rule.fair for group in groups]
    rows = [
        (
            heir.id,
            work.bounds_of(heir.queue).rank(work.now, heir.priority) if fair[heir.place] else heir.turn,
        )
        for heir in heirs
    ]
    work.run("groups_admit", encode(rows))
    for (queue, lane), n in Counter([(heir.queue, heir.lane) for heir in heirs]).items():
        work.moved(queue, State.WAITING, State.QUEUED, n)
        work.has_work(queue, lane)
    return len(heirs)


def _write(work: Transaction, groups: Sequence[_Group]) -> None:
    """Write the rows that differ from what they were."""
    changed, gone = [], []
    for group in groups:
        group.settle(work.now)
        stand = group.stand
        work.groups.next_wake = earlier(work.groups.next_wake, stand.wake)
        if group.idle(work.now):
            if group.row is not None:
                gone.append(group.key)
        elif stand != group.row:
            changed.append(
                (
                    *group.key,
                    stand.taken,
                    stand.ready,
                    stand.tat,
                    stand.closed,
                    stand.reason,
                    stand.by,
                    stand.wake,
                )
            )
    if changed:
        work.run("groups_write", encode(changed))
    if gone:
        work.run("groups_drop", encode(gone))


def ref_of(family: str | None, key: str | None) -> GroupRef | None:
    """A group as a record has it."""
    return None if family is None or key is None else GroupRef(family, key)
