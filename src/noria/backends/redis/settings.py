"""What can be set about a Redis backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from noria.backends.redis.address import Address
from noria.model.limits import (
    KEEP_DEAD,
    KEEP_SUCCEEDED,
    KEEP_SUCCEEDED_AT_MOST,
    MAX_BODY,
    MIB,
    PARK_FOR,
    POLL,
)

Persistence = Literal["asked", "none"]

ERASED_FOR: Final = 2
"""How many times the `timeout` of a call a job erased at success is still recognised, if the call is repeated."""

LEASE_BYTES: Final = 32 * MIB
"""Bytes of bodies that one lease takes, unless the first has more."""

SILENCE: Final = 10.0
"""Seconds after which a server that does not answer is given up, and spoken to on another connection."""

PATIENCE: Final = 5.0
"""Seconds for which a call waits for a server that cannot be reached."""

PORTION: Final = 500
"""Jobs that one script ends, changes or reads at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One store, as it was configured.

    Attributes:
        address: the server and the namespace.
        persistence: "asked" has a server without an append-only file told of in the log; "none" is content with it.
        timeout: seconds within which a call ends.
        keep_succeeded, keep_dead: seconds for which records of ended jobs, and of dead letters, are kept.
        keep_succeeded_at_most: records of ended jobs that are kept, whatever their age.
        park_for: seconds for which a job of a task that no worker knows is kept waiting.
        poll: seconds after which a waiting lease looks again, hint or not.
        max_body: bytes that a body or result may have.
        server_time: time is the server's; if not, it is that of the process that calls.
    """

    address: Address
    persistence: Persistence = "asked"
    timeout: float = 30.0
    keep_succeeded: float = KEEP_SUCCEEDED
    keep_succeeded_at_most: int = KEEP_SUCCEEDED_AT_MOST
    keep_dead: float = KEEP_DEAD
    park_for: float = PARK_FOR
    poll: float = POLL
    max_body: int = MAX_BODY
    server_time: bool = True

    @property
    def silence(self) -> float:
        """Seconds after which an exchange without an answer is given up."""
        return min(SILENCE, self.timeout)

    @property
    def patience(self) -> float:
        """Seconds for which a call waits for a connection."""
        return min(PATIENCE, self.timeout)

    def key(self, name: str) -> bytes:
        """A key of this namespace."""
        return self.address.prefix + name.encode()
