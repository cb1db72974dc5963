"""Which jobs the words on a command line mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from noria import ids
from noria.cli.source import Source
from noria.errors import InvalidInput, JobNotFound
from noria.ids import Id

NEWEST: Final = 2_000
"""Jobs among which the last digits of an id are looked for."""

_ENDING: Final = re.compile(r"[0-9a-f]{8,31}", re.IGNORECASE)


Named = Id | str
"""A whole id, or the last digits of one."""


def readable(words: Sequence[str]) -> list[Named]:
    """Read ids: whole ones, or the last 8 digits or more.

    Raises:
        InvalidInput: a word is neither.
    """
    return [word.lower() if _ENDING.fullmatch(word) else ids.from_text(word) for word in words]


async def chosen(source: Source, named: Sequence[Named]) -> list[Id]:
    """The ids that were meant, each once; last digits mean a job among the newest.

    Raises:
        InvalidInput: several jobs end in these digits.
        JobNotFound: no job among the newest ends in them.
    """
    recent = await source.newest(NEWEST) if any(isinstance(each, str) for each in named) else []
    return list(dict.fromkeys(_ending(each, recent) if isinstance(each, str) else each for each in named))


def _ending(word: str, recent: Iterable[Id]) -> Id:
    found = [id for id in recent if id.hex().endswith(word)]
    if not found:
        raise JobNotFound(
            f"none of the newest {NEWEST:,} jobs ends in {word}; give the whole id, which --json shows"
        )
    if len(found) > 1:
        both = " and ".join(ids.to_text(id) for id in found[:2])
        raise InvalidInput(
            f"{word} is the end of several jobs, such as {both}; give the whole id", field="id"
        )
    return found[0]
