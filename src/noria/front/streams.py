"""How many event streams are open, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from noria.front.principal import Principal
from noria.front.problem import Problem
from noria.front.settings import FrontSettings


class Streams:
    """Counts the open event streams."""

    def __init__(self, settings: FrontSettings) -> None:
        self._settings = settings
        self._of_key: dict[str, int] = {}
        self.count = 0

    def check(self, who: Principal) -> None:
        """See that one more may be opened.

        Raises:
            Problem: it may not.
        """
        of_key = self._of_key.get(who.id, 0)
        if self.count >= self._settings.streams or (who.stored and of_key >= self._settings.streams_per_key):
            raise Problem(
                "too_many_streams",
                "too many event streams are open; close one, or ask another front",
                retry_after=5,
            )

    @contextmanager
    def counted(self, who: Principal) -> Iterator[None]:
        """One is open for as long as this is."""
        self.count += 1
        self._of_key[who.id] = self._of_key.get(who.id, 0) + 1
        try:
            yield
        finally:
            self.count -= 1
            self._of_key[who.id] -= 1
            if not self._of_key[who.id]:
                del self._of_key[who.id]
