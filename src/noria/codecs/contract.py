"""What a codec promises; bodies and results name theirs, so that several can live in one store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Decode = Callable[[bytes], Any]
"""Turns bytes into a value of the type it was made for. Raises `Misfit` or `Oversize`, and nothing else."""


class Codec(Protocol):
    """One way to write values as bytes. Stateless; safe to share between threads."""

    @property
    def name(self) -> str:
        """The word that travels with the bytes."""
        ...

    def encode(self, value: object, limit: int) -> bytes:
        """Write a value so that decoding it into its own type gives an equal value.

        Args:
            value: builtin values and collections, dataclasses, msgspec and attrs classes, pydantic models,
                enums, dates and times, timedelta, UUID, Decimal, bytes.
            limit: bytes that the encoded value may have at most.

        Raises:
            Misfit: it, or something inside it, cannot be written.
            Oversize: it is larger than `limit`, or nested deeper than `MAX_DEPTH`.
        """
        ...

    def decoder(self, shape: Any, limit: int | None) -> Decode:
        """A decoder that gives values of the type `shape`, or raises. Types are checked strictly.

        Args:
            shape: a type as an annotation writes it; `Any` takes what is there.
            limit: bytes that it looks at, at most; size and depth are checked before anything is decoded. None
                for bytes that this process has just encoded, and so checked.

        Raises:
            TypeError: values of this type cannot be decoded.
        """
        ...
