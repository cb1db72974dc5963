"""Where a reader of a job's events is: the version that it has seen, and the next item that it wants."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from noria.backends.contract import Backend
from noria.clock import moment
from noria.front.resources import embed
from noria.model.job import Record

PAGE: Final = 100
"""Items that are read at once."""


class Position(Struct, frozen=True):
    """Written as the version, and behind a point the offset of the next item, unless that is 0."""

    version: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.version}.{self.offset}" if self.offset else str(self.version)

    def behind(self, record: Record) -> bool:
        """Whether there is anything that it has not seen."""
        return self.version != record.version or self.offset < record.items


NOWHERE: Final = Position()


def read(text: str | None) -> Position:
    """A position as a client names it; what is none is before everything."""
    version, _, offset = (text or "").partition(".")
    if not (version.isdecimal() and len(version) < 20 and len(offset) < 20):
        return NOWHERE
    return Position(int(version), int(offset) if offset.isdecimal() else 0)


async def items(
    backend: Backend, record: Record, position: Position
) -> tuple[list[tuple[Position, str, dict[str, Any]]], Position]:
    """The next partial results of a job behind a position, each with the position behind it, and the last of these."""
    if position.offset >= record.items:
        return [], position
    page = await backend.emitted(record.id, position.offset, PAGE)
    if page is None or not page.items:
        return [], Position(position.version, max(position.offset, record.items))
    found = []
    if (first := page.items[0].offset) > position.offset:
        found.append((Position(position.version, first), "gap", {"offset": first}))
    for item in page.items:
        data = {
            "offset": item.offset,
            "at": moment(item.at),
            "start": item.starts,
            "item": embed(item.data, "json"),
        }
        found.append((Position(position.version, item.offset + 1), "item", data))
    return found, found[-1][0]
