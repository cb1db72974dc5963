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
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from noria.backends.keeping import Board as Board
from noria.backends.keeping import Joins as Joins
from noria.backends.keeping import Keeper as Keeper
from noria.backends.steering import Close as Close
from noria.backends.steering import FamilyRef as FamilyRef
from noria.backends.steering import Open as Open
from noria.backends.steering import Pause as Pause
from noria.backends.steering import Paused as Paused
from noria.backends.steering import QueueRef as QueueRef
from noria.backends.steering import ResourceRef as ResourceRef
from noria.backends.steering import Resume as Resume
from noria.backends.steering import Steered as Steered
from noria.backends.steering import Steering as Steering
from noria.backends.steering import Target as Target
from noria.backends.terms import Altered as Altered
from noria.backends.terms import Batch as Batch
from noria.backends.terms import Cancellation as Cancellation
from noria.backends.terms import Capabilities as Capabilities
from noria.backends.terms import Channel as Channel
from noria.backends.terms import Command as Command
from noria.backends.terms import Counts as Counts
from noria.backends.terms import Ended as Ended
from noria.backends.terms import Evidence as Evidence
from noria.backends.terms import Fence as Fence
from noria.backends.terms import Hint as Hint
from noria.backends.terms import Member as Member
from noria.backends.terms import Orders as Orders
from noria.backends.terms import Outline as Outline
from noria.backends.terms import Overdue as Overdue
from noria.backends.terms import Parts as Parts
from noria.backends.terms import QueueCounts as QueueCounts
from noria.backends.terms import Swept as Swept
from noria.backends.terms import Verdict as Verdict
from noria.backends.terms import Vitals as Vitals
from noria.backends.terms import Want as Want
from noria.backends.terms import WorkerCard as WorkerCard
from noria.backends.terms import WorkerLine as WorkerLine
from noria.ids import Id, SessionId
from noria.model.change import Change as Change
from noria.model.document import Doc as Doc
from noria.model.document import DocWrite as DocWrite
from noria.model.document import Version as Version
from noria.model.flow import Flow as Flow
from noria.model.flow import Point as Point
from noria.model.groups import GroupLine, ResourceLine
from noria.model.groups import GroupRef as GroupRef
from noria.model.groups import Rule as Rule
from noria.model.job import NewJob, Receipt, Record
from noria.model.mark import Mark as Mark
from noria.model.mark import Stream as Stream
from noria.model.query import DeadGroup as DeadGroup
from noria.model.query import Kin as Kin
from noria.model.query import Page as Page
from noria.model.query import Query as Query
from noria.model.query import Tallied as Tallied
from noria.model.query import Term as Term
from noria.model.queue import Limit as Limit
from noria.model.queue import QueueLimits as QueueLimits
from noria.model.settlement import Settlement


class Queue(Protocol):
    """Jobs on their way: enqueue, lease, settle."""

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        """Enqueue jobs.

        On return: every created job is durable and will end in exactly one recorded outcome. A job whose id is
        stored, or whose unique key another job of the same task holds, is not stored again: its receipt names the
        job that stands for it, unless its claim wants something else, which is done in the same step if the holder
        waits, and for other arguments if it was never leased; else the holder stands. Jobs of one call with the same
        unique key meet each other in their order, as if they were pushed one after the other.
        A key is held while its job is live or, as its claim says, until its first lease, or for some seconds, and no
        longer than its record is kept. A job that was replaced ends as cancelled, with the id of the new one in its
        failure. To which job another was added is remembered for a while, by which repeated pushes are recognised.
        A queue with a `max_length` takes no more than fit, of one call or of many at once: the receipts of the others
        are rejected and `full`. Jobs that stand already, or are `admitted`, are not refused.
        `docs` are written in the same step as the jobs are stored, as by `Board.write`; also if other jobs stand for
        these. If one job of a call with documents is rejected, nothing of the call is stored.
        A job of a group waits (`State.WAITING`) until its group has a place for it, and is queued in the step in
        which it gets one. Rules of families, and resources, that come along replace those that are known; where none
        comes along they stay, and who is not known limits nothing.
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
        A job that needs resources is taken only together with one token of each, which it holds until its start
        ends, however that is; jobs that cannot have theirs are passed over. Of a rated group, or a rated resource, no
        more are taken than the rate allows, whoever asks. Jobs with a group or needs are never taken `ahead`.
        Of a queue with a `concurrency` no more jobs run than that, in all sessions together. They are leased only
        for `now`, and when one of them ends, a hint says that the queue has work.
        Of a queue with a `high_water` nothing is taken while one of those that it names backs up (`backs_up`) as this
        step begins; when none does any more, a hint says so.
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
        """End starts: state, result, log, freed unique key and follow-ups, in one step for each job.

        Each is fenced: the session has not ended, and (session, starts, running) are this start's. One item that
        is stale, or cannot be stored, never fails its neighbours. Whoever waits for a job that became final gets
        a hint. Follow-ups are stored if, and only if, the verdict is OK, as by `push`, in whose step they would be
        alone; one whose id or unique key is taken is not, and the record of the job that asked for it is `linked` to
        the job that stands for it. If one of them cannot be stored at all, the start has failed for good, with the
        reason "result", and none is. May be repeated: yes; what was done says ALREADY, also if it has erased the
        record (`keep=0`) not long ago. A start that `end` or `recall` took back says STALE for ever.
        In the same step the place in its group goes to the next job in line, and the tokens of resources are free;
        and only if it is done now, so that a place is never given up twice. A job of an ordered group that is to be
        tried again keeps its place, unless it lets others pass by the rule. `close` closes its group.
        """
        ...

    async def mark(self, session: SessionId, marks: Sequence[Mark]) -> list[Verdict]:
        """Write in mid-run: progress, a checkpoint, a question, partial results; one step for each start, and fenced.

        What is not OK changed nothing, its documents neither. A job asks (`State.ASKING`) from a mark with the name of
        a question until one with None, or until its start ends in whatever way. The first mark of a start forgets the
        progress and the question of the one before, and the next lease says what was left (`Lease.checkpoint`,
        `Lease.asked`). The newest `MAX_EMITTED` partial results are kept with the record. Whoever waits for the job
        gets a hint. May be repeated: yes. Raises `InvalidInput`, with nothing done, for what cannot be stored.
        """
        ...

    async def sweep(self, limit: int) -> Swept:
        """Move what time has moved: promote, expire, return jobs of ended sessions, give up parked jobs, prune.

        Jobs in line get the places that time has freed: a rate allows the next start, or a closed group opens again.
        At most `limit` rows of each kind. Any number of sweepers may run at once. May be repeated: yes.
        """
        ...

    async def steer(self, target: Target, change: Steering) -> Steered:
        """Pause, resume or limit a queue, close or open a group, set the rule of a family, or a resource.

        It need not have had any jobs yet.
        A closed group: on return no job of it is eligible, those that run go on, and it opens by itself at `until`. A
        rule: jobs in line move by it in this step, or with the next sweeps; what runs goes on. A `high_water` by which
        a queue would be held by itself, through whatever others, is refused, also of several changes at once.

        On return no lease that is asked for later takes a job of a paused queue; becoming due, expiring, and changes
        by persons go on. A pause is over by itself at its `until`, by the backend's clock. Resuming wakes workers, and
        so does a change of limits.
        May be repeated: yes, with the same answer.

        Raises:
            InvalidInput: the change is none for such a target.
            InvalidOption: the queue would be held by itself.
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

    async def emitted(self, id: Id, start: int = 0, limit: int = 100) -> Stream | None:
        """Read partial results of a job from an offset on; at most `limit`, and at most 1,000. None: no such job."""
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

    async def place(self, id: Id, most: int = 10_000) -> int | None:
        """Count the jobs before one that is queued, or waits in line, to `most`; None if it does neither.

        Counted are those of its queue that need the same kind of slot, and the same resources; suspects stand in a
        line of their own. Of one in line: those of its group.
        """
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

    async def group(self, refs: Sequence[GroupRef]) -> list[GroupLine | None]:
        """How groups stand; None for those of which no job waits or has a place, and that are not closed or rated."""
        ...

    async def groups(
        self, family: str | None = None, after: GroupRef | None = None, limit: int = 100
    ) -> list[GroupLine]:
        """Groups that are in use, in order of family and key, at most 1,000; fewer only on the last page."""
        ...

    async def resources(self) -> list[ResourceLine]:
        """The resources that jobs have needed, by name."""
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
