"""Rules of families and resources as a store has them. One that cannot be read costs what it limits, and no worker."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from noria.errors import InvalidOption
from noria.model.groups import Need, Rule

log = logging.getLogger("noria.backends")

T = TypeVar("T")
_KNOWN: Final = 1_024
"""Texts that are remembered, so that a bad one is told of once."""


@lru_cache(_KNOWN)
def read_rule(family: str, text: str | bytes) -> Rule | None:
    """The rule of a family; None if the text says none, as if nobody had declared it: who does so next sets it."""
    return _read(f"the rule of family {family!r}", text, Rule)


@lru_cache(_KNOWN)
def read_need(name: str, text: str | bytes) -> Need:
    """What is known of a resource; nothing if the text says nothing that can be read."""
    return _read(f"the limits of resource {name!r}", text, Need) or Need(name)


def _read(what: str, text: str | bytes, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, InvalidOption) as error:
        log.error(
            "%s in the store cannot be read, and nothing is limited by it until it is declared again: %s",
            what,
            error,
        )
        return None
