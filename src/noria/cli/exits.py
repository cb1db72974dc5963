"""How a command ends: the one table of exit codes, and which error means which."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from noria.errors import (
    BackendError,
    ConfigError,
    Conflict,
    DuplicateJob,
    InvalidInput,
    JobError,
    JobNotFound,
    NoriaError,
    NotRunning,
    QueueFull,
    UnknownTask,
    WaitTimeout,
    WrongState,
)


class ExitCode(IntEnum):
    """What a shell sees when a command has ended."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    REFUSED = 5
    TIMED_OUT = 6
    NOT_AUTHORISED = 7
    NOTHING_MATCHED = 8
    BUG = 70
    RESTART = 75
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


MEANINGS: Final[dict[ExitCode, str]] = {
    ExitCode.OK: "fine; a worker: drained, all that it had begun was finished",
    ExitCode.FAILED: "the job or a check failed; a worker: its drain was cut short, or a job has cancelled its parts",
    ExitCode.USAGE: "wrong use, or the application cannot be imported",
    ExitCode.UNREACHABLE: "the backend or front cannot be reached, or did not answer in time",
    ExitCode.NOT_FOUND: "no such job, task, worker, key or question",
    ExitCode.REFUSED: "refused by the state of job or question, a taken id or key, a full queue, or --read-only",
    ExitCode.TIMED_OUT: "the waiting timed out; the job goes on",
    ExitCode.NOT_AUTHORISED: "the front asks for a key, or the key may not do this",
    ExitCode.NOTHING_MATCHED: "nothing matched, with --fail-empty",
    ExitCode.BUG: "a bug in noria; please report it",
    ExitCode.RESTART: "a worker asks to be restarted",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C (SIGINT)",
    ExitCode.BROKEN_PIPE: "whoever read the output went away (SIGPIPE)",
    ExitCode.TERMINATED: "ended by SIGTERM",
}


class ImportFault(NoriaError):
    """The application cannot be imported. `trace` is the user's own traceback, if their code raised."""

    def __init__(self, message: str, *, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class NoAnswer(BackendError):
    """The backend did not answer within --timeout."""


class NotAuthorised(NoriaError):
    """The front asks for a key, or the key may not do this."""


class ReadOnly(NoriaError):
    """The command would change something, and was told not to."""


class NothingThere(NoriaError, LookupError):
    """The front knows no such worker, key, operation, queue, timer or question."""


class Stop(Exception):
    """Ends a command with this code; what there was to say has been said."""

    def __init__(self, code: ExitCode) -> None:
        super().__init__(code)
        self.code = code


_KINDS: Final[tuple[tuple[type[BaseException], ExitCode], ...]] = (
    (ImportFault, ExitCode.USAGE),
    (JobNotFound, ExitCode.NOT_FOUND),
    (UnknownTask, ExitCode.NOT_FOUND),
    (NothingThere, ExitCode.NOT_FOUND),
    (NotAuthorised, ExitCode.NOT_AUTHORISED),
    (ReadOnly, ExitCode.REFUSED),
    (WrongState, ExitCode.REFUSED),
    (Conflict, ExitCode.REFUSED),
    (DuplicateJob, ExitCode.REFUSED),
    (QueueFull, ExitCode.REFUSED),
    (WaitTimeout, ExitCode.TIMED_OUT),
    (JobError, ExitCode.FAILED),
    (ConfigError, ExitCode.USAGE),
    (InvalidInput, ExitCode.USAGE),
    (NotRunning, ExitCode.BUG),
    (BackendError, ExitCode.UNREACHABLE),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (BrokenPipeError, ExitCode.BROKEN_PIPE),
    (CancelledError, ExitCode.FAILED),
)


def code_of(error: BaseException) -> ExitCode:
    """The exit code that an error stands for. What nobody expected is a bug of ours.

    If a part of a worker failed, what that part died of decides.
    """
    if isinstance(error, Stop):
        return error.code
    found = next((code for kind, code in _KINDS if isinstance(error, kind)), None)
    if found is not None:
        return found
    cause = error.__cause__ if isinstance(error, NoriaError) else None
    return ExitCode.BUG if cause is None else code_of(cause)


def table() -> Iterator[str]:
    """The codes with their meanings, one line each, for --help and the docs."""
    return (f"{code:>4}  {meaning}" for code, meaning in MEANINGS.items())
