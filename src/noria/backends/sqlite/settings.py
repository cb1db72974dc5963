"""What can be set about a SQLite backend, and the units it stores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal

from noria.backends.sql import settings

MEMORY: Final = ":memory:"
Synchronous = Literal["full", "normal", "off"]

SPILL: Final = 384
"""Bodies and results with more bytes are kept beside their row, which each change of state writes anew. A row with a
body and a result of this size just fits into its page; one that overflowed would cost six times as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(settings.Settings):
    """One store, as it was configured; see also `noria.backends.sql.settings.Settings`.

    Attributes:
        path: the database file, or ":memory:".
        runtime: a private directory for wake-up sockets.
        synchronous: "full" survives the loss of power, "normal" and "off" only the death of processes.
        sockets: hints are exchanged with other processes.
    """

    spill: ClassVar[int | None] = SPILL
    groups: ClassVar[bool] = True

    path: str
    runtime: Path
    synchronous: Synchronous = "full"
    sockets: bool = True

    @property
    def in_memory(self) -> bool:
        """Whether the store is gone with its process."""
        return self.path == MEMORY

    @property
    def store(self) -> str:
        return f"SQLite database {self.path}"
