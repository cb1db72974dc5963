"""A job as it is enqueued, leased and read: values only."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from msgspec import Struct

from noria.ids import Id
from noria.model.backoff import Backoff
from noria.model.claim import Claim
from noria.model.groups import Grouped, GroupRef, Need
from noria.model.limits import AGEING, ATTEMPTS, CRASH_BUDGET
from noria.model.mark import Progress
from noria.model.outcome import Failure, Outcome, Tally
from noria.model.past import Life
from noria.model.state import State


class Lane(IntEnum):
    """Which kind of slot a job is expected to need; within a queue each lane is served in its own order.

    A hint of the producer's: a worker runs the job as its own definition of the task says.
    """

    LOOP = 0
    THREAD = 1
    PROCESS = 2


class Extras(Struct, frozen=True, omit_defaults=True):
    """What a job carries for its worker and its readers; backends keep it whole and need not look inside.

    Attributes:
        timeout: seconds that one attempt may take, if this job differs from its task.
        retry: the waits between attempts, if this job differs from its task.
        tags: words to find the job by.
        correlation_id: the caller's own id for what this job belongs to.
        copy_of: the id of the job that this one was copied from.
        schedule, slot: the timer that made it, and the time for which it did, in seconds since the epoch.
        parent_id: the id of the job whose follow-up it is, as hex; root_id: of the first job of that tree.
        after: the ids, as hex, of the jobs that it waits for; on: how they must have ended for it to run: "success":
            all of them succeeded; "complete": however; "failure": at least one did not succeed. If they end
            otherwise, it is cancelled with the reason "parent".
        feed: the parameter that gets the values of these jobs when it starts; empty: none; feed_list: a list of them,
            in order, and not the only one.
    """

    timeout: float | None = None
    retry: Backoff | None = None
    tags: tuple[str, ...] = ()
    correlation_id: str = ""
    copy_of: str = ""
    schedule: str = ""
    slot: float | None = None
    parent_id: str = ""
    root_id: str = ""
    after: tuple[str, ...] = ()
    on: Literal["success", "complete", "failure"] = "success"
    feed: str = ""
    feed_list: bool = False


NO_EXTRAS = Extras()


class NewJob(Struct, frozen=True, kw_only=True, gc=False):
    """A job to enqueue. Times are seconds since the epoch; durations are seconds.

    Attributes:
        id: chosen by the producer, so that a repeated push is the same job.
        task, queue: validated names.
        body, codec: the encoded arguments, and how they are encoded.
        lane: the kind of slot that its task needs.
        priority: -9 to 9; higher first.
        delay: seconds from now, by the backend's clock, before it may run.
        at: the time before which it may not run; None leaves it to `delay`.
        expires: the time by which it must have started.
        deadline: the time by which it must have ended, over all attempts.
        attempts, crash_budget: how often it may fail, and how often its process may die.
        unique: at most one job of this task has this key at a time: while it is live, unless its claim says otherwise.
        claim: how it has its key; None, the usual way.
        keep: seconds to keep the record after success; 0 erases it at success, None leaves it to the backend.
        reply: the channel of whoever waits for it, if somebody does from the start.
        group: jobs of one group share a limit, a rate or an order; it waits until that lets it run.
        needs: the resources of which it holds one token each while it runs; it starts only when all are free.
        admitted: store it also if its queue is full: it follows from what was accepted before.
    """

    id: Id
    task: str
    queue: str
    body: bytes
    codec: str = "json"
    lane: Lane = Lane.LOOP
    priority: int = 0
    delay: float = 0.0
    at: float | None = None
    expires: float | None = None
    deadline: float | None = None
    attempts: int = ATTEMPTS
    crash_budget: int = CRASH_BUDGET
    unique: str | None = None
    claim: Claim | None = None
    keep: float | None = None
    reply: str | None = None
    admitted: bool = False
    extras: Extras = NO_EXTRAS
    group: Grouped | None = None
    needs: tuple[Need, ...] = ()


class Receipt(Struct, frozen=True, gc=False):
    """What became of one pushed job.

    Attributes:
        status: "created"; "existing": nothing was stored, `id` is the job that stands for it;
            "replaced": it was stored, and the job that waited with its unique key was cancelled;
            "updated", "merged": `id` is the job that waits with its unique key, and now has its arguments and its time,
            or the items of its list as well;
            "rejected": nothing was stored, `why` says the reason.
        id: the id of the job that now exists.
        why: "id" or "unique" for existing, "unique" for updated and merged, the id of the other job as hex for
            replaced, a sentence for rejected, "" for created.
        full: it is rejected because its queue is full; it may fit later.
    """

    status: Literal["created", "existing", "replaced", "updated", "merged", "rejected"]
    id: Id
    why: str = ""
    full: bool = False


class Lease(Struct, frozen=True, kw_only=True, gc=False):
    """A job that a session holds: (session, id, starts) is the fence of every write about it.

    Attributes:
        checkpoint: what an earlier start has left for this one.
        asked: the name of the question for whose answer an earlier start waited when it ended; empty if none did.
        flaw: why it cannot start, as its worker has found out.
    """

    id: Id
    starts: int
    task: str
    queue: str
    body: bytes
    codec: str
    tally: Tally
    priority: int = 0
    created: float = 0.0
    deadline: float | None = None
    extras: Extras = NO_EXTRAS
    checkpoint: bytes | None = None
    asked: str = ""
    flaw: str = ""
    group: GroupRef | None = None


class Start(Struct, frozen=True, omit_defaults=True):
    """One ended start in the log of a job.

    Attributes:
        number: which start it was, from 1.
        outcome: how it ended.
        began: when its handler began; 0 if it never did.
        ended: when the end was recorded.
        worker: the label of the worker that held it.
        failure: why it did not succeed.
    """

    number: int
    outcome: Outcome
    began: float
    ended: float
    worker: str = ""
    failure: Failure | None = None


class Record(Struct, frozen=True, kw_only=True):
    """A job as the ledger keeps it. `body`, `result` and `log` are there only if they were asked for.

    Attributes:
        version: rises with every change of the row.
        dead: a failed job that nobody has retried or discarded yet.
        due: when it may run, or could.
        session: the session of its last lease; 0 if it never was leased.
        worker: the label of that session's worker.
        began: when its current or last start was leased.
        finished: when it reached its final state.
        cancelling: it runs, and its cancellation was asked for; cancelling_since: when that was.
        group: the group that it belongs to; needs: the names of the resources that it needs.
        past: how it had ended before it was retried, the oldest life first; there if the log was asked for.
        result: None also when the job succeeded and its result is no longer kept.
        awaits: of a job that waits for others, the first hundred of those that have not ended.
        linked: the jobs that stand for follow-ups of this one, whose unique keys or ids they had taken.
        progress: how far its current or last start has come, if it has said so.
        question: the name of the question that it asks; empty if it does not.
        items: how many partial results it has sent so far.
    """

    id: Id
    task: str
    queue: str
    state: State
    version: int
    dead: bool
    priority: int
    created: float
    due: float
    began: float | None
    finished: float | None
    expires: float | None
    deadline: float | None
    session: int
    worker: str
    starts: int
    tally: Tally
    unique: str | None
    keep: float | None
    cancelling: bool
    failure: Failure | None
    extras: Extras
    codec: str
    body: bytes | None = None
    result: bytes | None = None
    result_codec: str = "json"
    log: tuple[Start, ...] = ()
    past: tuple[Life, ...] = ()
    cancelling_since: float | None = None
    group: GroupRef | None = None
    needs: tuple[str, ...] = ()
    linked: tuple[Id, ...] = ()
    progress: Progress | None = None
    question: str = ""
    items: int = 0
    awaits: tuple[Id, ...] = ()


def rank(due: float, priority: int, ageing: float = AGEING, *, newest: bool = False) -> int:
    """The place of a job in its queue, fixed when it becomes eligible; the lowest runs first.

    Each hour of waiting is worth one step of priority, so that nothing starves. In milliseconds.

    Args:
        ageing: seconds of waiting that are worth a step, where it is not an hour.
        newest: the queue has its newest jobs run first.
    """
    return round(((-due if newest else due) - priority * ageing) * 1000)
