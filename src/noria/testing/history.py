"""Histories: what each process did, line by line, in a form that outlives the process.

A process writes to a file of its own, one JSON line for each event, in a single write before it goes on:
after a SIGKILL everything up to the last call is there. `read_history` merges the files of one machine into
one order.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from noria.clock import Clock, SystemClock
from noria.errors import InvalidInput
from noria.testing.events import Event, Fact, Fault

_decoder = msgspec.json.Decoder(Event)


class Recorder:
    """Appends events to the history file of this process.

    Safe to share between threads. The lines of one `note` are one write, so that they are there whole or not
    at all, and in the order in which `note` was called.

    Args:
        folder: where the histories of a run are gathered.
        proc: a name of this process, for people; the process id is added, since names may repeat.
        clock: its monotonic time must be the machine's, or histories of several processes cannot be merged.
    """

    def __init__(self, folder: Path, proc: str, *, clock: Clock | None = None) -> None:
        self.proc = f"{proc}-{os.getpid()}"
        self.clock: Clock = clock or SystemClock()
        self._encoder = msgspec.json.Encoder()
        self._lock = threading.Lock()
        self._seq = 0
        self._file = os.open(
            folder / f"{self.proc}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )

    def note(self, *facts: Fact) -> None:
        """Write down facts, in this order, before anything else happens."""
        if not facts:
            return
        with self._lock:
            mono, wall = self.clock.monotonic(), self.clock.wall()
            lines = []
            for fact in facts:
                self._seq += 1
                lines.append(self._encoder.encode(Event(mono, wall, self.proc, self._seq, fact)) + b"\n")
            text = b"".join(lines)
            if os.write(self._file, text) != len(text):
                raise OSError(f"the history of {self.proc} could not be written whole: is the disk full?")

    def fault(self, name: str, what: str, target: str = "") -> Under:
        """A scope that tells of a fault: its beginning, and its end however it is left."""
        return Under(self, name, what, target)

    def close(self) -> None:
        """Close the file; repeating it does nothing."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1


class Under:
    """The time during which a fault is at work."""

    def __init__(self, recorder: Recorder, name: str, what: str, target: str) -> None:
        self._recorder = recorder
        self._told = (name, what, target)

    def __enter__(self) -> None:
        name, what, target = self._told
        self._recorder.note(Fault(phase="begin", name=name, what=what, target=target))

    def __exit__(self, *_: object) -> None:
        name, what, target = self._told
        self._recorder.note(Fault(phase="end", name=name, what=what, target=target))


def read_history(folder: Path) -> list[Event]:
    """Every event of every process of a run, in one order of time.

    Raises:
        InvalidInput: a line cannot be read. The last line of a file may be torn: its process died writing it.
    """
    events: list[Event] = []
    for path in sorted(folder.glob("*.jsonl")):
        events += _read_lines(path)
    return in_order(events)


def in_order(events: Iterable[Event]) -> list[Event]:
    """Events by monotonic time; those of one process stay in the order in which it told them."""
    return sorted(events, key=lambda event: (event.mono, event.proc, event.seq))


def _read_lines(path: Path) -> Sequence[Event]:
    *lines, torn = path.read_bytes().split(b"\n")
    del torn  # empty if the file ends as it should
    try:
        return [_decoder.decode(line) for line in lines]
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{path.name} is no history: {error}", field="history") from error


def digest(codec: str, value: bytes | None) -> str | None:
    """What stands for a result in a history: equal for equal results, and short."""
    if value is None:
        return None
    return hashlib.blake2b(value, digest_size=8, person=codec.encode()[:16]).hexdigest()
