"""From a job to the row that stores it, or to the reason why it cannot be stored.

Runs once for every job that is ever enqueued, so it goes straight to what most jobs are: small, due now, and without
options. Only what differs from that is looked at closer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

from noria.backends.sql.bounds import Bounds
from noria.backends.sql.rows import Bytes, encode, from_bytes, write_extras
from noria.backends.sql.settings import Settings
from noria.backends.sql.tokens import gate
from noria.backends.units import earlier, millis, millis_or_none
from noria.ids import Id
from noria.model.groups import MAX_NEEDS, Need, Rule
from noria.model.job import NO_EXTRAS, NewJob, Receipt, rank
from noria.model.limits import MAX_PRIORITY
from noria.model.state import State

Row = tuple[Any, ...]

# Places in a row that others look at.
STATE: Final = 1
QUEUE: Final = 2
TASK: Final = 3
LANE: Final = 4
RANK: Final = 5
PRIORITY: Final = 6
DUE: Final = 7
BODY: Final = 11
EXPIRES: Final = 17
DEADLINE: Final = 18
LAPSE: Final = 19
TURN: Final = 22
KEY: Final = 14

_QUEUED, _SCHEDULED, _WAITING = int(State.QUEUED), int(State.SCHEDULED), int(State.WAITING)
GIVEN_UP: Final = -1
"""In place of the time until which a key is held: it is not. NULL is as long as the job lives, 0 until it starts."""

_FURTHEST: Final = 1 << 53
_MOST: Final = 1 << 31
_NUL: Final = "\\u0000"
_SPILLED: Bytes = (None, None)
_UNFIT = (ValueError, TypeError, OverflowError, AttributeError)


class Pending(Protocol):
    """What is to be written before some jobs can be stored."""

    def write(self) -> None:
        """Write it."""


class Drafts:
    """Jobs on their way into rows. Where there is no row, the receipt says why.

    Attributes:
        jobs: as they were given.
        rows: in the same order; None where nothing is to be stored.
        receipts: in the same order.
        now: the time at which they are stored, in milliseconds.
        waiting: places of jobs that wait for others; parents: how those stand, by id as hex.
        large: places of jobs whose bodies are too large for a row; it gets a key by `give_keys`.
        bound: places of jobs that have a group, or need resources.
        rooms: for each queue of bounded length that was looked at, how many more jobs it may have.
        pending: what was decided about stored jobs that hold the keys of these, and is still to be written.
        regarded: all of them follow the limits of their queues already.
        holding: others wait who may change the holders of the same keys.
        claims: places of jobs that have their unique keys in a way of their own.
        given_up: for jobs that have given up their keys to later ones of the same call before they are stored, by
            their places: which of these is stored in their stead, if they are to be cancelled.
    """

    def __init__(self, jobs: list[NewJob], now: int, settings: Settings) -> None:
        self.jobs = jobs
        self.now = now
        self._text: str | None = None
        self.rooms: dict[str, int] = {}
        self.pending: Pending | None = None
        self._roomy: set[int] = set()
        self.regarded = False
        self.holding = False
        self.rows: list[Row | None] = []
        self.receipts = [Receipt("created", job.id) for job in jobs]
        self._settings = settings
        self._most = most = settings.max_body
        self._inline = inline = most if settings.spill is None else settings.spill
        self.large = [index for index, job in enumerate(jobs) if inline < len(job.body) <= most]
        self.bound = [index for index, job in enumerate(jobs) if job.group is not None or job.needs]
        self.claims = [index for index, job in enumerate(jobs) if job.claim is not None]
        self.given_up: dict[int, Id | None] = {}
        self.waiting: list[int] = []
        self.parents: dict[str, int] = {}
        for index, job in enumerate(jobs):
            try:
                row = _row(job, now, inline, most)
                self.rows.append(row)
                if job.extras.after:
                    self.waiting.append(index)
            except _UNFIT as error:
                self.rows.append(None)
                self._reject(index, error)
        for index in self.bound:
            self._bind(index)

    def stored(self) -> list[Row]:
        """The rows that there are."""
        return [row for row in self.rows if row is not None]

    def give_keys(self, keys: Iterator[int]) -> None:
        """Let the rows of large bodies hold keys in their stead."""
        for index in self.large:
            row = self.rows[index]
            if row is not None:
                self.rows[index] = (*row[:BODY], next(keys), *row[BODY + 1 :])
        self._text = None

    def bodies(self) -> list[tuple[int, bytes, str]]:
        """The large bodies of jobs that have a row, each with its key and codec."""
        found = [(self.rows[index], self.jobs[index]) for index in self.large]
        return [(row[BODY], job.body, job.codec) for row, job in found if row is not None]

    def stored_bound(self) -> list[NewJob]:
        """The jobs that have a row, and a group or needs."""
        return [self.jobs[index] for index in self.bound if self.rows[index] is not None]

    def find_room(self, index: int, *, freed: bool) -> bool:
        """Whether the queue of a job that is to be stored has room for it; `freed`: another one of it makes way."""
        queue = self.jobs[index].queue
        if queue not in self.rooms or index in self._roomy:
            return True
        if not freed:
            if self.rooms[queue] <= 0 and not self.jobs[index].admitted:
                return False
            self.rooms[queue] -= 1
        self._roomy.add(index)
        return True

    def make_way(self) -> None:
        """Write what was decided about stored jobs that hold the keys of these."""
        pending, self.pending = self.pending, None
        if pending is not None:
            pending.write()

    def shape(self, index: int, bounds: Bounds) -> None:
        """Let a row have the place, and the end, that the limits of its queue give it."""
        row = self.rows[index]
        assert row is not None, "whoever shapes has looked"
        full = [*row, *(None,) * (LAPSE + 1 - len(row))]
        full[RANK] = bounds.rank(row[DUE], row[PRIORITY])
        full[LAPSE] = bounds.lapse(row[DUE], full[EXPIRES], full[DEADLINE])
        if len(full) > TURN and full[TURN] is not None:
            full[TURN] = full[RANK]
        self.rows[index] = tuple(full)
        self._text = None

    def drop(self, index: int, receipt: Receipt) -> None:
        """Store nothing for this job."""
        self.rows[index] = None
        self.receipts[index] = receipt
        self._text = None

    def change(self, index: int, job: NewJob) -> None:
        """Store this job in the stead of one that has a row, and its id."""
        self.jobs[index] = job
        self.rows[index] = _row(job, self.now, self._inline, self._most)
        self.waiting = [place for place in self.waiting if place != index]
        if job.extras.after:
            self.waiting.append(index)
        self.bound = [place for place in self.bound if place != index]
        if job.group is not None or job.needs:
            self.bound.append(index)
            self._bind(index)
        self.large = [place for place in self.large if place != index]
        if len(job.body) > self._inline:
            self.large.append(index)
        self._text = None

    def give_up(self, index: int, successor: Id | None) -> None:
        """Store a job without its key, which a later one has; it is written back as one that it holds no more."""
        row = self.rows[index]
        assert row is not None, "only one that is to be stored holds a key"
        self.rows[index] = (*row[:KEY], None, *row[KEY + 1 :])
        self.given_up[index] = successor
        self._text = None

    def holds(self) -> list[tuple[str, str | None, int]]:
        """What `push_holds.sql` has to add to rows that are stored: for how long they hold their keys."""
        found = [
            (self.jobs[index].id.hex(), None, hold)
            for index in self.claims
            if self.rows[index] is not None and index not in self.given_up
            if (hold := _hold(self.jobs[index], self.now)) is not None
        ]
        return found + [
            (self.jobs[index].id.hex(), self.jobs[index].unique, GIVEN_UP) for index in self.given_up
        ]

    def as_json(self) -> str:
        """The rows, as `push.sql` takes them; what JSON or SQL cannot carry is rejected on the way."""
        if self._text is None:
            self._text = self._encode()
        return self._text

    def _encode(self) -> str:
        try:
            text = encode(self.stored())
        except _UNFIT:
            self._reject_unfit()
            text = encode(self.stored())
        if _NUL in text and self._reject_nul():
            text = encode(self.stored())
        return text

    def _bind(self, index: int) -> None:
        """Put the group and the needs of a job into its row."""
        job, row = self.jobs[index], self.rows[index]
        if row is None:
            return
        try:
            self.rows[index] = _bound(job, row, self._settings)
        except _UNFIT as error:
            self._reject(index, error)

    def _reject(self, index: int, why: object) -> None:
        self.drop(index, Receipt("rejected", self.jobs[index].id, f"it cannot be stored: {why}"))

    def _reject_unfit(self) -> None:
        for index, row in enumerate(self.rows):
            try:
                encode(row)
            except _UNFIT as error:
                self._reject(index, error)

    def _reject_nul(self) -> bool:
        """A NUL would end its text in SQL. In a body it is only an escape, and stays."""
        found = False
        for index, row in enumerate(self.rows):
            if row is not None and any(isinstance(value, str) and "\0" in value for value in row):
                self._reject(index, "one of its texts has a NUL in it")
                found = True
        return found


def _row(job: NewJob, now: int, inline: int, max_body: int) -> Row:
    due = now if job.at is None and not job.delay else _due(job, now)
    size = len(job.body)
    if size > max_body:
        raise ValueError(
            f"its body has {size} bytes, and {max_body} is the limit; store large data elsewhere"
        )
    if job.attempts > _MOST or job.crash_budget > _MOST:
        raise ValueError("its attempts or crash budget is out of range")
    body, hex = from_bytes(job.body, job.codec) if size <= inline else _SPILLED
    row: Row = (
        job.id.hex(),
        _QUEUED if due <= now else _SCHEDULED,
        job.queue,
        job.task,
        job.lane,
        _rank(job, due) if job.priority else due,
        job.priority,
        due,
        job.attempts,
        job.crash_budget,
        job.codec,
        body,
    )
    # A row that ends early costs less to write and to read; most jobs have nothing of the rest.
    if job.unique is not None or job.reply is not None or hex is not None or job.extras is not NO_EXTRAS:
        row += _tail(job, hex)
        return (row[0], _WAITING, *row[2:]) if job.extras.after else row
    if job.keep is not None or job.expires is not None or job.deadline is not None:
        return row + _tail(job, hex)
    return row


def _due(job: NewJob, now: int) -> int:
    due = now + max(0, millis(job.delay)) if job.at is None else millis(job.at)
    if abs(due) > _FURTHEST:
        raise ValueError("the time when it is due is too far away")
    return due


def _rank(job: NewJob, due: int) -> int:
    if abs(job.priority) > MAX_PRIORITY:
        raise ValueError("its priority is out of range")
    return rank(due / 1000, job.priority)


def _hold(job: NewJob, now: int) -> int | None:
    claim = job.claim
    if claim is None or job.unique is None:
        return None
    if claim.within is not None:
        return now + millis(claim.within)
    return 0 if claim.until_start else None


def _tail(job: NewJob, hex: str | None) -> Row:
    expires, deadline, keep = (
        millis_or_none(job.expires),
        millis_or_none(job.deadline),
        millis_or_none(job.keep),
    )
    if job.claim is not None and not 0 <= (job.claim.within or 0) < _FURTHEST / 2000:
        raise ValueError("its unique key is to be held for longer than any clock can tell")
    if max(abs(expires or 0), abs(deadline or 0), abs(keep or 0)) > _FURTHEST:
        raise ValueError("one of its times is too far away")
    return (
        hex,
        job.reply,
        job.unique,
        write_extras(job.extras),
        keep,
        expires,
        deadline,
        earlier(expires, deadline),
    )


_WIDTH: Final = 20
"""Fields of a row before those of a bound job."""


def _bound(job: NewJob, row: Row, settings: Settings) -> Row:
    """The row of a job that has a group, or needs resources."""
    if not settings.groups:
        raise ValueError(f"{settings.store} keeps no groups and no resources")
    if len(job.needs) > MAX_NEEDS:
        raise ValueError(f"it needs {len(job.needs)} resources, and {MAX_NEEDS} is the limit")
    whole = (*row, *(None,) * (_WIDTH - len(row)))
    if job.group is None:
        return (*whole, None, None, None, gate(job.needs))
    ref = job.group.ref
    state = _WAITING if row[STATE] == _QUEUED else row[STATE]
    return (*whole[:STATE], state, *whole[STATE + 1 :], ref.family, ref.key, row[RANK], gate(job.needs))


def families_of(jobs: Sequence[NewJob]) -> dict[str, Rule]:
    """The families of which jobs say the rule; the last one to say it is right."""
    groups = [job.group for job in jobs if job.group is not None]
    return {group.ref.family: group.rule for group in groups if group.rule is not None}


def needs_of(jobs: Sequence[NewJob]) -> dict[str, Need]:
    """The resources of which jobs say what there is."""
    needs = (need for job in jobs for need in job.needs)
    return {need.name: need for need in needs if need.capacity is not None or need.rate is not None}
