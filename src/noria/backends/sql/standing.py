"""How the schema of a store stands, for people."""

from __future__ import annotations

from msgspec import Struct


class Standing(Struct, frozen=True):
    """A schema.

    Attributes:
        version: of the store; 0 if it is not made yet. It may be newer than the program that looks at it.
        newest: the version that this program brings a store to.
        details: what else is worth knowing.
    """

    version: int
    newest: int
    details: dict[str, str] = {}

    @property
    def current(self) -> bool:
        """Whether nothing is to be done."""
        return self.version >= self.newest
