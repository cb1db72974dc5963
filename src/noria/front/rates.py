"""Token buckets: how often a key may ask, and how often one address may show keys that are none."""

from __future__ import annotations

import ipaddress
import math
from typing import Final

from msgspec import Struct

from noria.clock import Clock

_MOST: Final = 10_000
"""Buckets that are remembered; who has not come for the longest time is forgotten first, and has a full one again."""
_PREFIX: Final = 64
"""Bits of an IPv6 address that tell its owner; the others are the owner's to choose."""


class Rate(Struct, frozen=True):
    """So many a second, and at most so many at once."""

    second: float
    burst: float

    @property
    def policy(self) -> str:
        """As `RateLimit-Policy` has it (draft-ietf-httpapi-ratelimit-headers-10): a quota, and its window."""
        return f'"requests";q={int(self.burst)};w={math.ceil(self.burst / self.second)}'


class Stand(Struct, frozen=True):
    """How a bucket stands. `taken`: whether there was one to take; `left`: how many are, in parts too."""

    rate: Rate
    taken: bool
    left: float

    @property
    def wait(self) -> float:
        """Seconds until there is one."""
        return max(0.0, 1.0 - self.left) / self.rate.second

    @property
    def fields(self) -> dict[str, str]:
        """What an answer tells of it."""
        full = math.ceil((self.rate.burst - self.left) / self.rate.second)
        return {
            "RateLimit-Policy": self.rate.policy,
            "RateLimit": f'"requests";r={int(self.left)};t={full}',
        }


class Buckets:
    """A bucket for each name; one that was never used is full."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str, rate: Rate) -> Stand:
        """Take one, if there is one."""
        now = self._clock.monotonic()
        left, then = self._left.pop(name, (rate.burst, now))
        left = min(rate.burst, left + (now - then) * rate.second)
        taken = left >= 1.0
        left -= taken
        if len(self._left) >= _MOST:
            del self._left[next(iter(self._left))]
        self._left[name] = (left, now)
        return Stand(rate, taken, left)

    def give_back(self, name: str) -> None:
        """It was not needed."""
        if name in self._left:
            left, then = self._left[name]
            self._left[name] = (left + 1.0, then)


def neighbourhood(address: str) -> str:
    """Whom an address belongs to: itself, or the network of which its owner can choose the rest."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, _PREFIX), strict=False))
    return str(found)
