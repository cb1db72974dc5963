"""The backend as applications and workers see it, on SQLite."""

from __future__ import annotations

from noria.backends.bus import Bus
from noria.backends.contract import Capabilities
from noria.backends.sql.store import SqlStore
from noria.backends.sqlite.engine import Engine
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.wires import Wires
from noria.clock import Clock
from noria.errors import ConfigError
from noria.ids import IdSource

_DURABILITY = {
    "full": "a committed job survives the death of any process and the loss of power",
    "normal": "a committed job survives the death of any process; the loss of power may undo the last commits",
    "off": "a committed job survives the death of any process; the loss of power may damage the file",
}


class SqliteStore(SqlStore):
    """See `noria.backends.contract.Backend`, whose promises are not repeated here."""

    _settings: Settings
    _engine: Engine

    def __init__(
        self, settings: Settings, clock: Clock, ids: IdSource, engine: Engine, bus: Bus, *, owns_engine: bool
    ) -> None:
        wires = Wires(settings, bus, f"{ids.session():016x}")
        super().__init__(settings, clock, ids, engine, wires, owns_engine=owns_engine, name="noria-sqlite")

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            groups=True,
            durability=_DURABILITY[self._settings.synchronous],
            max_body=self._settings.max_body,
        )

    def sibling(self, ids: IdSource) -> SqliteStore:
        """Another backend on the same inline engine and bus: another process of a simulated machine."""
        if not self._settings.inline:
            raise ConfigError("only inline backends share an engine; others open the same file")
        return SqliteStore(self._settings, self._clock, ids, self._engine, self._wires.bus, owns_engine=False)
