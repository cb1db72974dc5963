"""Where a Redis server is, and as whom it is spoken to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

DEFAULT_PORT: Final = 6379
DEFAULT_NAMESPACE: Final = "noria"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One server, and one application's share of it.

    Attributes:
        host, port: where it listens.
        database: its number on the server.
        username, password: if the server asks for them; never shown.
        tls: whether to speak TLS.
        ca: a file with the authorities of its certificate, in PEM; empty: those that the system knows.
        verify: whether the server must prove by its certificate who it is.
        namespace: applications with different ones never meet.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database: int = 0
    username: str = ""
    password: str = field(default="", repr=False)
    tls: bool = False
    ca: str = ""
    verify: bool = True
    namespace: str = DEFAULT_NAMESPACE

    @property
    def shown(self) -> str:
        """The server as messages name it."""
        return f"Redis at {self.host}:{self.port}"

    @property
    def prefix(self) -> bytes:
        """What all keys begin with: a hash tag, so that they stay together wherever keys are spread."""
        return b"{" + self.namespace.encode() + b"}:"
