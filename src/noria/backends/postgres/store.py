"""The backend as applications and workers see it, on PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from noria.backends.bus import Note
from noria.backends.contract import Capabilities, Channel
from noria.backends.postgres.engine import Engine
from noria.backends.postgres.faults import Held
from noria.backends.postgres.held import Waits
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.wires import Wires
from noria.backends.postgres.within import push_within
from noria.backends.sql.alter import Alter
from noria.backends.sql.call import Call
from noria.backends.sql.push import Push
from noria.backends.sql.store import SqlStore
from noria.backends.sql.transaction import Transaction
from noria.clock import Clock
from noria.errors import BackendError
from noria.ids import IdSource
from noria.model.job import NewJob, Receipt

_DURABILITY = (
    "a committed job survives the death of any process, and what else the server's synchronous_commit promises: "
    "by default the loss of power too"
)


@dataclass(slots=True)
class Tell(Call):
    """Send a hint."""

    note: Note

    def run(self, work: Transaction) -> None:
        """Have it sent after the commit."""
        work.hints.append(self.note)


class PostgresStore(SqlStore):
    """See `noria.backends.contract.Backend`, whose promises are not repeated here."""

    _settings: Settings
    _engine: Engine

    def __init__(self, settings: Settings, clock: Clock, ids: IdSource) -> None:
        token = f"{ids.session():016x}"
        engine = Engine(settings, clock, token)
        wires = Wires(settings, clock, token)
        super().__init__(settings, clock, ids, engine, wires, owns_engine=True, name="noria-postgres")
        self._waits = Waits(settings, clock)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            transactional=True, groups=True, durability=_DURABILITY, max_body=self._settings.max_body
        )

    async def push_within(self, conn: object, jobs: Sequence[NewJob]) -> list[Receipt]:
        return await push_within(conn, jobs, self._settings)

    async def notify(self, channel: Channel, payload: bytes = b"") -> None:
        with contextlib.suppress(BackendError):  # whoever waits for a hint also polls
            await self._ask(Tell((channel, payload)))

    async def _ask(self, call: Call) -> Any:
        if not isinstance(call, (Push, Alter)):
            return await super()._ask(call)
        if not self._waits.concern(call):
            with contextlib.suppress(Held):
                return await super()._ask(call)
        return await self._waits.run(call, lambda: self._consult(call, "patient"))
