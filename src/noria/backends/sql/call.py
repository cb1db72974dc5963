"""What the engine can be asked: one class for each question, all of this form."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

from noria.backends.sql.settings import Settings
from noria.backends.sql.transaction import Transaction


class Sync(IntEnum):
    """When a call waits for the disk. Calls that share a transaction wait as the strictest of them does."""

    NEVER = 0
    """A lease, say: with the power every worker is lost, and the job is as it was before, still queued."""
    AFTER = 1
    """After its commit and before its reply, so that workers see new jobs, and other writers go on, meanwhile."""
    WITHIN = 2
    """Before anybody sees its commit: an outcome that was seen once is seen for ever."""


class Call:
    """One question to the engine.

    A call can be run again, in a new transaction, if its first one was undone. While it runs no other process can
    write, so what needs no store is done before and after.
    """

    writes: ClassVar[bool] = True
    """Whether it needs a write transaction."""

    sync: ClassVar[Sync] = Sync.WITHIN
    """When it waits until its write outlasts the loss of power."""

    def prepare(self, settings: Settings, now: int) -> None:
        """Do what can be done before the transaction; `now` is in milliseconds."""

    def run(self, work: Transaction) -> Any:
        """Do it inside the transaction; what it returns is kept for `finish`."""
        raise NotImplementedError

    def finish(self, raw: Any) -> Any:
        """Make the reply of what `run` returned, after the transaction."""
        return raw


class Idle(Call):
    """A call that is asked again and again, and mostly has nothing to write."""

    def idle(self, work: Transaction) -> Any:
        """The reply, if a look at the store shows that nothing has to be written; else None."""
        raise NotImplementedError
