"""The engine of a SQLite store: how its transactions wait for the disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noria.backends.bus import Note
from noria.backends.sql import engine
from noria.backends.sql.call import Call, Sync
from noria.backends.sql.group import Group
from noria.backends.sql.sweep import Sweep
from noria.backends.sqlite.lease import Take
from noria.backends.sqlite.link import Link
from noria.backends.sqlite.log import APART
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.settle import Settle
from noria.clock import Clock
from noria.errors import Unknown


class Engine(engine.Engine):
    """Answers calls over one connection.

    Args:
        readonly: refuse to write, and let `open` make nothing.
    """

    take = Take
    settle = Settle
    sweep = Sweep
    settings: Settings
    _link: Link

    def __init__(self, settings: Settings, clock: Clock, *, readonly: bool = False) -> None:
        super().__init__(settings, Link(settings, clock, readonly=readonly))
        self._syncs_apart = APART and settings.synchronous == "full" and not settings.in_memory
        self._afloat = False

    def twin(self, *, readonly: bool = False) -> Engine:
        twin = Engine(self.settings, self._link.clock, readonly=readonly)
        twin._link.identity = self._link.identity
        return twin

    def land(self, calls: Sequence[Call], replies: list[Any]) -> list[Any]:
        if not self._afloat:
            return replies
        self._afloat = False
        try:
            self._link.land()
        except Unknown as error:
            return [
                error if call.sync is Sync.AFTER and not isinstance(reply, Exception) else reply
                for call, reply in zip(calls, replies, strict=True)
            ]
        return replies

    def _write_group(self, group: Group) -> tuple[list[Any], list[Note]]:
        group.prepare(self.settings, self._link.now())
        apart = group.sync is Sync.AFTER and self._syncs_apart
        written = self._link.write(group.run, sync=group.sync is not Sync.NEVER and not apart)
        self._afloat |= apart
        return written
