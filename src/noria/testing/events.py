"""What can stand in a history: one Struct for each kind of fact, told by whoever saw it.

A call of a backend is told twice: when it was invoked, and how it ended. It ends *ok*, *fail* (certainly not
done) or *info* (nobody knows), and between the two moments the fact may have happened at any time. That is
all a checker may build on: what a call did was surely not done before its invocation, and surely done after
an *ok*.

Ids are hex, results are digests: a history says what happened and to which job, never what was in it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from noria.model.change import Kind
from noria.testing.following import Followed as Followed
from noria.testing.following import Seen as Seen
from noria.testing.following import Unfollowed as Unfollowed
from noria.testing.lineage import Begot as Begot
from noria.testing.lineage import Fed as Fed
from noria.testing.standings import Late as Late
from noria.testing.standings import Stood as Stood
from noria.testing.told import About as About
from noria.testing.told import End as End
from noria.testing.told import Fault as Fault
from noria.testing.told import Left as Left
from noria.testing.told import Probed as Probed
from noria.testing.told import Told as Told

# -- calls of producers ------------------------------------------------------------------------------------


class PushInvoke(Told, frozen=True, tag="push.invoke"):
    """A job is about to be enqueued.

    Attributes:
        body: a digest of its arguments.
        claimed: its key has rules of its own.
        schedule, slot: the timer that enqueues it, and for which slot.
        parent: the job whose follow-up it is; it is then told with the end of a start of that job.
        after, on: the jobs that it waits for, and how they must end; fed: it gets their values.
    """

    id: str
    task: str
    queue: str = "default"
    unique: str | None = None
    claimed: bool = False
    delay: float = 0.0
    at: float | None = None
    expires: float | None = None
    deadline: float | None = None
    attempts: int = 1
    crash_budget: int = 1
    keep: float | None = None
    body: str = ""
    schedule: str = ""
    slot: float | None = None
    parent: str = ""
    after: tuple[str, ...] = ()
    on: str = "success"
    fed: bool = False


class PushEnd(Told, frozen=True, tag="push.end"):
    """How enqueueing it ended; on "ok", `stands` is the id of the job that now stands for it."""

    id: str
    end: End
    status: Literal["created", "existing", "replaced", "updated", "merged", "rejected", ""] = ""
    stands: str = ""
    why: str = ""


class AlterInvoke(Told, frozen=True, tag="alter.invoke"):
    """A person changes a job.

    Attributes:
        attempts: how many a retry gives it; 0 leaves their number.
        timed: it may change when the job is due.
        expires: it may change the time by which the job must have started to this.
        body: a digest of new arguments; "" if it leaves them.
    """

    id: str
    change: Kind
    attempts: int = 0
    timed: bool = False
    expires: float | None = None
    body: str = ""


class AlterEnd(Told, frozen=True, tag="alter.end"):
    """What became of it."""

    id: str
    change: Kind
    end: End
    status: Literal["done", "asked", "missing", "refused", "conflict", ""] = ""
    state: int | None = None


class SteerInvoke(Told, frozen=True, tag="steer.invoke"):
    """A person pauses or resumes a queue."""

    queue: str
    pause: bool


class SteerEnd(Told, frozen=True, tag="steer.end"):
    """How that ended. `until`: when the pause is over by itself, by the wall clock."""

    queue: str
    pause: bool
    end: End
    until: float | None = None


# -- documents ---------------------------------------------------------------------------------------------


class Sheet(Struct, frozen=True, omit_defaults=True):
    """A document as somebody wants it written.

    Attributes:
        address: its kind and name.
        content: a digest; "" deletes it.
        expects: the version that it must have, 0 if it must not be there; None if that does not matter.
        mortal: it vanishes by itself some time.
    """

    address: str
    content: str
    expects: int | None = None
    mortal: bool = False


class WriteInvoke(Told, frozen=True, tag="write.invoke"):
    """Documents are about to be written, all or none. `jobs`: those that are enqueued in the same step."""

    sheets: tuple[Sheet, ...]
    jobs: tuple[str, ...] = ()


class WriteEnd(Told, frozen=True, tag="write.end"):
    """How that ended; a conflict is a "fail"."""

    sheets: tuple[Sheet, ...]
    end: End
    jobs: tuple[str, ...] = ()


class DocRead(Told, frozen=True, tag="doc.read"):
    """A document was read by somebody who asked at the monotonic time `since`; `content` "" says there is none."""

    address: str
    since: float
    version: int = 0
    content: str = ""


# -- calls of workers --------------------------------------------------------------------------------------


class Opened(Told, frozen=True, tag="session.open"):
    """A session began that was asked for at the monotonic time `since`."""

    session: int
    worker: str = ""
    ttl: float = 0.0
    since: float = 0.0


class Renewed(Told, frozen=True, tag="session.renew"):
    """A renewal was answered that was asked for at the monotonic time `since`. `lost`: the session had ended."""

    session: int
    lost: bool = False
    since: float = 0.0


class EndInvoke(Told, frozen=True, tag="session.end.invoke"):
    """Somebody ends a session. `started`: ids that had begun; None if nobody knows."""

    session: int
    started: tuple[str, ...] | None = None


class EndEnd(Told, frozen=True, tag="session.end"):
    """How ending it ended; `ended` and `first` as in `Ended`."""

    session: int
    end: End
    ended: bool = False
    first: bool = False
    crashed: int = 0
    released: int = 0


class Leased(Told, frozen=True, tag="lease"):
    """A worker was given a job, and knows it.

    Attributes:
        since: the monotonic time at which it asked for jobs.
        body: a digest of the job's arguments.
    """

    id: str
    session: int
    starts: int
    spent: int = 0
    crashes: int = 0
    queue: str = ""
    since: float = 0.0
    body: str = ""


class LeaseLost(Told, frozen=True, tag="lease.info"):
    """A lease ended without an answer: the session may hold jobs that its worker never heard of."""

    session: int


class Recalled(Told, frozen=True, tag="recall"):
    """A session gives back whatever it holds beside `known` (ids); told before the call, and when it is `over`."""

    session: int
    known: tuple[str, ...] = ()
    over: bool = False


class SettleInvoke(Told, frozen=True, tag="settle.invoke"):
    """A worker ends a start."""

    id: str
    session: int
    starts: int
    outcome: int
    state: int
    delay: float = 0.0
    result: str = ""


class SettleEnd(Told, frozen=True, tag="settle.end"):
    """What the backend said to it; `verdict` on "ok"."""

    id: str
    session: int
    starts: int
    outcome: int
    state: int
    end: End
    verdict: Literal["ok", "already", "stale", ""] = ""


class SweptSome(Told, frozen=True, tag="sweep"):
    """A sweep moved rows."""

    promoted: int = 0
    returned: int = 0
    expired: int = 0
    unparked: int = 0
    pruned: int = 0


# -- what handlers tell ------------------------------------------------------------------------------------


class RunStart(Told, frozen=True, tag="run.start"):
    """A handler is about to take its first step. `attempt` is what it is told: spent + 1."""

    id: str
    session: int
    starts: int
    attempt: int = 1


class Effect(Told, frozen=True, tag="effect"):
    """A handler did what the job is for. Told by the handler itself, through none of Noria's own code."""

    id: str
    session: int
    starts: int
    what: str = ""


class RunEnd(Told, frozen=True, tag="run.end"):
    """A handler ended. `outcome` is a word of `Outcome`."""

    id: str
    session: int
    starts: int
    outcome: str


# -- what readers saw --------------------------------------------------------------------------------------


class Read(Told, frozen=True, tag="record.read"):
    """A record was read; `state` None says that there was none.

    Attributes:
        since: the monotonic time at which the read was asked for.
        whole: its result was asked for as well; `result` None then says that there is none.
        final: it belongs to the last look, when everything had come to rest.
    """

    id: str
    since: float
    state: int | None = None
    version: int = 0
    dead: bool = False
    session: int = 0
    starts: int = 0
    spent: int = 0
    crashes: int = 0
    reason: str = ""
    result: str | None = None
    whole: bool = False
    final: bool = False


class OutcomeSeen(Told, frozen=True, tag="outcome.seen"):
    """A reply hint told an outcome; `result` is its digest, None if the hint carried none."""

    id: str
    state: int
    result: str | None = None


class CountsRead(Told, frozen=True, tag="counts.read"):
    """The namespace in numbers, by state; `final` as in `Read`."""

    since: float
    states: dict[int, int] = field(default_factory=dict)
    dead: int = 0
    erased: int = 0
    workers: int = 0
    final: bool = False


Fact = (
    About
    | Fault
    | PushInvoke
    | PushEnd
    | AlterInvoke
    | AlterEnd
    | SteerInvoke
    | SteerEnd
    | WriteInvoke
    | WriteEnd
    | DocRead
    | Opened
    | Renewed
    | EndInvoke
    | EndEnd
    | Leased
    | LeaseLost
    | Recalled
    | SettleInvoke
    | SettleEnd
    | SweptSome
    | RunStart
    | Effect
    | RunEnd
    | Read
    | OutcomeSeen
    | CountsRead
    | Followed
    | Seen
    | Unfollowed
    | Stood
    | Late
    | Begot
    | Fed
    | Probed
    | Left
)


class Event(Struct, frozen=True):
    """One line of a history.

    Attributes:
        mono: the machine's monotonic clock: common to all its processes, so that their lines can be merged.
        wall: seconds since the epoch, by the process's clock.
        proc: which process told it.
        seq: its place among the lines of that process.
        fact: what happened.
    """

    mono: float
    wall: float
    proc: str
    seq: int
    fact: Fact
