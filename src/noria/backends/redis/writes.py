"""Changes that are decided here and written there: looked at, decided, and written if nothing has happened meanwhile.

What happened meanwhile is seen by the version of the head; whoever finds another one looks again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from noria.backends.redis.call import Request, Word
from noria.backends.redis.heads import Head, pack, unpack
from noria.backends.redis.settings import PORTION
from noria.backends.units import millis
from noria.ids import Id
from noria.model.flow import Word as Happening

DONE, IN_LINE, CHANGED, KEY_TAKEN, NOT_OPEN = "o", "w", "c", "k", "s"
"""Letters of `write.lua`."""

WIDTH: Final = 5
"""Words of a row."""

AWAITED: Final = "+"
"""Behind the letters, if others wait for a job that has ended: they are to be told; see `heirs`."""


class Seen(Struct):
    """A job as it was looked at; `head` is None if there is none, and the other parts are as they are stored."""

    id: Id
    head: Head | None
    change: bytes | None
    log: bytes | None
    card: bytes | None


class Write(Struct):
    """What was decided about a job. See `write.lua` for what is not said here.

    Attributes:
        id: whose it is.
        version: of the head that was looked at.
        head: as it is to be.
        parts: what is stored beside the head, by its name; False drops it.
        close: until when its group is closed, in seconds since the epoch; 0 closes nothing.
    """

    id: Id
    version: int
    head: Head
    prune_at: float = 0.0
    mark: str = ""
    parts: Mapping[str, bytes | bool] = {}
    words: Sequence[Happening] = ()
    tell: bool = False
    wake: bool = False
    close: float = 0.0
    ask: str | None = None


def seen(flat: Sequence[Any]) -> list[Seen]:
    """Rows as `lib/rows.lua` gives them."""
    return [_seen(*flat[at : at + WIDTH]) for at in range(0, len(flat), WIDTH)]


def _seen(id: bytes, head: bytes | None, change: Any, log: Any, card: Any) -> Seen:
    return Seen(Id(id), None if head is None else unpack(head), change, log, card)


def looks(ids: Sequence[Id], session: Word = "") -> list[Request]:
    """What asks for these jobs, in portions."""
    return [Request("look", [session, *portion]) for portion in portions(ids)]


def requests(writes: Sequence[Write], session: Word = "") -> list[Request]:
    """What writes these, in portions; with a session, only while that is open."""
    return [
        Request("write", [session, *(word for write in portion for word in words_of(write))])
        for portion in portions(writes)
    ]


def letters(answers: Sequence[bytes]) -> str:
    """The answers to `requests`, a letter for each write; what was done counts, wherever it leaves the job."""
    return whereabouts(answers).replace(IN_LINE, DONE)


def whereabouts(answers: Sequence[bytes]) -> str:
    """The same, telling jobs apart that wait in line now."""
    return b"".join(answers).decode().replace(AWAITED, "")


def are_awaited(answers: Sequence[bytes]) -> bool:
    """Whether jobs have ended for which others wait."""
    return any(answer.endswith(AWAITED.encode()) for answer in answers)


def portions(things: Sequence[Any]) -> list[Sequence[Any]]:
    """As many of them as one script takes."""
    return [things[start : start + PORTION] for start in range(0, len(things), PORTION)]


def words_of(write: Write) -> Iterator[Word]:
    """A write as `lib/write.lua` takes it."""
    yield write.id
    yield write.version
    yield pack(write.head)
    yield f"{write.prune_at:.0f}"
    yield write.mark
    yield " ".join(write.words)
    closing = f"c{millis(write.close)}" if write.close else ""
    yield ("t" if write.tell else "") + ("w" if write.wake else "") + closing
    yield "" if write.ask is None else f"+{write.ask}"
    yield len(write.parts)
    for part, value in write.parts.items():
        yield part
        yield b"+" + value if isinstance(value, bytes) else b"-"
