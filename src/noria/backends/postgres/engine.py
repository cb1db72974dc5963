"""The engine of a PostgreSQL store: calls that came together become one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from noria.backends.bus import Note
from noria.backends.postgres.faults import Held, Refused
from noria.backends.postgres.held import Key, keys_of
from noria.backends.postgres.lease import Take
from noria.backends.postgres.link import Link
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.settle import Settle
from noria.backends.postgres.sweep import Sweep
from noria.backends.sql import engine
from noria.backends.sql.alter import Alter
from noria.backends.sql.call import Call
from noria.backends.sql.group import Group
from noria.backends.sql.push import Pushes
from noria.backends.sql.transaction import Transaction
from noria.clock import Clock

BRIEF: Final = 50
"""Milliseconds for which calls that may meet a transaction of somebody else wait for it: all others wait too."""

BRIEFEST: Final = 1
"""The same once one of the calls that came together has met one."""

_HELD: Final = "55P03"


class Engine(engine.Engine):
    """Answers calls over one connection.

    Args:
        sender: this process, as its hints name it.
        makes: may make and migrate the schema.
    """

    take = Take
    settle = Settle
    sweep = Sweep
    settings: Settings
    _link: Link

    def __init__(self, settings: Settings, clock: Clock, sender: str, *, makes: bool = True) -> None:
        super().__init__(settings, Link(settings, clock, sender, makes=makes))
        self._sender = sender
        self._held: set[Key] = set()

    def twin(self, *, readonly: bool = False) -> Engine:
        return Engine(self.settings, self._link.clock, self._sender, makes=False)

    def commit(self, calls: Sequence[Call]) -> list[Any]:
        self._held.clear()
        return super().commit(calls)

    def _write_group(self, group: Group) -> tuple[list[Any], list[Note]]:
        keys = _keys_alone(group)
        if not self._held.isdisjoint(keys):
            raise Held("another call that came together with this one was held up at the same key")

        def run(work: Transaction) -> list[Any]:
            # By the server's time, which is known only now; nobody waits for us meanwhile.
            group.prepare(self.settings, work.now)
            if any(isinstance(call, (Pushes, Alter)) or _follows(call) for call in group.calls):
                work.run("wait_briefly", BRIEFEST if self._held else BRIEF)
            return group.run(work)

        try:
            # Only a lease may be forgotten with a crash of the server: see decision 0021.
            return self._link.write(run, lasting=not all(isinstance(call, Take) for call in group.calls))
        except Refused as error:
            if error.code == _HELD:
                self._held.update(keys)
            raise


def _keys_alone(group: Group) -> list[Key]:
    """What a call needs that is alone; nothing if several are together."""
    call = group.calls[0] if len(group.calls) == 1 else None
    if isinstance(call, Pushes) and len(call.pushes) == 1:
        return keys_of(call.pushes[0])
    return keys_of(call) if isinstance(call, Alter) else []


def _follows(call: Call) -> bool:
    """Whether a settle stores jobs whose keys others may be taking; it is tried again by its worker."""
    return isinstance(call, Settle) and call.follows
