"""Leasing: look at what is free and lock it, let time move what it must, choose, take."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from noria.backends.bells import Haul
from noria.backends.postgres import transaction as postgres
from noria.backends.postgres.bound import Fronts, choose_bound, take_bound
from noria.backends.postgres.marks import FRONT
from noria.backends.sql import groups, lease
from noria.backends.sql.bound import Choice, started
from noria.backends.sql.bounds import Rooms, capped_among, running_of
from noria.backends.sql.choice import EMPTY, NO_ROOMS, Line, choose, within
from noria.backends.sql.lease import Taken
from noria.backends.sql.passage import expire, promote
from noria.backends.sql.rows import Held, decode, encode
from noria.backends.sql.settings import LEASE_BYTES
from noria.backends.sql.transaction import Transaction
from noria.backends.units import earlier, seconds_until
from noria.model.job import Lane
from noria.model.limits import MAX_BATCH
from noria.model.state import State


@dataclass(slots=True)
class Take(lease.Take):
    """The call."""

    def run(self, work: Transaction) -> Callable[[], Taken]:
        """Take jobs, as `Queue.lease` promises, without waiting for any."""
        assert isinstance(work, postgres.Transaction), "of a connection of ours"
        # At least one, by which a line shows whether anything stands in it.
        sizes = [max(1, min(want.now + want.ahead, self.limit)) for want in self.wants]
        ahead = _look_from_marks(work, self, sizes)
        look = ahead or _look_from_front(work, self, sizes)
        if look.alive and look.moving:
            promote(work, sorted({want.queue for want in self.wants}), MAX_BATCH)
            expire(work, MAX_BATCH)
            groups.wake(work, MAX_BATCH)
            work.groups.settle(work)
            ahead, look = None, _look(work, self, sizes)
        rooms = _rooms(work, self, look)
        _bound(look, self, rooms)
        if look.alive and _could_share(self, look, sizes):
            look = _look(work, self, [self.limit] * len(sizes), ahead=ahead is not None)
            _bound(look, self, rooms)
        if look.alive and look.is_bound:
            taken = self._take_bound(work, look, sizes, dict(rooms))
            return lambda: taken
        chosen = choose(self.wants, look.lines, self.limit, rooms) if look.alive else []
        if not chosen:
            return lambda: self._taken(look, sizes, work.now, [])
        _ebb(work, coming=_queues_of(work, self, look, chosen))
        # It need not be heard before the commit, with which it goes out.
        row = work.later("lease_take", encode(chosen), self.session, work.now, LEASE_BYTES)
        return lambda: self._taken(look, sizes, work.now, decode(row()[0], list[Held]))

    def finish(self, raw: Any) -> Haul:
        """What was taken, once that is known."""
        return lease.Take.finish(self, raw())

    def _take_bound(
        self, work: postgres.Transaction, look: _Look, sizes: Sequence[int], rooms: dict[str, int]
    ) -> Taken:
        """Take jobs of which some have groups or needs."""
        held: list[Held] = []
        choice: Choice | None = None
        contended = look.contended
        while True:
            fronts = _fronts(work, self, look)
            choice = choose_bound(work, self, look.lines, fronts, rooms, self.limit - len(held), choice)
            got = take_bound(work, self.session, choice.ids)
            held += got
            _ebb(work, gone=[row.queue for row in got])
            contended |= fronts.contended or len(got) < len(choice.ids)
            admitted = started(work, choice, got)
            # In a group that is shared fairly those that were taken make room for the next ones.
            if not got or not admitted or len(held) >= self.limit:
                break
            sizes = [self.limit] * len(sizes)
            look = _look(work, self, sizes)
        full, suspects = len(held) >= self.limit, look.suspicious or fronts.suspicious
        everything = not (full or admitted or choice.left or look.moving or suspects or contended)
        everything &= not look.full(sizes)
        due = look.seconds_to_due(work.now, choice, work.groups.next_wake)
        bound = choice.bound_left or bool(admitted) or full
        return Taken(held, due, everything, suspects, contended, bound)

    def _taken(self, look: _Look, sizes: Sequence[int], now: int, held: list[Held]) -> Taken:
        # Some may be left out because their time is over, or somebody is just changing them.
        everything = len(held) == look.standing < self.limit and not (
            look.moving or look.suspicious or look.full(sizes) or look.contended
        )
        return Taken(held, look.seconds_to_due(now), everything, look.suspicious, look.contended)


@dataclass(slots=True)
class _Look:
    alive: bool
    moving: bool
    next_due: int | None
    lines: list[Line]
    contended: bool
    bound: bool
    apart: bool
    paused: set[str]

    @property
    def is_bound(self) -> bool:
        return self.bound or self.apart

    @property
    def standing(self) -> int:
        return sum(len(line.parked) + len(line.ready) + len(line.suspects) for line in self.lines)

    @property
    def suspicious(self) -> bool:
        return any(line.suspects for line in self.lines)

    def full(self, sizes: Sequence[int]) -> bool:
        """Whether a line gave as many as it was asked for, and so may go on."""
        return any(
            max(len(line.parked), len(line.ready)) >= size
            for line, size in zip(self.lines, sizes, strict=True)
        )

    def seconds_to_due(
        self, now: int, choice: Choice | None = None, next_wake: int | None = None
    ) -> float | None:
        """Seconds until time moves something; of bound jobs it depends on what was chosen, and on what that changed."""
        next_token = None if choice is None else choice.tokens.next_at()
        return seconds_until(now, self.next_due, next_token, next_wake)


def _look_from_marks(work: postgres.Transaction, call: Take, sizes: Sequence[int]) -> _Look | None:
    """A look that spares what is in the way at the front, if that pays and finds enough."""
    if not work.marks.skipping:
        return None
    look = _look(work, call, sizes, ahead=True)
    return look if look.full(sizes) or not look.alive else None


def _look_from_front(work: postgres.Transaction, call: Take, sizes: Sequence[int]) -> _Look:
    marks, began = work.marks, work.marks.now
    look = _look(work, call, sizes)
    seconds = marks.now - began
    if marks.asks(seconds):
        marks.told(work.row("ready_dead")[0], seconds)
    return look


def _look(work: postgres.Transaction, call: Take, sizes: Sequence[int], *, ahead: bool = False) -> _Look:
    marks, places = work.marks, [(want.queue, want.lane) for want in call.wants]
    starts = [marks.of(place) if ahead else FRONT for place in places]
    wants = encode([(*place, size, start) for place, size, start in zip(places, sizes, starts, strict=True)])
    alive, moving, next_due, next_wake, bound, apart, paused, bounds, found, contended = work.row(
        "lease_look", wants, call.session, work.now
    )
    next_due = earlier(next_due, next_wake)
    work.know_bounds(bounds)
    held_up = decode(paused, set[str]) | work.held({want.queue for want in call.wants})
    lines = decode(found, list[Line])
    for place, line in zip(places, lines, strict=True):
        marks.found(place, line)
    if held_up:
        pairs = zip(call.wants, lines, strict=True)
        lines = [EMPTY if want.queue in held_up else line for want, line in pairs]
    contended = bool(contended) and not held_up
    return _Look(bool(alive), bool(moving), next_due, lines, contended, bool(bound), bool(apart), held_up)


def _fronts(work: postgres.Transaction, call: Take, look: _Look) -> Fronts:
    """The bound jobs that a lease could have."""
    resting = {place for place, want in enumerate(call.wants) if want.queue in look.paused}
    return Fronts.of(work, call, resting, bound=look.bound, apart=look.apart)


def _rooms(work: postgres.Transaction, call: Take, look: _Look) -> Rooms:
    """Of the queues of which only so many jobs may run, how many more; nobody else leases from them meanwhile."""
    if not look.alive:
        return NO_ROOMS
    capped = capped_among(work.bounds, call.wants)
    if not capped:
        return NO_ROOMS
    busy = work.hold_places(sorted(capped))
    look.contended |= bool(busy)
    # Read after the places are held: what others leased before is in it.
    sizes = work.sizes(capped)
    return {
        queue: 0 if queue in busy else max(0, most - running_of(sizes, queue))
        for queue, most in capped.items()
    }


def _bound(look: _Look, call: Take, rooms: Rooms) -> None:
    if rooms:
        look.lines = within(call.wants, look.lines, rooms)


def _queues_of(work: Transaction, call: Take, look: _Look, chosen: Sequence[str]) -> list[str]:
    """The queue of each job that was chosen, if it matters to others how long it is."""
    if not any(bounds.high_water for bounds in work.bounds.values()):
        return []
    taken = set(chosen)
    return [
        want.queue
        for want, line in zip(call.wants, look.lines, strict=True)
        for _, id in (*line.parked, *line.ready, *line.suspects)
        if id in taken
    ]


def _ebb(work: Transaction, *, gone: Sequence[str] = (), coming: Sequence[str] = ()) -> None:
    """A job of each of these queues was leased, or is just to be: others may be held no longer."""
    if gone or coming:
        work.wake_held({*gone, *coming}, gone=_moves(gone), coming=_moves(coming))


def _moves(queues: Sequence[str]) -> list[tuple[str, int, int]]:
    return [
        (queue, state, each * n)
        for queue, n in Counter(queues).items()
        for state, each in ((State.QUEUED, -1), (State.RUNNING, 1))
    ]


def _could_share(call: Take, look: _Look, sizes: Sequence[int]) -> bool:
    """Whether one line of a lane is short of jobs, and another may have more than it was asked for."""
    short: defaultdict[Lane, bool] = defaultdict(bool)
    full: defaultdict[Lane, bool] = defaultdict(bool)
    for want, line, size in zip(call.wants, look.lines, sizes, strict=True):
        found = len(line.parked) + len(line.ready)
        short[want.lane] |= found < size
        full[want.lane] |= found >= size and size < call.limit
    return any(short[lane] and full[lane] for lane in short)
