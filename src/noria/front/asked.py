"""A request with its header fields at hand: they are looked at many times, and read once."""

from __future__ import annotations

from functools import cached_property

from starlette.requests import Request


class Asked(Request):
    """A request as it came."""

    @cached_property
    def fields(self) -> dict[str, str]:
        """Its header fields by name in small letters; of those that are there twice, the first."""
        return {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(self.scope["headers"])
        }

    @cached_property
    def told(self) -> dict[str, str]:
        """Header fields that the answer carries, whatever it is."""
        return {}
