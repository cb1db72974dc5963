"""What every backend promises, in words that its tests can check.

`tests/contract` runs these promises against each backend: plainly, and after every process was killed and the
backend opened again. Calls come in batches and answer in the order they were asked.

Rules for every call:

* *On return* the change is durable, as far as the backend's `Capabilities.durability` says. What a lease, a renewal, an
  `open` or a watch has changed survives the death of processes, and need not survive the loss of power: then the
  jobs are simply still queued.
* *On exception* `Unavailable` means certainly not done; `Unknown` means that it may be done, and that repeating
  the call with the same ids is safe and gives the answer that was missed.
* *On cancellation* the call may or may not be done, as with `Unknown`. Leases of a cancelled `lease` come back
  by `settle` as released, or by `end`; they are never lost.
* *Bounded*: a call ends within the backend's `timeout` (plus `wait`, where it has one).
* *Clocks*: due times and deadlines of sessions are read from the backend's clock, never from a caller's.

Still to come, each with the capability that needs it: writes in mid-run, steering of queues and groups, small
documents, streams of events, and pushes on a caller's own connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum, Flag, auto
from typing import Literal, Protocol

from msgspec import Struct

from noria.ids import Id, SessionId
from noria.model.job import Lane, Lease, NewJob, Receipt, Record
from noria.model.limits import TTL
from noria.model.outcome import Settlement
from noria.model.state import State

Channel = str
"""A hint channel: "queue:NAME" (it has work), "reply:TOKEN" (outcomes for one process), "session:ID" (orders)."""


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
    """What a lease gave. `next_due`: seconds until the next job of these queues becomes due, None if none is."""

    leases: list[Lease]
    next_due: float | None = None


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
        slots: how many jobs it runs at once.
    """

    worker: str
    host: str
    pid: int
    tasks: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    ttl: float = TTL
    slots: int = 0


class Vitals(Struct, frozen=True):
    """What a worker says about itself with each renewal.

    Attributes:
        running, buffered, unsettled: jobs by where they are in the worker.
        settled: starts ended since the session opened.
        lag: seconds by which the event loop was last late.
        memory: resident bytes.
    """

    running: int = 0
    buffered: int = 0
    unsettled: int = 0
    settled: int = 0
    lag: float = 0.0
    memory: int = 0


class Orders(Struct, frozen=True):
    """What a renewal tells the worker, repeated until it was acted on.

    Attributes:
        lost: the session has ended; everything it held belongs to others.
        cancels: starts whose cancellation was asked for.
    """

    lost: bool = False
    cancels: tuple[Fence, ...] = ()


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


class Query(Struct, frozen=True, kw_only=True):
    """Which jobs to find; an empty field does not filter. All fields must match.

    Attributes:
        states, tasks, queues: any of these.
        tag, correlation_id: exactly this.
        dead: only dead letters.
        created_after, created_before: seconds since the epoch.
    """

    states: tuple[State, ...] = ()
    tasks: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    tag: str = ""
    correlation_id: str = ""
    dead: bool = False
    created_after: float | None = None
    created_before: float | None = None


class Page(Struct, frozen=True):
    """A page of records, newest first by id.

    Attributes:
        next: pass it as `after` for the next page; None on the last one.
        scan_limited: the backend stopped looking before it had seen every row; `next` goes on from there.
    """

    records: list[Record]
    next: Id | None = None
    scan_limited: bool = False


class Change(Struct, frozen=True, kw_only=True):
    """What to do to jobs.

    Attributes:
        kind: "cancel": end it as cancelled, at once or, if it runs, through its worker;
            "retry": queue a failed, cancelled or expired job again with fresh attempts and no time bounds;
            "discard": keep the record of a failed job, but count it as a dead letter no more.
        note: why, for the record.
    """

    kind: Literal["cancel", "retry", "discard"]
    note: str = ""


class Altered(Struct, frozen=True):
    """What became of one change.

    Attributes:
        status: "done"; "asked": the job runs, its worker was told; "missing": no such job; "refused": its state
            does not allow it; "conflict": another live job has its unique key.
        state: the job's state afterwards; None if missing.
    """

    status: Literal["done", "asked", "missing", "refused", "conflict"]
    state: State | None = None


class QueueCounts(Struct, frozen=True):
    """One queue in numbers. `oldest_ready`: seconds since its longest waiting job became eligible, as far as the first
    hundred of each lane tell; suspects are left out."""

    states: Mapping[State, int]
    dead: int = 0
    oldest_ready: float | None = None


class WorkerLine(Struct, frozen=True, kw_only=True):
    """A session that has not ended and was renewed in time, for people."""

    session: SessionId
    card: WorkerCard
    vitals: Vitals
    opened: float
    beat: int
    seen: float


class Counts(Struct, frozen=True):
    """The whole namespace in numbers. Erased jobs (`keep=0`) are counted in `erased`."""

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
        durability: one sentence for people.
        max_body: bytes that it takes as a body or result.
    """

    record: bool = True
    exact_settle: bool = True
    transactional: bool = False
    ordered: bool = True
    priorities: bool = True
    durability: str
    max_body: int


class Queue(Protocol):
    """Jobs on their way: enqueue, lease, settle."""

    async def push(self, jobs: Sequence[NewJob]) -> list[Receipt]:
        """Enqueue jobs.

        On return: every created job is durable and will end in exactly one recorded outcome. A job whose id is
        stored, or whose unique key a live job of the same task has, is not stored again: its receipt names the
        job that stands for it. Two jobs of one call with the same unique key: the first is created.
        On exception: none (`Unavailable`) or all (`Unknown`) of this call may be stored.
        May be repeated with the same ids: yes.
        """
        ...

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        """Take jobs for a session, in one atomic step.

        Promotes what is due (at most 1,000 rows), serves parked jobs of the session's tasks in these queues, then
        fills each want in order of rank, then gives what a queue could not fill to the other wants of the same
        lane. At most `limit` jobs. `starts` rises by one for each. Returns at once with any job, else after `wait`
        seconds with none.
        A session that has ended, or never was opened, gets none.
        On exception or cancellation: leases may have been made; they come back when the session ends, and a
        worker that goes on calls `end` for itself or `recall` for what it never saw.
        May be repeated: yes; what an unheard call leased stays leased.
        """
        ...

    async def recall(self, session: SessionId, known: Collection[Fence]) -> int:
        """Give back, uncounted, every job that the session holds and the worker does not know of.

        For a worker whose `lease` was cut off: leases that it never heard of return to their queues.
        On return: how many were given back. May be repeated: yes.
        """
        ...

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        """End starts: state, result, log and freed unique key, in one step for each job.

        Each is fenced: the session has not ended, and (session, starts, running) are this start's. One item that
        is stale, or cannot be stored, never fails its neighbours. Whoever waits for a job that became final gets
        a hint. May be repeated: yes; what was done says ALREADY, also if it has erased the
        record (`keep=0`) not long ago. A start that `end` or `recall` took back says STALE for ever.
        """
        ...

    async def sweep(self, limit: int) -> Swept:
        """Move what time has moved: promote, expire, return jobs of ended sessions, give up parked jobs, prune.

        At most `limit` rows of each kind. Any number of sweepers may run at once. May be repeated: yes.
        """
        ...


class Sessions(Protocol):
    """Workers' lives."""

    async def open(self, card: WorkerCard) -> SessionId:
        """Begin a session. On exception a session may exist; nobody renews it, and it is ended as overdue."""
        ...

    async def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        """Say that the worker lives: its beat rises and its deadline moves, unless the session has ended.

        An ended session stays ended: the answer is `lost`. May be repeated: yes.
        """
        ...

    async def overdue(self) -> list[Overdue]:
        """Sessions whose deadline is past, or further away than twice their ttl (a clock has jumped).

        Only a suspicion: end one only after its beat stood still for one beat of your own monotonic clock.
        """
        ...

    async def end(
        self,
        session: SessionId,
        *,
        if_beat: int | None,
        started: Collection[Fence] | None,
        evidence: Evidence | None = None,
    ) -> Ended:
        """End a session, unless its beat has moved on from `if_beat`.

        On return nothing of the session is accepted any more, although its jobs may still be on their way back
        in batches (by `sweep`). `started`: the starts whose handlers had begun; they count as crashed, the others
        as released. None: unknown, so all count as crashed. A repeat reports what the first call did.
        """
        ...


class Ledger(Protocol):
    """Records of jobs."""

    async def get(
        self, ids: Sequence[Id], parts: Parts = Parts.NONE, watch: Channel | None = None
    ) -> list[Record | None]:
        """Read records; None where there is none.

        `watch`: in the same step, if a job is not final, have its outcome hinted to this channel.
        """
        ...

    async def find(self, query: Query, after: Id | None = None, limit: int = 50) -> Page:
        """Read a page of records, newest first. Rows that vanish meanwhile cause no error and no repeat."""
        ...

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        """Change jobs by the state table. May be repeated: yes, with the same answer."""
        ...

    async def counts(self) -> Counts:
        """Count jobs by queue and state, without reading the jobs."""
        ...


class Hints(Protocol):
    """Wake-ups that may be lost; whoever waits also polls."""

    async def notify(self, channel: Channel, payload: bytes = b"") -> None:
        """Send a hint to whoever listens. At most 4 KiB; never raises for a listener that is gone."""
        ...

    def listen(self, channels: Collection[Channel]) -> AbstractAsyncContextManager[AsyncIterator[Hint]]:
        """Receive hints of these channels while the context is open."""
        ...


class Backend(Queue, Sessions, Ledger, Hints, Protocol):
    """Everything that an application and a worker need of a store."""

    @property
    def capabilities(self) -> Capabilities:
        """What this backend can do."""
        ...

    @property
    def reply_channel(self) -> Channel:
        """The channel on which this process hears of outcomes; valid once the backend is started."""
        ...

    async def start(self) -> None:
        """Check, migrate and open the store. Repeating it does nothing.

        Raises:
            ConfigError: the store cannot be used as configured; the message says the remedy.
            Unavailable: it cannot be reached.
        """
        ...

    async def aclose(self) -> None:
        """Close; bounded. Calls that wait end with `Unavailable`. Repeating it does nothing."""
        ...

    def control(self) -> Keeper:
        """A second, independent connection for the keeper's thread."""
        ...


class Keeper(Protocol):
    """The synchronous, independent way to keep a session alive while the event loop cannot turn."""

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        """As `Sessions.renew`, from a thread. Raises `Unavailable` or `Unknown`."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
