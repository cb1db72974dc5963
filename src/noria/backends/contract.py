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

Still to come, each with the capability that needs it: writes in mid-run, steering of groups and resources, streams of
events.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum, Flag, auto
from typing import Literal, Protocol

from msgspec import Struct

from noria.errors import InvalidOption, shown
from noria.ids import Id, SessionId
from noria.model.change import Change as Change
from noria.model.document import Doc as Doc
from noria.model.document import DocWrite as DocWrite
from noria.model.document import Version as Version
from noria.model.flow import Flow as Flow
from noria.model.flow import Point as Point
from noria.model.job import Lane, Lease, NewJob, Receipt, Record
from noria.model.limits import TTL
from noria.model.names import check_name, check_text
from noria.model.outcome import Settlement
from noria.model.query import DeadGroup as DeadGroup
from noria.model.query import Kin as Kin
from noria.model.query import Page as Page
from noria.model.query import Query as Query
from noria.model.query import Tallied as Tallied
from noria.model.query import Term as Term
from noria.model.state import State

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
    """

    leases: list[Lease]
    next_due: float | None = None
    suspects: bool = False


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


class QueueRef(Struct, frozen=True):
    """A queue, as the target of steering."""

    queue: str

    def __post_init__(self) -> None:
        check_name("queue", self.queue)


class Pause(Struct, frozen=True, tag="pause"):
    """Lease no more jobs of a queue; what runs goes on.

    Attributes:
        reason, by: why and by whom, for people; at most 500 and 128 printable characters.
        until: seconds since the epoch at which the pause is over by itself; None lasts until `Resume`.
    """

    reason: str = ""
    by: str = ""
    until: float | None = None

    def __post_init__(self) -> None:
        for field, limit in (("reason", 500), ("by", 128)):
            if text := getattr(self, field):
                check_text(field, text, limit)
        if self.until is not None and not abs(self.until) < 1e12:
            raise InvalidOption(f"until must be a time, not {shown(self.until)}", field="until")


class Resume(Struct, frozen=True, tag="resume"):
    """Lease jobs of a queue again."""


class Paused(Struct, frozen=True):
    """A pause that holds. `since`: when it began; a repeated pause changes its words, and not its beginning."""

    reason: str
    by: str
    since: float
    until: float | None = None


class Steered(Struct, frozen=True):
    """How the target stands now. `paused`: None if its jobs are leased."""

    paused: Paused | None = None


class QueueCounts(Struct, frozen=True):
    """One queue in numbers.

    Attributes:
        states: jobs by state; those that are none are left out.
        dead: dead letters.
        oldest_ready: seconds since its longest waiting job became eligible, as far as the first hundred of each lane
            and of the suspects tell.
        paused: the pause that holds; None if its jobs are leased.
    """

    states: Mapping[State, int]
    dead: int = 0
    oldest_ready: float | None = None
    paused: Paused | None = None


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

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        """Enqueue jobs.

        On return: every created job is durable and will end in exactly one recorded outcome. A job whose id is
        stored, or whose unique key a live job of the same task has, is not stored again: its receipt names the
        job that stands for it. Two jobs of one call with the same unique key: the first is created.
        `docs` are written in the same step as the jobs are stored, as by `Board.write`; also if other jobs stand for
        these. If one job of a call with documents is rejected, nothing of the call is stored.
        On exception: none (`Unavailable`, `Conflict`, `InvalidInput`) or all (`Unknown`) of this call may be stored.
        May be repeated with the same ids: yes; documents that were written then conflict, if they ask for a version.

        Raises:
            Conflict: a document has another version; nothing of this call was stored, and every other call was.
            InvalidInput: a document cannot be stored.
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

    async def steer(self, target: QueueRef, change: Pause | Resume) -> Steered:
        """Pause a queue, or resume it; it need not have had any jobs yet.

        On return no lease that is asked for later takes a job of a paused queue; becoming due, expiring, and changes
        by persons go on. A pause is over by itself at its `until`, by the backend's clock. Resuming wakes workers.
        May be repeated: yes, with the same answer.
        """
        ...


class Joins(Protocol):
    """What a backend with the capability `transactional` has as well."""

    async def push_within(self, conn: object, jobs: Sequence[NewJob]) -> list[Receipt]:
        """Enqueue jobs in the transaction of a caller's own connection.

        On return: they are stored if, and when, that transaction commits; no worker sees them before, and nothing
        is left of them if it is undone. Receipts are as those of `push`.
        On exception: the caller's transaction has failed, and must be undone.
        May be repeated with the same ids: yes.

        Raises:
            InvalidInput: it is no connection that the backend knows, or it is in no transaction.
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

    async def fleet(self) -> list[Member]:
        """The sessions that have not ended, the oldest first, silent ones included."""
        ...

    async def command(self, session: SessionId, command: Command) -> bool:
        """Tell a worker to be quiet, to stop, or to go on; says whether its session is open.

        The order reaches it with its next renewal, and is repeated with each until another takes its place.
        May be repeated: yes, with the same answer.
        """
        ...


class Ledger(Protocol):
    """Records of jobs."""

    async def get(
        self, ids: Sequence[Id], parts: Parts = Parts.NONE, watch: Channel | None = None
    ) -> list[Record | None]:
        """Read records; None where there is none.

        `watch`: in the same step, if a job is not final, have its outcome hinted to this channel. A job knows one
        channel: the last one asked for wins, over one that came with the push too. Whoever waited on another goes
        on by polling.
        """
        ...

    async def find(
        self,
        query: Query,
        after: Id | None = None,
        limit: int = 50,
        *,
        parts: Parts = Parts.NONE,
        ids_only: bool = False,
    ) -> Page:
        """Read a page of records, newest first by id, or oldest first if the query says so.

        Rows that come or vanish meanwhile cause no error and no repeat. A page looks at 100,000 rows at most, and at
        fewer if that takes seconds, then says `scan_limited`. `parts`: what is read of each; bodies and results of more
        than 64 KiB (`MAX_LISTED`) are left out. `ids_only`: read no records, which costs less.
        """
        ...

    async def tally(self, query: Query, most: int = 10_000) -> Tallied:
        """Count the jobs that match, to `most`, and looking at 100,000 rows at most."""
        ...

    async def dead_groups(self, limit: int = 100) -> list[DeadGroup]:
        """Dead letters by fingerprint, the most frequent first; among at most 1,000 fingerprints."""
        ...

    async def alter(self, ids: Sequence[Id], change: Change) -> list[Altered]:
        """Change jobs by the state table, each as far as its own state allows.

        A trace of an erased job stays for a while, by which repeated pushes, settles and changes are recognised.
        May be repeated: yes, with the same answer.

        A job that ends as cancelled because of this call has the note as the message of its failure, whether it
        waited or ran, and however its start ended; of several notes for one run, the first.

        Raises:
            TooLarge: the new body is larger than the backend takes; nothing was changed.
        """
        ...

    async def counts(self) -> Counts:
        """Count jobs by queue and state, without reading the jobs."""
        ...

    async def stats(self) -> list[Flow]:
        """How many jobs came and went since the store began, by queue and task, in this order."""
        ...

    async def series(self, since: float, until: float | None = None, step: int = 1) -> list[Point]:
        """The same by time: a point for each span of `step` minutes, queue and task in which anything happened.

        In order of time. Minutes are kept for a day (`FLOW_FOR`), then only their sums; `since` and `until` are
        widened to whole spans, which are counted from the epoch.
        """
        ...


class Board(Protocol):
    """Small documents, each written whole, with compare-and-swap."""

    async def read(self, kind: str, names: Sequence[str]) -> list[Doc | None]:
        """Read documents; None where there is none, or its time is over."""
        ...

    async def write(self, docs: Sequence[DocWrite]) -> list[Version]:
        """Write or delete documents, all in one step; returns their versions, 0 for those that are deleted.

        May be repeated: yes; a write that expects a version then conflicts with itself, so read before you do.

        Raises:
            Conflict: a document is not of the version that was expected; nothing was written.
            InvalidInput: a document is too large, its name cannot be stored, or it is written twice.
        """
        ...

    async def scan(
        self, kind: str, after: str | None = None, limit: int = 100, prefix: str = ""
    ) -> list[Doc]:
        """Read documents of a kind in the order of their names (of the code points in them), a page at a time.

        `after`: only names behind this one. `prefix`: only names that begin with this. At most `limit`, and at most
        1,000; a page may hold fewer, and only an empty one is the last.
        """
        ...


class Hints(Protocol):
    """Wake-ups that may be lost; whoever waits also polls."""

    async def notify(self, channel: Channel, payload: bytes = b"") -> None:
        """Send a hint to whoever listens. At most 4 KiB; never raises for a listener that is gone."""
        ...

    def listen(self, channels: Collection[Channel]) -> AbstractAsyncContextManager[AsyncIterator[Hint]]:
        """Receive hints of these channels while the context is open."""
        ...


class Backend(Queue, Sessions, Ledger, Board, Hints, Protocol):
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
    """The synchronous, independent way to do a session's duties while the event loop cannot turn.

    For one thread. Every call may raise `Unavailable` or `Unknown`, and may be repeated.
    """

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        """As `Sessions.renew`."""
        ...

    def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        """As `Queue.settle`; who asks again on the loop is told ALREADY."""
        ...

    def recall(self, session: SessionId, known: Collection[Fence], why: str) -> list[Fence]:
        """As `Queue.recall`, but says which starts were given back; `why` goes into their log."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
