"""From a request to a job: the task is known, its arguments fit, and whoever asks may use it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from noria.app.catalog import TaskSheet
from noria.app.plan import Plan
from noria.errors import InvalidInput, InvalidOption
from noria.front.bodies import check_depth
from noria.front.desk import Desk
from noria.front.principal import Principal
from noria.front.problem import Part, Problem
from noria.front.requests import OPTIONS, GroupWanted, JobWanted, RetryWanted, UniqueWanted, Wanted, said
from noria.front.tasks import Known
from noria.front.times import point
from noria.model.backoff import Backoff
from noria.model.job import NewJob, Record
from noria.model.limits import ATTEMPTS, CRASH_BUDGET
from noria.model.names import check_name
from noria.model.outcome import Tally
from noria.model.state import State
from noria.model.unique import Unique

_FIELDS: Final = {python: field for field, python in OPTIONS.items()}


class Order(Struct, frozen=True):
    """A job to enqueue.

    Attributes:
        named: the client has chosen its id, so that a job of that id may be there already.
    """

    job: NewJob
    named: bool = False

    @property
    def reject(self) -> bool:
        """Whether another job with its unique key is an error to the client."""
        return self.job.claim is not None and self.job.claim.on_conflict == "reject"


async def order_of(desk: Desk, who: Principal, wanted: Wanted) -> Order:
    """The job that a request asks for.

    Raises:
        Problem: it cannot be, and why.
    """
    named = isinstance(wanted, JobWanted) and wanted.id is not UNSET
    if named:
        _check_may_name(who, "choose an id: leave it out, and send an Idempotency-Key")
    if wanted.after is not UNSET:
        _check_may_name(who, "name jobs to wait for: leave after out")
    known = await find_task(desk, who, wanted.task, park=wanted.park)
    _check_times(wanted)
    options = said(wanted)
    if isinstance(wanted.retry, RetryWanted):
        options["retry"] = wanted.retry
    if isinstance(wanted.group, GroupWanted):
        options["group"] = (wanted.group.family, wanted.group.key)
    if wanted.unique is not UNSET:
        options["unique"] = _unique(who, wanted.unique)
    args = b"{}" if wanted.args is UNSET else bytes(wanted.args)
    return Order(job_of(desk, who, known, args, options), named)


def _unique(who: Principal, wanted: str | UniqueWanted | None) -> str | Unique | None:
    """How a job is unique, by the words of a request.

    Raises:
        Problem: it cannot be so, or this key may not change other jobs.
    """
    if not isinstance(wanted, UniqueWanted):
        return wanted
    try:
        unique = wanted.unique()
    except InvalidOption as error:
        raise _refused(InvalidOption(str(error), field=f"unique.{error.field.rstrip('_')}")) from None
    if unique.claim is not None and unique.claim.changes and not who.may("jobs:manage"):
        raise Problem(
            "scope_missing",
            f"on_conflict {unique.on_conflict!r} changes the job that has the unique key: use a key with the scope "
            "jobs:manage, or a task that says so itself",
        )
    return unique


def _check_may_name(who: Principal, what: str) -> None:
    """See that a key may name jobs by their ids: the answer tells of a job that has an id, whosever it is.

    Raises:
        Problem: it may not read every job.
    """
    if who.limited or not who.may("jobs:read"):
        raise Problem(
            "id_not_allowed",
            f"only a key that may read every job may {what}",
        )


async def find_task(desk: Desk, who: Principal, name: str, *, park: bool = False) -> Known:
    """A task that this key may use.

    Raises:
        Problem: it may not, or nobody knows the task and the job is not to be parked for one who will.
    """
    if not who.sees_task(name):
        raise Problem("task_not_allowed", f"this key may not use task {name[:128]!r}")
    if not park:
        return await desk.tasks.find(name)
    return await desk.tasks.look(name) or _stranger(check_name("task", name))


def _stranger(name: str) -> Known:
    """A task that nobody knows yet; whoever will know it checks the arguments."""
    anything = Raw(b"{}")
    sheet = TaskSheet(
        name=name, queue="default", priority=0, attempts=ATTEMPTS, crash_budget=CRASH_BUDGET, timeout=None,
        keep=None, tags=(), executor="async", retry=Backoff(), description="", safe=False, positional=(),
        args_schema=anything, result_schema=anything,
    )  # fmt: skip
    return Known(sheet, Plan.of(sheet, {}), lambda body: ())


def job_of(desk: Desk, who: Principal, known: Known, args: bytes, options: dict[str, Any]) -> NewJob:
    """A job of a task, with an id.

    Args:
        args: as JSON; an object or an array.
        options: as `JobOptions`, but that `retry` is a `RetryWanted`.

    Raises:
        Problem: the arguments or options do not fit, or the key may not use the queue.
    """
    check_args(args)
    try:
        if (retry := options.get("retry")) is not None:
            options["retry"] = Backoff(retry.base, retry.cap, retry.factor, retry.jitter)
        plan = Plan.of(known.sheet, options) if options else known.plan
        job = plan.job(known.body_of(args), desk.ids, desk.clock)
        job = _stamped(desk, desk.app.home.families.placed(job, known.sheet, plan.group))
    except InvalidInput as error:
        raise _refused(error) from None
    check_queue(who, job.queue)
    if job.claim is not None and who.limited:
        job = replace(job, claim=replace(job.claim, same_queue=True))
    return job


def check_args(args: bytes) -> None:
    """See that JSON has the form of arguments.

    Raises:
        Problem: it has not, or is too deep.
    """
    if args[:1] not in (b"{", b"["):
        wrong = "is no object (arguments by name) or array (by position)"
        raise Problem("invalid_args", f"args {wrong}", errors=[Part("/args", wrong)])
    check_depth(args)


def _stamped(desk: Desk, job: NewJob) -> NewJob:
    """The job as the application's middleware would have it enqueued."""
    layers = desk.app.home.layers
    if not layers.stamps:
        return job
    return replace(job, extras=layers.stamp(job.task, job.queue, job.extras))


def _check_times(wanted: Wanted) -> None:
    for field in OPTIONS:
        if isinstance(value := getattr(wanted, field), datetime):
            try:
                point(field, value)
            except InvalidInput as error:
                raise _refused(error) from None


def _refused(error: InvalidInput) -> Problem:
    field = _FIELDS.get(error.field, error.field)
    pointer = "/" + field.replace(".", "/")
    return Problem("invalid_value", str(error), errors=[Part(pointer, str(error))])


def check_queue(who: Principal, queue: str) -> None:
    """See that a key may enqueue into a queue.

    Raises:
        Problem: it may not.
    """
    if not who.sees_queue(queue):
        raise Problem("queue_not_allowed", f"this key may not use queue {queue!r}")


def record_of(job: NewJob, now: float) -> Record:
    """What the store has of a job that was enqueued just now, without reading it."""
    due = job.at if job.at is not None else now + job.delay
    return Record(
        id=job.id, task=job.task, queue=job.queue, state=State.SCHEDULED if due > now else State.QUEUED, version=1,
        dead=False, priority=job.priority, created=now, due=max(due, now), began=None, finished=None,
        expires=job.expires, deadline=job.deadline, session=0, worker="", starts=0,
        tally=Tally(attempts=job.attempts, crash_budget=job.crash_budget), unique=job.unique, keep=job.keep,
        cancelling=False, failure=None, extras=job.extras, codec=job.codec,
        group=None if job.group is None else job.group.ref, needs=tuple(sorted(need.name for need in job.needs)),
    )  # fmt: skip
