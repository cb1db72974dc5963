"""The synchronous engine: calls in, replies out.

All calls that came together become one transaction, so that they share its one sync of the disk: a thousand callers
wait hardly longer than one would. If a call fails, everything is undone and each is tried alone, so that the
failure stays its own; unlike savepoints this costs nothing where there is no failure.

The engine knows no threads and no loops. One caller at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from noria.backends.sqlite.call import Call, Idle
from noria.backends.sqlite.faults import concerns_store
from noria.backends.sqlite.group import Group
from noria.backends.sqlite.link import Link
from noria.backends.sqlite.outlines import Note
from noria.backends.sqlite.settings import Settings
from noria.clock import Clock
from noria.errors import BackendError


class Engine:
    """Answers calls over one connection.

    Args:
        readonly: refuse to write, and let `open` make nothing.
    """

    def __init__(self, settings: Settings, clock: Clock, *, readonly: bool = False) -> None:
        self.settings = settings
        self._link = Link(settings, clock, readonly=readonly)
        self._notes: list[Note] = []

    def open(self) -> None:
        """Open the store, or say by a `ConfigError` or `Unavailable` why it cannot be. Repeating it does nothing."""
        self._link.open()

    def close(self) -> None:
        """Close the connection. Repeating it does nothing."""
        self._link.close()

    def twin(self, *, readonly: bool = False) -> Engine:
        """Another engine for the very same file, with a connection of its own, not yet opened."""
        twin = Engine(self.settings, self._link.clock, readonly=readonly)
        twin._link.identity = self._link.identity
        return twin

    def apply(self, calls: Sequence[Call]) -> list[Any]:
        """Answer calls that came together. A reply that is an exception is to be raised for its caller."""
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
        return call.idle(self._link.transaction())

    def _write(self, calls: Sequence[Call]) -> list[Any]:
        """Run calls together; if that fails, each alone, unless each would fail in the same way."""
        if not calls:
            return []
        group = Group(calls)
        try:
            group.prepare(self.settings, self._link.now())
            raw, notes = self._link.write(group.run, durable=group.durable)
        except Exception as error:  # noqa: BLE001 - becomes the reply of those whose fault it is
            meaning = self._link.meaning(error)
            if len(calls) == 1 or isinstance(error, BackendError) or concerns_store(error):
                return [meaning] * len(calls)
            return [self._write([call])[0] for call in calls]
        self._notes += notes
        replies = [self._answer(call.finish, each) for call, each in zip(group.calls, raw, strict=True)]
        spread = group.spread(replies)
        return [spread[index] for index in range(len(calls))]

    def _answer(self, run: Callable[..., Any], *args: Any) -> Any:
        try:
            return run(*args)
        except Exception as error:  # noqa: BLE001 - becomes the reply, and is raised for the caller
            return self._link.meaning(error)
