"""What the engine can be asked: one class for each question, all of this form."""

from __future__ import annotations

from typing import Any, ClassVar

from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.transaction import Transaction


class Call:
    """One question to the engine.

    A call can be run again, in a new transaction, if its first one was undone. While it runs no other process can
    write, so what needs no store is done before and after.
    """

    writes: ClassVar[bool] = True
    """Whether it needs a write transaction."""

    durable: ClassVar[bool] = True
    """Whether its reply promises something that must outlast the loss of power.

    A lease need not: with the power every worker is lost, and the job is as it was before, still queued. Not to
    wait for the disk then is half of an idle job's round trip.
    """

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
