"""Noria: an asyncio-native distributed task system. Never lost, fenced, and nothing silent.

from noria import Noria

app = Noria()

@app.task
async def send_mail(to: str, subject: str) -> str: ...

async with app:
    job = await send_mail.enqueue("a@b.c", subject="hi")
    print(await job)
"""

from noria.app.application import Noria
from noria.app.dead import DeadPage, Dealt
from noria.app.depends import INJECTED, Depends
from noria.app.following import JobEvent
from noria.app.job import Draft, Job
from noria.app.onion import CallNext, Middleware, Outgoing
from noria.app.router import Router
from noria.app.schedules import ScheduleStatus, SlotLog
from noria.app.status import JobFault, JobStatus, ProgressStatus, Retried, StartStatus
from noria.app.task import Enqueuer, Task, TaskFunction
from noria.app.workflow import Workflow, chain, gather
from noria.errors import (
    AlreadyAnswered,
    BackendError,
    Cancel,
    ConfigError,
    Conflict,
    Control,
    DuplicateJob,
    Fail,
    InvalidAnswer,
    InvalidArguments,
    InvalidInput,
    InvalidName,
    InvalidOption,
    InvalidResult,
    JobCancelled,
    JobError,
    JobExpired,
    JobFailed,
    JobNotFound,
    NoriaError,
    NotRunning,
    NotYetEnqueued,
    QuestionDeclined,
    QuestionError,
    QuestionExpired,
    QuestionNotFound,
    QuestionSuperseded,
    QueueFull,
    ResultGone,
    ResultTooLarge,
    Retry,
    ScheduleNotFound,
    Snooze,
    TaskDefinitionError,
    TooLarge,
    Unavailable,
    Unknown,
    UnknownTask,
    WaitTimeout,
    WrongState,
)
from noria.model.asked import QuestionStatus
from noria.model.backoff import Backoff
from noria.model.reason import Reason
from noria.model.unique import Unique
from noria.worker import Exit, Worker, WorkerSettings
from noria.worker.asked import PreviousAnswer
from noria.worker.context import Context, Stopped
from noria.worker.follow import Pending

__version__ = "0.1.0"

__all__ = [
    "INJECTED",
    "AlreadyAnswered",
    "BackendError",
    "Backoff",
    "CallNext",
    "Cancel",
    "ConfigError",
    "Conflict",
    "Context",
    "Control",
    "DeadPage",
    "Dealt",
    "Depends",
    "Draft",
    "DuplicateJob",
    "Enqueuer",
    "Exit",
    "Fail",
    "InvalidAnswer",
    "InvalidArguments",
    "InvalidInput",
    "InvalidName",
    "InvalidOption",
    "InvalidResult",
    "Job",
    "JobCancelled",
    "JobError",
    "JobEvent",
    "JobExpired",
    "JobFailed",
    "JobFault",
    "JobNotFound",
    "JobStatus",
    "Middleware",
    "Noria",
    "NoriaError",
    "NotRunning",
    "NotYetEnqueued",
    "Outgoing",
    "Pending",
    "PreviousAnswer",
    "ProgressStatus",
    "QuestionDeclined",
    "QuestionError",
    "QuestionExpired",
    "QuestionNotFound",
    "QuestionStatus",
    "QuestionSuperseded",
    "QueueFull",
    "Reason",
    "ResultGone",
    "ResultTooLarge",
    "Retried",
    "Retry",
    "Router",
    "ScheduleNotFound",
    "ScheduleStatus",
    "SlotLog",
    "Snooze",
    "StartStatus",
    "Stopped",
    "Task",
    "TaskDefinitionError",
    "TaskFunction",
    "TooLarge",
    "Unavailable",
    "Unique",
    "Unknown",
    "UnknownTask",
    "WaitTimeout",
    "Worker",
    "WorkerSettings",
    "Workflow",
    "WrongState",
    "__version__",
    "chain",
    "gather",
]
