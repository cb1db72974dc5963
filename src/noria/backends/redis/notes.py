"""Writes in mid-run: fenced as settles are, and read by whoever follows a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct as Layout
from typing import Any, ClassVar, Final

from msgspec import UNSET, Struct, structs

from noria.backends.contract import Mark, Stream, Verdict
from noria.backends.redis import board
from noria.backends.redis.call import Call, Request, Steps, Word
from noria.backends.redis.heads import Head
from noria.backends.redis.settings import Settings
from noria.backends.redis.writes import portions
from noria.backends.units import millis
from noria.ids import Id, SessionId
from noria.model.limits import MAX_BATCH, MAX_EMITTED
from noria.model.mark import Item, Progress
from noria.model.state import State

LOOK_AGAIN: Final = 3600.0
"""Seconds after which it is seen whether the record of a job is still there, whose notes go with it."""

_LAYOUT: Final = Layout("<ddIIII")
_ITEM: Final = Layout("<dI")
_VERDICTS: Final = {ord("o"): Verdict.OK, ord("a"): Verdict.ALREADY, ord("s"): Verdict.STALE}


class Note(Struct):
    """What starts of a job have written down, as `lib/notes.lua` packs it. Negative progress is none."""

    progress: float
    noted: float
    starts: int
    version: int
    emitted: int
    said: int
    session: str
    text: str
    question: str

    def asked_by(self, head: Head) -> str:
        """The question that the job asks now, given its head; empty if it asks none."""
        same = head.state == State.RUNNING and (head.session, head.starts) == (self.session, self.starts)
        return self.question if same else ""

    def progress_of(self, head: Head) -> Progress | None:
        """How far its current or last start has come."""
        if self.progress < 0 or head.starts != self.starts:
            return None
        return Progress(self.progress, self.text, self.noted / 1000)


def unpack(packed: bytes) -> Note:
    """A note as it is stored."""
    return Note(*_LAYOUT.unpack_from(packed), *packed[_LAYOUT.size : -1].decode().split("\0"))


@dataclass(slots=True)
class WriteMarks(Call):
    """The call."""

    session: SessionId
    marks: Sequence[Mark]

    def steps(self, settings: Settings) -> Steps:
        """Write marks, as `Queue.mark` promises."""
        if not self.marks:
            return []
        asked = [self._request(portion) for portion in _fitting(self.marks)]
        answers = yield asked
        return [_VERDICTS[letter] for letter in b"".join(answers)]

    def _request(self, portion: Sequence[Mark]) -> Request:
        words: list[Word] = [self.session, millis(LOOK_AGAIN), MAX_EMITTED]
        for mark in portion:
            words += _words(mark)
        return Request("mark", words)


_MOST_WORDS: Final = 4_000


def _fitting(marks: Sequence[Mark]) -> Iterator[Sequence[Mark]]:
    """As many as one script takes; at least one."""
    portion: list[Mark] = []
    size = 0
    for mark in marks:
        words = 9 + len(mark.items) + 5 * len(mark.docs)
        if portion and size + words > _MOST_WORDS:
            yield portion
            portion, size = [], 0
        portion.append(mark)
        size += words
    yield portion


def _words(mark: Mark) -> Iterator[Word]:
    progress = mark.progress
    yield mark.id
    yield mark.starts
    yield "" if progress is None else repr(float(progress.fraction))
    yield "" if progress is None else progress.note
    yield b"" if mark.checkpoint is None else b"+" + mark.checkpoint
    yield "" if mark.asks is UNSET else "-" if mark.asks is None else f"+{mark.asks}"
    yield mark.first
    yield len(mark.items)
    yield from mark.items
    yield len(mark.docs)
    yield from board.words([structs.replace(doc, if_version=None) for doc in mark.docs])


@dataclass(slots=True)
class Emitted(Call):
    """The call."""

    id: Id
    start: int
    limit: int
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Read partial results of a job."""
        limit = max(1, min(self.limit, MAX_BATCH))
        (answer,) = yield [Request("items", [self.id, max(0, self.start), limit])]
        if answer is None:
            return None
        end, first, *found = answer
        return Stream([_item(offset, data) for offset, data in enumerate(found, int(first))], int(end))


def _item(offset: int, data: bytes) -> Item:
    at, starts = _ITEM.unpack_from(data)
    return Item(offset, at / 1000, starts, data[_ITEM.size :])


ASKING: Final = Request("asking", [])
"""Which jobs ask: they are stored, and counted, as running."""


def askers(answer: Sequence[Any]) -> set[Id]:
    """The jobs that ask, as `asking.lua` tells."""
    return {Id(id) for id in answer[::2]}


def queues_of_askers(answer: Sequence[Any]) -> Counter[str]:
    """How many jobs of each queue ask, as `asking.lua` tells."""
    return Counter(queue.decode() for queue in answer[1::2])


def prune(limit: int) -> Request:
    """What drops notes of jobs whose records are gone."""
    return Request("notes_prune", [limit, millis(LOOK_AGAIN)])


def drop(ids: Sequence[Id]) -> list[Request]:
    """What drops the notes of these jobs."""
    return [Request("notes_drop", portion) for portion in portions(ids)]
