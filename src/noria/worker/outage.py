"""What fails again and again is told when it begins, from time to time while it lasts, and when it is over."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

log = logging.getLogger("noria.worker")

EVERY: Final = 30.0
"""Seconds between two lines about the same outage: a log may be on the very disk that is full."""


class Outage:
    """One thing that a worker does again until it goes well. All methods belong to the loop.

    Args:
        works: what is true again when it is over, as "jobs are leased".
    """

    def __init__(self, works: str) -> None:
        self._works = works
        self._began: float | None = None
        self._told = float("-inf")

    def goes_on(self, trouble: str, error: Exception) -> None:
        """It has failed, once more or for the first time."""
        now = asyncio.get_running_loop().time()
        if self._began is None:
            self._began, self._told = now, float("-inf")
        if now - self._told >= EVERY:
            self._told = now
            log.warning("%s, trying again: %s", trouble, error)

    def over(self) -> None:
        """It went well."""
        if self._began is not None:
            lasted = asyncio.get_running_loop().time() - self._began
            self._began = None
            log.warning("%s again, after %.1f s", self._works, lasted)
