"""Leasing: look, let time move what it must, choose, take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from noria.backends.bells import Haul
from noria.backends.contract import Batch
from noria.backends.sql import blobs, groups, lease
from noria.backends.sql.bound import Apart, Choice, Entries, Front, started
from noria.backends.sql.bounds import NONE, Rooms, capped_among, running_of
from noria.backends.sql.call import Idle
from noria.backends.sql.choice import EMPTY, NO_ROOMS, Line, choose, within
from noria.backends.sql.lease import Taken
from noria.backends.sql.passage import expire, promote
from noria.backends.sql.rows import Held, decode, encode
from noria.backends.sql.settings import LEASE_BYTES
from noria.backends.sql.tokens import tokens_of
from noria.backends.sql.transaction import Transaction
from noria.backends.units import earlier, seconds_until
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.state import State


@dataclass(slots=True)
class Take(lease.Take, Idle):
    """The call."""

    def idle(self, work: Transaction) -> Haul | None:
        """The answer, if it can be given without writing anything."""
        if self.hopeful:
            return None
        look = _look(work, self, 1)
        if look.alive and (look.moving or look.standing):
            return None
        if look.alive and look.is_bound:
            choice = _choice(work, self, look, 1)
            if choice.ids:
                return None
            due = look.seconds_to_due(work.now, choice)
            return Haul(Batch([], due, look.suspicious, choice.bound_left), all=not choice.left)
        return Haul(Batch([], look.seconds_to_due(work.now)), all=True)

    def run(self, work: Transaction) -> Taken:
        """Take jobs, as `Queue.lease` promises, without waiting for any."""
        look = _look(work, self, self.limit)
        if look.alive and look.moving:
            promote(work, sorted({want.queue for want in self.wants}), MAX_BATCH)
            expire(work, MAX_BATCH)
            groups.wake(work, MAX_BATCH)
            work.groups.settle(work)
            look = _look(work, self, self.limit)
        if look.alive and look.is_bound:
            return _take_bound(work, self, look)
        chosen = choose(self.wants, look.lines, self.limit, look.rooms) if look.alive else []
        held = _take(work, self.session, chosen) if chosen else []
        # A suspect may hide others, and a line as long as was asked for may go on.
        everything = len(held) == look.standing < self.limit and not look.moving and not look.suspicious
        return Taken(held, look.seconds_to_due(work.now), everything, look.suspicious)


@dataclass(slots=True)
class _Look:
    alive: bool
    moving: bool
    next_due: int | None
    lines: list[Line]
    fronts: list[Front]
    apart: list[Apart]

    @property
    def is_bound(self) -> bool:
        return bool(self.fronts or self.apart)

    rooms: Rooms

    @property
    def standing(self) -> int:
        return sum(len(line.parked) + len(line.ready) + len(line.suspects) for line in self.lines)

    @property
    def suspicious(self) -> bool:
        return any(line.suspects for line in self.lines) or any(job.suspect for job in self.apart)

    def seconds_to_due(
        self, now: int, choice: Choice | None = None, next_wake: int | None = None
    ) -> float | None:
        """Seconds until time moves something; of bound jobs it depends on what was chosen, and on what that changed."""
        next_token = None if choice is None else choice.tokens.next_at()
        return seconds_until(now, self.next_due, next_token, next_wake)


def _look(work: Transaction, call: Take, candidates: int) -> _Look:
    wants = encode([(want.queue, want.lane) for want in call.wants])
    found = work.row("lease_look", wants, call.session, work.now, candidates)
    alive, moving, next_due, next_wake, bound, apart, paused, bounds, in_lines = found
    lines = decode(in_lines, list[Line])
    fronts = decode(work.row("lease_bound", wants, candidates)[0], list[Front]) if bound else []
    beside = decode(work.row("lease_apart", wants, call.session, candidates)[0], list[Apart]) if apart else []
    next_due = earlier(next_due, next_wake)
    work.know_bounds(bounds)
    held_up = decode(paused, set[str]) if paused != NONE else set()
    held_up |= work.held({want.queue for want in call.wants})
    if held_up:
        resting = {place for place, want in enumerate(call.wants) if want.queue in held_up}
        lines = [EMPTY if place in resting else line for place, line in enumerate(lines)]
        fronts = [front for front in fronts if front[0] not in resting]
        beside = [job for job in beside if job.place not in resting]
    rooms: Rooms = NO_ROOMS
    if work.bounds:
        rooms = _rooms(work, call)
        lines = within(call.wants, lines, rooms)
    return _Look(bool(alive), bool(moving), next_due, lines, fronts, beside, rooms)


def _rooms(work: Transaction, call: Take) -> Rooms:
    """Of the queues of which only so many jobs may run, how many more."""
    capped = capped_among(work.bounds, call.wants)
    sizes = work.sizes(capped) if capped else ()
    return {queue: max(0, most - running_of(sizes, queue)) for queue, most in capped.items()}


def _choice(work: Transaction, call: Take, look: _Look, limit: int, before: Choice | None = None) -> Choice:
    """Choose among free and bound jobs. `before`: what the lease took already."""
    entries = Entries.of(look.lines, look.fronts, look.apart)
    choice = Choice(limit, tokens_of(work, entries.gates), dict(look.rooms))
    return choice.choose(call.wants, entries, before)


def _take_bound(work: Transaction, call: Take, look: _Look) -> Taken:
    """Take jobs of which some have groups or needs."""
    held: list[Held] = []
    choice: Choice | None = None
    while True:
        choice = _choice(work, call, look, call.limit - len(held), choice)
        got = _take(work, call.session, choice.ids) if choice.ids else []
        held += got
        admitted = started(work, choice, got)
        # In a group that is shared fairly those that were taken make room for the next ones.
        if not got or not admitted or len(held) >= call.limit:
            break
        look = _look(work, call, call.limit - len(held))
    full = len(held) >= call.limit
    everything = not (full or admitted or choice.left or look.moving or look.suspicious)
    due = look.seconds_to_due(work.now, choice, work.groups.next_wake)
    return Taken(held, due, everything, look.suspicious, bound=choice.bound_left or bool(admitted) or full)


def _take(work: Transaction, session: SessionId, ids: Sequence[str]) -> list[Held]:
    # Some may be left out because their time is over; a sweep will end them.
    held = _load(work, decode(work.row("lease_read", encode(ids), work.now)[0], list[Held]))
    taken = encode(ids if len(held) == len(ids) else [row.id for row in held])
    work.run("lease_take", taken, session, work.now)
    for (queue, state), n in Counter([(row.queue, row.state) for row in held]).items():
        work.moved(queue, state, State.RUNNING, n)
    return held


def _load(work: Transaction, held: list[Held]) -> list[Held]:
    """Read the large bodies; what is too much for one lease is left for the next one."""
    large = [place for place, row in enumerate(held) if row.key is not None]
    if not large:
        return held
    fit = blobs.fitting(work, [held[place].key for place in large], LEASE_BYTES)
    if fit < len(large):
        held = held[: large[fit]]
    bodies = blobs.read(work, [held[place].key for place in large[:fit]])
    for place, (text, hex) in zip(large[:fit], bodies, strict=True):
        held[place].text, held[place].hex = text, hex
    return held
