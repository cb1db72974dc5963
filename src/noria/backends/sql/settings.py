"""What can be set about every backend that keeps its jobs in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from noria.model.limits import (
    KEEP_DEAD,
    KEEP_SUCCEEDED,
    KEEP_SUCCEEDED_AT_MOST,
    MAX_BODY,
    MIB,
    PARK_FOR,
    POLL,
)

ERASED_FOR: Final = 2
"""How many times the `timeout` of a call a job erased at success is still recognised, if the call is repeated."""

LEASE_BYTES: Final = 32 * MIB
"""Bytes of large bodies that one lease takes, unless the first has more."""

BLOB_CHUNK: Final = 8 * MIB
"""Bytes of large values that one statement takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One store, as it was configured.

    Attributes:
        timeout: seconds within which a call ends.
        keep_succeeded, keep_dead: seconds for which records of ended jobs, and of dead letters, are kept.
        keep_succeeded_at_most: records of ended jobs that are kept, whatever their age.
        park_for: seconds for which a job of a task that no worker knows is kept waiting.
        poll: seconds after which a waiting lease looks again, hint or not.
        max_body: bytes that a body or result may have.
        inline: the engine runs in its caller, without threads.
    """

    spill: ClassVar[int | None] = None
    """Bodies and results with more bytes are kept beside their row, if the store does not see to that by itself."""

    groups: ClassVar[bool] = False
    """Whether jobs may have groups and needs."""

    timeout: float = 30.0
    keep_succeeded: float = KEEP_SUCCEEDED
    keep_succeeded_at_most: int = KEEP_SUCCEEDED_AT_MOST
    keep_dead: float = KEEP_DEAD
    park_for: float = PARK_FOR
    poll: float = POLL
    max_body: int = MAX_BODY
    inline: bool = False

    @property
    def store(self) -> str:
        """The store as messages name it."""
        raise NotImplementedError

    def spills(self, size: int) -> bool:
        """Whether a value of so many bytes is kept beside its row."""
        return self.spill is not None and size > self.spill
