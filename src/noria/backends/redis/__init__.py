"""Redis: jobs on one server, for any number of processes on any number of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noria.backends.redis.address import Address

if TYPE_CHECKING:
    from noria.backends.redis.backend import RedisBackend

__all__ = ["Address", "RedisBackend"]


def __getattr__(name: str) -> Any:
    # What a URL says is read without the extra that a connection needs.
    if name == "RedisBackend":
        from noria.backends.redis.backend import RedisBackend

        return RedisBackend
    raise AttributeError(name)
