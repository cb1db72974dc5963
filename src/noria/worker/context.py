"""What a handler may know about the job that it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from noria import ids
from noria.clock import utc
from noria.codecs import DEFAULT, Misfit
from noria.errors import InvalidInput, InvalidOption, NoriaError, NotRunning, shown
from noria.model.asked import Notify
from noria.model.job import Lease, NewJob
from noria.model.limits import ASK_FOR, MAX_CHECKPOINT, MAX_DELAY, MAX_ITEM, MAX_NOTE
from noria.model.mark import Mark, Progress
from noria.model.question import OnExpiry
from noria.worker import asked as asking
from noria.worker.asked import PreviousAnswer
from noria.worker.follow import Describes, FollowUps, Pending, check_task
from noria.worker.writing import Scribe, Writing

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Stopped(NoriaError):
    """Raised by `Context.check` in a handler that should end: its job was cancelled, timed out or lost."""


class Context:
    """The running job, as its handler sees it.

    A task asks for it by annotating its first parameter with `Context`.

    Attributes:
        closing: until when its group is closed once the job ends, in seconds since the epoch; 0 if it is not.
        state: what the application's lifespan yielded; None if it has none. A job in a process cannot use it.
    """

    __slots__ = ("_before", "_follow_ups", "_lease", "_scribe", "_stop", "_wall", "closing", "state")

    def __init__(
        self, lease: Lease, state: Any, wall: Callable[[], float], scribe: Scribe | None = None
    ) -> None:
        self._lease = lease
        self._follow_ups = FollowUps(lease)
        self._stop = threading.Event()
        self._wall = wall
        self._scribe = scribe
        self._before: PreviousAnswer | None = None
        self.closing = 0.0
        self.state = state

    @property
    def job_id(self) -> str:
        """The job's id, a UUID as text."""
        return ids.to_text(self._lease.id)

    @property
    def task(self) -> str:
        """The name of the task."""
        return self._lease.task

    @property
    def queue(self) -> str:
        """The queue from which the job was leased."""
        return self._lease.queue

    @property
    def attempt(self) -> int:
        """Which counted attempt this is, from 1."""
        return self._lease.tally.spent + 1

    @property
    def attempts(self) -> int:
        """How many attempts the job has."""
        return self._lease.tally.attempts

    @property
    def starts(self) -> int:
        """How often the job was leased, this time included; with the id it names this run and no other."""
        return self._lease.starts

    @property
    def crashes(self) -> int:
        """How often a process died while it ran this job."""
        return self._lease.tally.crashes

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that the job was enqueued with."""
        return self._lease.extras.tags

    @property
    def correlation_id(self) -> str:
        """The correlation id that the job was enqueued with; empty if it has none."""
        return self._lease.extras.correlation_id

    @property
    def schedule(self) -> str:
        """The name of the timer that enqueued the job; empty if none did."""
        return self._lease.extras.schedule

    @property
    def slot(self) -> datetime | None:
        """The time for which a timer enqueued the job, in UTC; None if none did."""
        return None if self._lease.extras.slot is None else utc(self._lease.extras.slot)

    @property
    def group(self) -> str | None:
        """The key of the group that the job belongs to; None if it has no group."""
        return None if self._lease.group is None else self._lease.group.key

    def close_group(self, until: float | datetime) -> None:
        """Have no further job of this job's group start for a while, from the end of this one on, however it ends.

        For an answer such as "429 Too Many Requests". To have this job tried again after that, at no cost of an
        attempt, `raise Snooze(0)`: it waits with the others.

        Args:
            until: seconds from now, or a time with a time zone.

        Raises:
            InvalidOption: the job has no group, or `until` is no such time.
        """
        if self._lease.group is None:
            raise InvalidOption(f"job {self.job_id} has no group that could be closed", field="group")
        if isinstance(until, datetime):
            if until.utcoffset() is None:
                raise InvalidOption(
                    "until is a date without zone; give it one, such as datetime.UTC", field="until"
                )
            self.closing = max(0.0, until.timestamp())
        elif isinstance(until, int | float) and not isinstance(until, bool) and 0 <= until <= MAX_DELAY:
            self.closing = self._wall() + until
        else:
            raise InvalidOption(
                f"until must be seconds from now, or a time, not {shown(until)}", field="until"
            )

    @property
    def enqueued_at(self) -> datetime:
        """When the job was enqueued, in UTC."""
        return utc(self._lease.created)

    @property
    def deadline(self) -> datetime | None:
        """When the job must have ended, in UTC; None if it has no deadline."""
        return None if self._lease.deadline is None else utc(self._lease.deadline)

    @property
    def time_left(self) -> float | None:
        """Seconds until the deadline, never below 0; None if the job has no deadline."""
        return None if self._lease.deadline is None else max(0.0, self._lease.deadline - self._wall())

    # -- writing down --------------------------------------------------------------------------------------

    def progress(self, fraction: float, note: str = "") -> Writing:
        """Say how far the job has come; everybody who follows it sees that.

        It is written down within half a second; of several in that time the last one counts. `await` it in `async def`
        handlers; it waits for nothing.

        Args:
            fraction: from 0 to 1.
            note: for people; what is more than 500 characters is cut off.

        Raises:
            InvalidInput: `fraction` is no such number.
        """
        self._writer.jot(self._mark(progress=Progress(_fraction(fraction), _fit(str(note))[:MAX_NOTE])))
        return Writing()

    def checkpoint(self, data: Any) -> Writing:
        """Leave something for the next attempt of this job, which reads it as `restored`; it replaces what was left.

        `await` it in `async def` handlers; elsewhere it returns when it is written down.

        Args:
            data: what JSON can carry; at most 64 KiB of it.

        Raises:
            InvalidInput: it cannot be written as JSON, or is too large.
            Stopped: the job is no longer this worker's, so nothing was written.
        """
        return self._writer.write(self._mark(checkpoint=_packed("a checkpoint", data, MAX_CHECKPOINT)))

    def emit(self, *items: Any) -> Writing:
        """Send partial results to whoever follows the job, in order; they are kept with its record, the newest 1,000.

        `await` it in `async def` handlers; elsewhere it returns when they are written down.

        Args:
            items: what JSON can carry; at most 16 KiB each.

        Raises:
            InvalidInput: one cannot be written as JSON, or is too large; none was sent.
            Stopped: the job is no longer this worker's, so nothing was sent.
        """
        return self._writer.write(
            self._mark(items=tuple(_packed("an item", item, MAX_ITEM) for item in items))
        )

    @property
    def restored(self) -> Any:
        """What an earlier attempt has left by `checkpoint`, as JSON has it; None if none has left anything."""
        data = self._lease.checkpoint
        return None if data is None else msgspec.json.decode(data)

    # -- asking --------------------------------------------------------------------------------------------

    def ask(
        self,
        message: str,
        *,
        schema: type[T] = str,  # type: ignore[assignment]  # T is str then
        timeout: float = ASK_FOR,
        secret: bool = False,
        default: T | UnsetType = UNSET,
        on_expiry: OnExpiry | None = None,
        name: str = "",
        notify: Notify | None = None,
    ) -> Coroutine[Any, Any, T]:
        """Ask a person, and go on with the answer, in the same coroutine with all that it has open.

        Only in `async def` handlers. While it waits the job is `asking`: it needs no slot, its lease is kept, its
        `timeout` stands still, and its deadline does not.

        Args:
            message: what to ask; at most 2,000 characters.
            schema: what the answer is: `str`, `int`, `float`, `bool`, an enum, a `Literal`, or a dataclass or msgspec
                Struct of these.
            timeout: seconds for which the question is open.
            secret: the answer is shown and logged nowhere, and deleted once it was read.
            default: what to go on with if nobody answers in time.
            on_expiry: what happens then: "fail" raises `QuestionExpired`, "default" returns the default, "decline"
                raises `QuestionDeclined`. Usually "fail", or "default" if there is one.
            name: for programs that answer.
            notify: called with the question once it is open, on the event loop and in the job's slot, and awaited if it
                is a coroutine: to send its `answer_url` to a person. What it raises, the handler gets; the question is
                withdrawn then.

        Raises:
            QuestionExpired: nobody answered in time.
            QuestionDeclined: somebody would not answer.
            InvalidOption: an option is wrong.
            NotRunning: this handler cannot wait, or asks already.
        """
        if notify is not None and not callable(notify):
            raise InvalidOption(f"who is to be told must be a function, not {shown(notify)}", field="notify")
        asked = asking.question(
            self._lease, message, schema, timeout, secret, default, on_expiry, name, self._wall()
        )
        return asking.typed(self._writer.ask(self._lease, asked, notify), schema)

    @property
    def previous_answer(self) -> PreviousAnswer | None:
        """The answer to what an earlier attempt had asked, if it came when that attempt was dead already."""
        return self._before

    async def look_back(self) -> None:
        """See whether the question of an earlier start was answered; for the worker, before the handler begins."""
        answered = await self._writer.look_back(self._lease)
        if answered is not None and answered.state == "answered":
            self._before = PreviousAnswer(answered.message, answered.name, answered.data)

    @property
    def _writer(self) -> Scribe:
        if self._scribe is None:
            raise NotRunning("this context belongs to no worker, so nothing can be written down")
        return self._scribe

    def _mark(self, **fields: Any) -> Mark:
        return Mark(self._lease.id, self._lease.starts, **fields)

    # -- ending --------------------------------------------------------------------------------------------

    @property
    def parent_id(self) -> str:
        """The id of the job whose follow-up this one is, a UUID as text; empty if it is none."""
        return ids.of_hex(self._lease.extras.parent_id)

    def enqueue(self, task: Describes[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Pending[R]:
        """Enqueue a follow-up of this job, in the same step in which its success is recorded. Not a coroutine.

        A job that is tried again never doubles its follow-ups, and one that does not succeed leaves none. If another
        job has the unique key of a follow-up then, that job stands for it, and is listed beside the children.

        Args:
            task: a task, or `task.options(...)`.
            args, kwargs: its arguments. Its deadline is at most that of this job.

        Raises:
            InvalidArguments, TooLarge: as `task.enqueue`; also if all follow-ups of the job have over 2 MiB.
            InvalidInput: the job has 1,000 follow-ups already; or `task` is none.
            InvalidOption: its `unique` would change another job: a follow-up cannot replace, update or merge.
            NotRunning: the handler has ended.
        """
        check_task(task)
        new = self._follow_ups.add(task.job(*args, **kwargs).new)
        return Pending(ids.to_text(new.id), new.task)

    def take_follow_ups(self) -> tuple[NewJob, ...]:
        """What goes along with the success; for the worker. From now on no more can be enqueued."""
        return self._follow_ups.take()

    @property
    def stopping(self) -> bool:
        """Whether the handler should end: its job was cancelled, timed out, or is no longer its own."""
        return self._stop.is_set()

    def check(self) -> None:
        """For handlers in threads, which nothing can interrupt, and in processes: end here if the job should end.

        Raises:
            Stopped: the job was cancelled, has timed out, or is no longer this worker's.
        """
        if self._stop.is_set():
            raise Stopped(f"job {self.job_id} should end")

    def stop(self) -> None:
        """Ask the handler to end; for the worker."""
        self._stop.set()


def _fraction(value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise InvalidInput(f"progress is a number from 0 to 1, not {shown(value)}", field="fraction")
    return float(value)


def _packed(what: str, value: Any, limit: int) -> bytes:
    try:
        return DEFAULT.encode(value, limit)
    except Misfit as misfit:
        raise InvalidInput(misfit.of(what)) from None


def _fit(text: str) -> str:
    # Lone surrogates cannot be written as UTF-8 and NUL ends a text in SQL.
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
