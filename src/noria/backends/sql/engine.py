"""The synchronous engine: calls in, replies out.

All calls that came together become one transaction, so that they share its one sync of the disk: a thousand callers
wait hardly longer than one would. If a call fails, everything is undone and each is tried alone, so that the
failure stays its own; unlike savepoints this costs nothing where there is no failure.

The engine knows no threads and no loops. One caller at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, Self, TypeVar

from noria.backends.bus import Note
from noria.backends.sql.call import Call, Idle
from noria.backends.sql.group import Group
from noria.backends.sql.lease import Take
from noria.backends.sql.settings import Settings
from noria.backends.sql.settle import Settle
from noria.backends.sql.sweep import Sweep
from noria.backends.sql.transaction import Transaction
from noria.errors import BackendError

T = TypeVar("T")


class Link(Protocol):
    """One connection to a store."""

    def open(self) -> None:
        """Open the store, or say by a `ConfigError` or `Unavailable` why it cannot be."""

    def close(self) -> None:
        """Close the connection. Repeating it does nothing."""

    def check(self) -> None:
        """See that there is a connection. Raises as `open`."""

    def read(self, run: Callable[[Transaction], T]) -> T:
        """Run something that sees one moment of the store."""
        ...

    def look(self, run: Callable[[Transaction], T]) -> T:
        """Run something of which each statement may see its own moment."""
        ...

    def meaning(self, error: Exception) -> Exception:
        """What a fault is to a caller."""
        ...

    def concerns_store(self, error: Exception) -> bool:
        """Whether every other call would have met this error too, so that trying each alone is of no use."""
        ...


class Engine(ABC):
    """Answers calls over one connection."""

    take: ClassVar[type[Take]]
    settle: ClassVar[type[Settle]]
    sweep: ClassVar[type[Sweep]]
    """The calls that each backend does in its own way."""

    def __init__(self, settings: Settings, link: Link) -> None:
        self.settings = settings
        self._link = link
        self._notes: list[Note] = []

    def open(self) -> None:
        """Open the store, or say by a `ConfigError` or `Unavailable` why it cannot be. Repeating it does nothing."""
        self._link.open()

    def close(self) -> None:
        """Close the connection. Repeating it does nothing."""
        self._link.close()

    @abstractmethod
    def twin(self, *, readonly: bool = False) -> Self:
        """Another engine for the very same store, with a connection of its own, not yet opened."""

    def apply(self, calls: Sequence[Call]) -> list[Any]:
        """Answer calls that came together. A reply that is an exception is to be raised for its caller."""
        return self.land(calls, self.commit(calls))

    def land(self, calls: Sequence[Call], replies: list[Any]) -> list[Any]:
        """Wait until the disk has what these replies of `commit` promise; returns what may be told to the callers."""
        return replies

    def commit(self, calls: Sequence[Call]) -> list[Any]:
        """Answer calls that came together, as `apply`; their hints may go out, but the replies have to `land` first."""
        fault = self._answer(self._link.check)
        if fault is not None:
            return [fault] * len(calls)
        replies = [None if call.writes else self._answer(self._read, call) for call in calls]
        writers = [index for index, call in enumerate(calls) if call.writes]
        if all(isinstance(calls[index], Idle) for index in writers):
            writers = self._answer_idly(calls, writers, replies)
        for index, reply in zip(writers, self._write([calls[index] for index in writers]), strict=True):
            replies[index] = reply
        return replies

    def take_notes(self) -> list[Note]:
        """The hints that commits since the last time have left to be sent."""
        notes, self._notes = self._notes, []
        return notes

    def _read(self, call: Call) -> Any:
        return call.finish(self._link.read(call.run))

    def _answer_idly(self, calls: Sequence[Call], writers: Sequence[int], replies: list[Any]) -> list[int]:
        """Answer what needs no write after all, so that an idle worker never syncs the disk."""
        for index in writers:
            call = calls[index]
            assert isinstance(call, Idle), "nothing else is asked for without need"
            replies[index] = self._answer(self._look, call)
        return [index for index in writers if replies[index] is None]

    def _look(self, call: Idle) -> Any:
        return self._link.look(call.idle)

    def _write(self, calls: Sequence[Call]) -> list[Any]:
        """Run calls together; if that fails, each alone, unless each would fail in the same way."""
        if not calls:
            return []
        group = Group(calls)
        try:
            raw, notes = self._write_group(group)
        except Exception as error:  # noqa: BLE001 - becomes the reply of those whose fault it is
            meaning = self._link.meaning(error)
            if len(calls) == 1 or isinstance(error, BackendError) or self._link.concerns_store(error):
                return [meaning] * len(calls)
            return [self._write([call])[0] for call in calls]
        self._notes += notes
        replies = [self._answer(call.finish, each) for call, each in zip(group.calls, raw, strict=True)]
        spread = group.spread(replies)
        return [spread[index] for index in range(len(calls))]

    @abstractmethod
    def _write_group(self, group: Group) -> tuple[list[Any], list[Note]]:
        """Prepare and run calls in one transaction; returns what each `finish` is to get, and the hints to send."""

    def _answer(self, run: Callable[..., Any], *args: Any) -> Any:
        try:
            return run(*args)
        except Exception as error:  # noqa: BLE001 - becomes the reply, and is raised for the caller
            return self._link.meaning(error)
