"""The values that the contract speaks in: what a call is given, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, Flag, auto
from typing import Literal

from msgspec import Struct

from noria.backends.steering import Paused
from noria.ids import Id, SessionId
from noria.model.job import Lane, Lease
from noria.model.limits import TTL
from noria.model.queue import NO_LIMITS, QueueLimits
from noria.model.state import EDITABLE, State

Channel = str
"""A hint channel: "queue:NAME" (it has work), "reply:TOKEN" (outcomes for one process), "session:ID" (orders),
"schedules" (a person has changed one)."""


class Fence(Struct, frozen=True, order=True):
    """One start of one job."""

    id: Id
    starts: int


class Want(Struct, frozen=True):
    """How many jobs a worker wants from one lane of one queue.

    Attributes:
        queue: its name.
        now: jobs for slots that are free.
        ahead: further jobs to hold ready; never suspects.
        suspect: whether one of `now` may be a suspect (a job that has crashed its process twice or more);
            among all jobs of one lease is at most one.
        lane: only jobs that were pushed in this lane. A worker asks for each lane as many as it has slots of
            that kind, so that jobs whose slots are taken never stand before jobs whose slots are free.
    """

    queue: str
    now: int
    ahead: int = 0
    suspect: bool = True
    lane: Lane = Lane.LOOP


class Batch(Struct, frozen=True):
    """What a lease gave.

    Attributes:
        leases: the jobs.
        next_due: seconds until the next job of these queues becomes due; None if none is.
        suspects: whether suspects may be left in these queues.
        bound: whether jobs may be left that have a group or needs, and could start if there were a free slot. A lease
            that asks for none, and finds nothing else, returns with this at once.
    """

    leases: list[Lease]
    next_due: float | None = None
    suspects: bool = False
    bound: bool = False


class Verdict(Enum):
    """What became of a fenced write.

    OK: done now. ALREADY: this start was settled by this session before; nothing changed. STALE: the start is
    no longer this session's, or the session has ended; nothing changed.
    """

    OK = "ok"
    ALREADY = "already"
    STALE = "stale"


class Swept(Struct, frozen=True):
    """What a sweep did.

    Attributes:
        promoted, returned, expired, unparked, pruned: rows it moved.
        more: whether it stopped at its limit with work left.
        next_due: seconds until the next job becomes due, None if none is scheduled.
    """

    promoted: int = 0
    returned: int = 0
    expired: int = 0
    unparked: int = 0
    pruned: int = 0
    more: bool = False
    next_due: float | None = None

    @property
    def done(self) -> int:
        """All rows it moved."""
        return self.promoted + self.returned + self.expired + self.unparked + self.pruned


class WorkerCard(Struct, frozen=True, kw_only=True):
    """Who opens a session.

    Attributes:
        worker: a label for people; two workers may share it.
        host, pid: where it runs.
        tasks: the tasks it knows; parked jobs of these are leased to it.
        queues: the queues it serves.
        ttl: seconds without a renewal after which the session may be ended.
        slots: how many jobs it runs at once; sizes: the same by kind of slot.
        version: of its program, for people; language: in which that is written.
    """

    worker: str
    host: str
    pid: int
    tasks: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    ttl: float = TTL
    slots: int = 0
    sizes: Mapping[str, int] = {}
    version: str = ""
    language: str = "python"


class Vitals(Struct, frozen=True):
    """What a worker says about itself with each renewal.

    Attributes:
        running, buffered, unsettled: jobs by where they are in the worker.
        settled: starts ended since the session opened.
        lag: seconds by which the event loop was last late.
        memory: resident bytes, at most so far.
        busy: slots that are taken, by kind.
        load: of its host: how many wanted a processor in the last minute, as the kernel averages them.
        state: "active"; "quiet": it finishes what it has and leases nothing; "stopping": it ends after that.
    """

    running: int = 0
    buffered: int = 0
    unsettled: int = 0
    settled: int = 0
    lag: float = 0.0
    memory: int = 0
    busy: Mapping[str, int] = {}
    load: float = 0.0
    state: Literal["active", "quiet", "stopping"] = "active"


Command = Literal["quiet", "stop", "resume"]
"""What a person asks of a worker: finish and lease nothing more; finish and end; go on."""


class Cancellation(Struct, frozen=True, order=True):
    """A start whose cancellation was asked for. `note`: why, as whoever asked first has put it; may be empty."""

    fence: Fence
    note: str = ""


class Orders(Struct, frozen=True):
    """What a renewal tells the worker, repeated until it was acted on.

    Attributes:
        lost: the session has ended; everything it held belongs to others.
        cancels: what to cancel.
        command: how the worker is to be; None is at work.
    """

    lost: bool = False
    cancels: tuple[Cancellation, ...] = ()
    command: Literal["quiet", "stop"] | None = None


class Overdue(Struct, frozen=True):
    """A session whose deadline is past, or impossibly far away. `beat` is its beat number as read."""

    session: SessionId
    beat: int
    worker: str = ""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """What is known about the end of a session; goes into the failure of the jobs it crashed.

    Attributes:
        cause: a sentence: what ended it, and how that is known.
        host, pid: where it ran.
        exit_code, signal, memory: from whoever saw it die.
    """

    cause: str
    host: str = ""
    pid: int = 0
    exit_code: int | None = None
    signal: int | None = None
    memory: int | None = None


class Ended(Struct, frozen=True):
    """What an `end` did, or the first one did before it.

    Attributes:
        ended: whether the session is over now; False if its beat had moved on, or it was never opened.
        first: whether this call ended it.
        crashed, released: jobs that it held, by what becomes of them.
    """

    ended: bool
    first: bool = False
    crashed: int = 0
    released: int = 0


class Parts(Flag):
    """Which large parts of a record to read."""

    NONE = 0
    BODY = auto()
    RESULT = auto()
    LOG = auto()
    ALL = BODY | RESULT | LOG


class Altered(Struct, frozen=True):
    """What became of one change.

    Attributes:
        status: "done"; "asked": the job runs, its worker was told; "missing": no such job; "refused": its state
            does not allow it; "conflict": another live job has its unique key.
        state: the job's state afterwards; None if it is missing, or erased now.
    """

    status: Literal["done", "asked", "missing", "refused", "conflict"]
    state: State | None = None


class QueueCounts(Struct, frozen=True):
    """One queue in numbers.

    Attributes:
        states: jobs by state; those that are none are left out.
        dead: dead letters.
        oldest_ready: seconds since its longest waiting job became eligible, as far as the first hundred of each lane
            and of the suspects tell.
        paused: the pause that holds; None if its jobs are leased.
        limits: those that hold.
    """

    states: Mapping[State, int]
    dead: int = 0
    oldest_ready: float | None = None
    paused: Paused | None = None
    limits: QueueLimits = NO_LIMITS

    @property
    def length(self) -> int:
        """How many jobs wait, as `max_length` counts them."""
        return sum(n for state, n in self.states.items() if state in EDITABLE)


class WorkerLine(Struct, frozen=True, kw_only=True):
    """A session that has not ended and was renewed in time, for people."""

    session: SessionId
    card: WorkerCard
    vitals: Vitals
    opened: float
    beat: int
    seen: float


class Member(WorkerLine, frozen=True, kw_only=True):
    """A session that has not ended, with what it holds.

    Attributes:
        silent: seconds since it was last renewed.
        overdue: it was not renewed in time; a sweep will end it.
        held: how many jobs it holds; `jobs` are the first hundred of them.
        command: how it was told to be; its vitals say how it is.
    """

    silent: float
    overdue: bool
    held: int
    jobs: tuple[Id, ...]
    command: Literal["quiet", "stop"] | None = None


class Counts(Struct, frozen=True):
    """The whole namespace in numbers. `erased`: records deleted at success (`keep=0`) or by a person."""

    queues: dict[str, QueueCounts]
    workers: list[WorkerLine]
    erased: int = 0


class Hint(Struct, frozen=True):
    """A message that may be lost. `reset` says "some may have been: look again"."""

    channel: Channel
    payload: bytes = b""
    reset: bool = False


class Outline(Struct, frozen=True, array_like=True):
    """The payload of a reply hint: one outcome, small enough to need no read.

    Attributes:
        id: as hex.
        state: the final state.
        codec: how `result` is encoded.
        result: the encoded value as text; None if it was too large, binary, or there is none: read the record.
    """

    id: str
    state: int
    codec: str = "json"
    result: str | None = None


class Capabilities(Struct, frozen=True, kw_only=True):
    """What this backend can do, read by the application at start and by the contract suite.

    Attributes:
        record: it keeps a record of each job.
        exact_settle: the outcome is recorded exactly once.
        transactional: a push may join a caller's transaction.
        ordered: lease follows `rank`.
        priorities: it honours `priority`.
        groups: its jobs may have groups, and may need resources.
        durability: one sentence for people.
        max_body: bytes that it takes as a body or result.
    """

    record: bool = True
    exact_settle: bool = True
    transactional: bool = False
    ordered: bool = True
    priorities: bool = True
    groups: bool = False
    durability: str
    max_body: int
