"""I15: a stream tells a job's versions in order, its end last and once, and what it leaves out can be counted.

The number of an event is the version of the job in it, as the store has it: it grows by one with each change, so
that a reader sees from two numbers how many changes it was not told of.
"""

from __future__ import annotations

from msgspec import Struct

from noria.model.state import State
from noria.testing.events import Event, Followed, Read, Seen, Unfollowed
from noria.testing.facts import FINALS, Handler
from noria.testing.inquiry import Inquiry, Invariant
from noria.testing.invariants.records import STEPS

_WITH_JOB = ("job", "state")
_LAST = ("gone", "bye")


class Line(Struct):
    """One stream as its reader has it so far.

    Attributes:
        version, state: of the last event with the job; 0 if there was none.
        over: an event was told that is the last one.
        ended: nothing comes any more.
    """

    id: str
    reader: str
    after: int
    version: int = 0
    state: int = 0
    over: bool = False
    ended: bool = False


class Streams(Invariant):
    """I15."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._lines: dict[int, Line] = {}
        self._read: dict[tuple[str, int], int] = {}

    def handlers(self) -> dict[type, Handler]:
        return {Read: self._learn, Followed: self._followed, Seen: self._seen, Unfollowed: self._unfollowed}

    def finish(self, last: Event) -> None:
        for line in self._lines.values():
            if not line.ended:
                why = "the stream goes on after its end" if line.over else "its reader was never told its end"
                self._found(last, line, why)

    def _found(self, event: Event, line: Line, text: str) -> None:
        self._inquiry.found("I15", event, f"{text} ({line.reader})", line.id)

    def _learn(self, event: Event, fact: Read) -> None:
        if fact.state is not None:
            self._read[fact.id, fact.version] = fact.state

    def _followed(self, event: Event, fact: Followed) -> None:
        self._lines[fact.stream] = Line(fact.id, fact.reader, fact.after)

    def _seen(self, event: Event, fact: Seen) -> None:
        line = self._lines[fact.stream]
        if line.over or line.ended:
            self._found(event, line, f"{fact.event!r} was told after the end of the stream")
        if fact.event in _WITH_JOB and fact.state is not None:
            self._told(event, fact, line, fact.state)
        line.over = line.over or fact.event in _LAST or line.state in FINALS

    def _told(self, event: Event, fact: Seen, line: Line, state: int) -> None:
        text = _disorder(fact, line, state) or self._invented(fact, state)
        if text:
            self._found(event, line, text)
        line.version, line.state = fact.version, state

    def _invented(self, fact: Seen, state: int) -> str:
        read = self._read.get((fact.id, fact.version))
        if read is None:
            return f"version {fact.version} was told, which nobody has read: gaps cannot be counted"
        if read != state:
            return f"version {fact.version} was told as {_word(state)}, and is {_word(read)}"
        return ""

    def _unfollowed(self, event: Event, fact: Unfollowed) -> None:
        line = self._lines[fact.stream]
        line.ended = True
        if fact.how == "closed" and not line.over:
            self._found(event, line, "the stream was closed before the end of the job, without a word")
        elif fact.how == "known" and self._read.get((line.id, line.after)) not in FINALS:
            self._found(event, line, "its reader was told that it knows the end, and does not")


def _disorder(fact: Seen, line: Line, state: int) -> str:
    """What is wrong with the place of an event among those before; empty if nothing is."""
    if (fact.event == "job") != (line.version == 0):
        return "the first event of a stream, and no other, is the job as it stands"
    if fact.version < line.after:
        return f"version {fact.version} was told to a reader who has seen version {line.after}"
    if line.version and fact.version <= line.version:
        return f"version {fact.version} was told after version {line.version}"
    if (
        fact.version == line.version + 1
        and line.version
        and state != line.state
        and (line.state, state) not in STEPS
    ):
        return f"it went from {_word(line.state)} to {_word(state)}, which no move allows"
    return ""


def _word(state: int) -> str:
    return State(state).word
