"""Every error that Noria raises, and the exceptions by which a handler steers its own job.

One tree, so that `except NoriaError` catches all of it. A message says what happened, to which job, task or
queue, and what to do next; it never carries arguments, results or passwords.
"""

from __future__ import annotations


class NoriaError(Exception):
    """The root of every error that Noria raises on purpose."""


def shown(value: object) -> str:
    """A value as messages quote it: short, on one line, and never an error of its own."""
    try:
        text = f"{value!r:.60}"
    except Exception:  # noqa: BLE001 - a __repr__ may fail in any way, and so does a huge int's
        text = f"<a {type(value).__name__} that cannot be shown>"
    return text if text.isprintable() else ascii(text)[1:-1]


# -- wrong use: the caller can mend it ---------------------------------------------------------------------


class ConfigError(NoriaError):
    """A setting or declaration is wrong; raised at start, before any job runs."""


class TaskDefinitionError(ConfigError):
    """A function cannot be a task as it is declared."""


class InvalidInput(NoriaError, ValueError):
    """Something a caller passed is wrong; nothing was stored. `field` names it."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class InvalidName(InvalidInput):
    """A name of a task, queue or worker has a form that no backend accepts."""


class InvalidOption(InvalidInput):
    """An option of a task or job is unknown, has the wrong type or is out of range."""


class InvalidArguments(InvalidInput):
    """The arguments do not fit the signature of the task."""


class TooLarge(InvalidInput):
    """A body is larger, or nested deeper, than the limit."""


class ResultTooLarge(NoriaError):
    """A handler returned more than the limit; recorded as the failure of its job, which is not tried again."""


class UnknownTask(NoriaError, LookupError):
    """No task of this name is declared in the application."""


class JobNotFound(NoriaError, LookupError):
    """The backend holds no job of this id: it was erased, pruned, or never enqueued here."""


class ScheduleNotFound(NoriaError, LookupError):
    """There is no schedule of this name."""


class WrongState(NoriaError):
    """The job, or the schedule, is in a state in which this cannot be done."""


class Conflict(NoriaError):
    """What is stored is not what a write expected: nothing of that was written.

    Either a small document has another version: read it, and decide anew. Or a job has the id already, and is of
    another task.

    Args:
        documents: the (kind, name) of each such document.
    """

    def __init__(self, message: str, *, documents: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message)
        self.documents = documents


class QueueFull(NoriaError):
    """A queue holds as many waiting jobs as it may; these were not enqueued. Try again when it is shorter.

    Args:
        queue: which queue, of the first that was refused.
        job_ids: the ids of the jobs that were refused; all others of the call are enqueued, unless it was in a
            transaction, which must then be undone.
    """

    def __init__(self, message: str, *, queue: str, job_ids: tuple[str, ...]) -> None:
        super().__init__(message)
        self.queue = queue
        self.job_ids = job_ids


class DuplicateJob(NoriaError):
    """Another job has the unique key, and it was asked for that this be an error; nothing was stored.

    `job_id` is the id of the job that has the key.
    """

    def __init__(self, message: str, *, job_id: str = "") -> None:
        super().__init__(message)
        self.job_id = job_id


class NotRunning(NoriaError, RuntimeError):
    """The application or backend is not open: use `async with app:` first."""


class NotYetEnqueued(NoriaError, RuntimeError):
    """A follow-up was awaited. It is enqueued together with the success of the job that asked for it, not before."""


# -- questions -----------------------------------------------------------------------------------------------


class QuestionError(NoriaError):
    """A question cannot be answered, or was not. `question` is its id."""

    def __init__(self, message: str, *, question: str = "") -> None:
        super().__init__(message)
        self.question = question


class QuestionNotFound(QuestionError, LookupError):
    """There is no such question, or not any more."""


class QuestionExpired(QuestionError):
    """Nobody answered in time: raised in the handler that asked, and to whoever answers later."""


class QuestionDeclined(QuestionError):
    """Somebody would not answer; raised in the handler that asked. `action` is "decline" or "cancel"."""

    def __init__(self, message: str, *, question: str = "", action: str = "decline") -> None:
        super().__init__(message, question=question)
        self.action = action


class QuestionSuperseded(QuestionError):
    """The start that asked is over: the job asks again, if it still wants to know.

    Attributes:
        following: the id of the question that is asked in its place; empty if it was not asked yet.
    """

    def __init__(self, message: str, *, question: str = "", following: str = "") -> None:
        super().__init__(message, question=question)
        self.following = following


class AlreadyAnswered(QuestionError):
    """The question has another answer; the first one counts. `state`: "answered", "declined" or "cancelled"."""

    def __init__(self, message: str, *, question: str = "", state: str = "answered") -> None:
        super().__init__(message, question=question)
        self.state = state


class InvalidAnswer(InvalidInput):
    """An answer does not fit what the question asks for. `flaws`: JSON pointers, and what is wrong there."""

    def __init__(self, message: str, *, flaws: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message, field="data")
        self.flaws = flaws


# -- the backend -------------------------------------------------------------------------------------------


class BackendError(NoriaError):
    """The backend could not serve a call."""


class Unavailable(BackendError):
    """The backend could not be reached or refused: the call was certainly not done."""


class Unknown(BackendError):
    """No answer came in time: the call may have been done. Repeating it with the same ids is safe."""


# -- how a job ended, for those who wait for its value -----------------------------------------------------


class JobError(NoriaError):
    """The job ended without a value. `job_id` is its id, `state` its final state."""

    state = ""

    def __init__(self, message: str, *, job_id: str = "") -> None:
        super().__init__(message)
        self.job_id = job_id


class JobFailed(JobError):
    """The job failed for good. `type`, `text` and `traceback` tell its last error, as text.

    The original exception is never rebuilt from what was stored: text from a store stays text.
    """

    state = "failed"

    def __init__(
        self, message: str, *, job_id: str = "", type: str = "", text: str = "", traceback: str = ""
    ) -> None:
        super().__init__(message, job_id=job_id)
        self.type = type
        self.text = text
        self.traceback = traceback


class JobCancelled(JobError):
    """The job was cancelled."""

    state = "cancelled"


class JobExpired(JobError):
    """The job was not started by `expires` or not finished by `deadline`."""

    state = "expired"


class InvalidResult(JobError):
    """A value cannot be carried from a job to who waits for it.

    Either the handler returned what cannot be encoded: recorded as the failure of its job, which is not tried
    again. Or what is stored cannot be decoded into the type that the task declares: raised to who waits,
    although the job has succeeded.
    """

    state = "succeeded"


class ResultGone(JobError):
    """The job succeeded, and its value is no longer kept."""

    state = "succeeded"


class WaitTimeout(NoriaError, TimeoutError):
    """The job had not ended when the caller's time was over. The job goes on."""


# -- what a handler raises to steer its own job ------------------------------------------------------------


class Control(NoriaError):
    """Base of the four exceptions by which a handler says how its start ends."""


class Retry(Control):
    """Run the job again; the attempt counts.

    Args:
        reason: recorded as the error of this attempt.
        after: seconds until the next attempt; the task's backoff decides if it is None.

    Raises:
        InvalidOption: `after` is no number of seconds from 0 to 100 years.
    """

    def __init__(self, reason: str = "", *, after: float | None = None) -> None:
        super().__init__(reason or "the handler asked for a retry")
        self.after = None if after is None else _seconds("after", after)


class Snooze(Control):
    """Run the job again in `delay` seconds; the attempt does not count.

    Raises:
        InvalidOption: `delay` is no number of seconds from 0 to 100 years.
    """

    def __init__(self, delay: float, reason: str = "") -> None:
        super().__init__(reason or "the handler asked to be called later")
        self.delay = _seconds("delay", delay)


class Cancel(Control):
    """End the job as cancelled."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "the handler cancelled its job")


class Fail(Control):
    """End the job as failed, whatever attempts are left."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "the handler gave up")


def _seconds(name: str, value: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and 0 <= value <= 3_155_760_000:
        return float(value)
    raise InvalidOption(
        f"{name} must be a number of seconds from 0 to 100 years, not {shown(value)}", field=name
    )
