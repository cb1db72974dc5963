"""How a dialect of SQL writes what a search looks for."""

from __future__ import annotations

from typing import Protocol


class Patterns(Protocol):
    """Makes patterns for `find_match.sql`."""

    def exactly(self, text: str) -> str:
        """Matches this and nothing else."""
        ...

    def beginning(self, text: str) -> str:
        """Matches whatever begins with this."""
        ...

    def containing(self, text: str) -> str:
        """Matches whatever contains this, in whatever case."""
        ...

    def path(self, path: str) -> str:
        """Leads to an argument: names and places joined by dots."""
        ...
