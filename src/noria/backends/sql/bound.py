"""Which jobs a lease takes where some have groups or needs: a decision, without I/O. For others see `choice`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from noria.backends.contract import Want
from noria.backends.sql.choice import Candidate, Line
from noria.backends.sql.rows import Held, encode
from noria.backends.sql.tokens import Tokens
from noria.backends.sql.transaction import Transaction
from noria.model.job import Lane

Front = tuple[int, str, list[tuple[int, str, str | None, str | None]]]
"""A row of `lease_bound.sql`."""


class Apart(Struct, array_like=True):
    """A row of `lease_apart.sql`."""

    place: int
    rank: int
    id: str
    gate: str
    family: str | None
    key: str | None
    parked: int
    suspect: int


@dataclass(frozen=True, slots=True)
class Bound:
    """A job that has a group, or needs resources."""

    gate: str
    family: str | None
    key: str | None
    parked: bool


@dataclass(slots=True)
class _Entry:
    """A job that could be taken. `bound` is None for a free one."""

    candidate: Candidate
    parked: bool = False
    suspect: bool = False
    bound: Bound | None = None

    @property
    def gate(self) -> str | None:
        return None if self.bound is None else self.bound.gate

    @property
    def order(self) -> tuple[bool, int, str]:
        return (not self.parked, *self.candidate)


@dataclass(slots=True)
class Entries:
    """What stands in the lines of a lease, free and bound jobs together, each line in order."""

    lines: list[list[_Entry]]

    @staticmethod
    def of(lines: Sequence[Line], fronts: Sequence[Front], apart: Sequence[Apart]) -> Entries:
        """Put together what was found."""
        entries = [[*_free(line)] for line in lines]
        for place, gate, jobs in fronts:
            entries[place] += [
                _Entry((rank, id), bound=Bound(gate, family, key, False)) for rank, id, family, key in jobs
            ]
        for job in apart:
            bound = Bound(job.gate, job.family, job.key, bool(job.parked))
            entries[job.place].append(
                _Entry((job.rank, job.id), bool(job.parked), bool(job.suspect), bound=bound)
            )
        for line in entries:
            line.sort(key=lambda entry: entry.order)
        return Entries(entries)

    @property
    def gates(self) -> set[str]:
        """The lines of those that are bound."""
        return {entry.bound.gate for line in self.lines for entry in line if entry.bound is not None}


@dataclass(slots=True)
class _Room:
    """How many more jobs may be taken: for slots that are free, and ahead of that."""

    now: int
    ahead: int


@dataclass(slots=True)
class Choice:
    """What a lease takes.

    Attributes:
        rooms: of queues of which only so many jobs may run, how many more.
        ids: in the order in which they should start.
        bound: those of them that are.
        left: something was left that could have been taken; bound_left: and that only a free slot can have.
        spare: the room that is left, by lane; may_suspect: no suspect was taken yet.
    """

    limit: int
    tokens: Tokens
    rooms: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    bound: dict[str, Bound] = field(default_factory=dict)
    left: bool = False
    bound_left: bool = False
    spare: dict[Lane, _Room] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    may_suspect: bool = True

    def choose(self, wants: Sequence[Want], entries: Entries, before: Choice | None = None) -> Choice:
        """Fill each want, then give what a queue could not fill to the other wants of its lane, as `choice.choose`.

        Args:
            before: what the same lease took of what stood there before; it goes on with the room that was left.
        """
        if before is None:
            rests = self._fill_wants(wants, entries)
        else:
            rests, self.spare, self.may_suspect = entries.lines, before.spare, before.may_suspect
        for want, rest in zip(wants, rests, strict=True):
            left = self._fill(
                want.queue, rest, self.spare[want.lane], suspects=before is not None and want.suspect
            )
            free = [entry for entry in left if entry.gate not in self.tokens.blocked]
            self.left |= bool(free)
            self.bound_left |= any(entry.bound is not None and not entry.suspect for entry in free)
        return self

    def _fill_wants(self, wants: Sequence[Want], entries: Entries) -> list[list[_Entry]]:
        """Fill each want; returns what is left of each line."""
        self.spare = {want.lane: _Room(0, 0) for want in wants}
        rests = []
        for want, line in zip(wants, entries.lines, strict=True):
            room = _Room(want.now, want.ahead)
            rests.append(self._fill(want.queue, line, room, suspects=want.suspect))
            self.spare[want.lane].now += room.now
            self.spare[want.lane].ahead += room.ahead
        return rests

    def _fill(self, queue: str, line: Sequence[_Entry], room: _Room, *, suspects: bool) -> list[_Entry]:
        """Take what fits; returns what is left of the line."""
        rest = []
        for entry in line:
            full = len(self.ids) >= self.limit or not (room.now or room.ahead)
            # Nothing of a queue of which only so many may run is taken ahead of its time.
            full |= queue in self.rooms and not (room.now and self.rooms[queue])
            if full or not self._take(entry, room, suspects=suspects):
                rest.append(entry)
            elif queue in self.rooms:
                self.rooms[queue] -= 1
        return rest

    def _take(self, entry: _Entry, room: _Room, *, suspects: bool) -> bool:
        _, id = entry.candidate
        # A worker might name a line twice.
        if id in self._seen or (entry.suspect and not (suspects and self.may_suspect)):
            return False
        # Only free jobs are buffered: what is bound starts at once, or stays for whoever can start it.
        if (entry.suspect or entry.bound is not None) and not room.now:
            return False
        if entry.bound is not None:
            if not self.tokens.take(entry.bound.gate):
                return False
            self.bound[id] = entry.bound
        if room.now:
            room.now -= 1
        else:
            room.ahead -= 1
        self.may_suspect &= not entry.suspect
        self.ids.append(id)
        self._seen.add(id)
        return True


def _free(line: Line) -> Iterator[_Entry]:
    for each in line.parked:
        yield _Entry(each, parked=True)
    for each in line.ready:
        yield _Entry(each)
    for each in line.suspects:
        yield _Entry(each, suspect=True)


def started(work: Transaction, choice: Choice, held: Sequence[Held]) -> int:
    """Write what it means for groups and resources that jobs were taken; says how many got a place for that."""
    bound = []
    for row in held:
        if row.id in choice.bound:
            bound.append(choice.bound[row.id])
            row.family, row.group_key = bound[-1].family, bound[-1].key
    taken = choice.tokens.started(job.gate for job in bound)
    if taken:
        work.run("resources_take", encode(taken))
    for job in bound:
        if job.family is not None and job.key is not None:
            work.groups.start(job.family, job.key, parked=job.parked)
    return work.groups.settle(work)
