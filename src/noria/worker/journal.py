"""The run journal: which jobs of a process had begun, readable by others after it was killed.

Each worker session maps one small file and locks it for life. A start is written before the handler's first
step and cleared when its outcome is recorded: what a handler has left behind may kill the process after its last.
Whoever can lock the file knows at once that its process is gone, on this
host; the pages survive any death of the process, since the kernel owns them. They do not survive the host,
and need not: a session whose journal is lost is ended as overdue, and all that it held counts as crashed,
unproven.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from noria.backends.contract import Evidence, Fence
from noria.ids import Id, SessionId

_MAGIC: Final = b"noria-run-1\0"
_HEAD: Final = struct.Struct("<12sQII64s")
# The mark comes last, so that a process killed within the write has not begun the job.
_PLACE: Final = struct.Struct("<16sIB")
_MARK: Final = _PLACE.size - 1
_BEGUN: Final = 1
_SUFFIX: Final = ".run"


class Journal(Protocol):
    """The journal of a living session."""

    def begin(self, place: int, id: Id, starts: int) -> None:
        """A handler is about to take its first step; its start is written in this place."""
        ...

    def clear(self, place: int) -> None:
        """The outcome of the start in this place is recorded."""
        ...

    def close(self) -> None:
        """The session was ended in an orderly way: nobody needs the journal."""
        ...


@dataclass(frozen=True, slots=True)
class Remains:
    """The journal of a session whose process is gone."""

    session: SessionId
    started: tuple[Fence, ...]
    evidence: Evidence


class Journals(Protocol):
    """The journals of one backend on this host."""

    def create(self, session: SessionId, places: int) -> Journal:
        """Begin the journal of a session of this process, with room for so many starts."""
        ...

    @contextmanager
    def remains(self) -> Iterator[list[Remains]]:
        """The journals of dead processes; dropped when the block ends without an error."""
        ...


class FileJournals:
    """Journals as files of a private directory.

    Args:
        folder: created if missing; one per backend.
        host: this host's name, for the evidence.
    """

    def __init__(self, folder: Path, host: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._host = host

    def create(self, session: SessionId, places: int) -> FileJournal:
        path = self._folder / journal_name(session)
        return FileJournal(path, session, places, self._host)

    @contextmanager
    def remains(self) -> Iterator[list[Remains]]:
        files = [found for path in sorted(self._folder.glob("*" + _SUFFIX)) if (found := _claim(path))]
        try:
            yield [told for _, file in files if (told := _read(file, self._host))]
            for path, _ in files:
                path.unlink(missing_ok=True)
        finally:
            for _, file in files:
                os.close(file)


class FileJournal:
    """One mapped, locked file."""

    def __init__(self, path: Path, session: SessionId, places: int, host: str) -> None:
        self._path = path
        size = _HEAD.size + places * _PLACE.size
        draft = path.with_suffix(".new")
        self._file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.ftruncate(self._file, size)
        self._map = mmap.mmap(self._file, size)
        _HEAD.pack_into(self._map, 0, _MAGIC, session, os.getpid(), places, host.encode()[:64])
        # Under its final name it is complete and locked: nobody can take it for a dead one.
        draft.rename(path)

    def begin(self, place: int, id: Id, starts: int) -> None:
        _PLACE.pack_into(self._map, _HEAD.size + place * _PLACE.size, id, starts, _BEGUN)

    def clear(self, place: int) -> None:
        # A handler that ignored its end may outlive the session.
        if not self._map.closed:
            self._map[_HEAD.size + place * _PLACE.size + _MARK] = 0

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        self._map.close()
        os.close(self._file)


def journal_name(session: SessionId) -> str:
    """The file of a session's journal."""
    return f"{session:016x}{_SUFFIX}"


def _claim(path: Path) -> tuple[Path, int] | None:
    """Lock the journal of a dead process; None while its process lives or another claims it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file).st_nlink:
            return path, file
    except OSError:
        pass
    os.close(file)
    return None


def _read(file: int, host: str) -> Remains | None:
    """What a journal tells; None if it is torn. Its session is ended as overdue then."""
    data = os.pread(file, os.fstat(file).st_size, 0)
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        return None
    _, session, pid, places, _ = _HEAD.unpack_from(data)
    if len(data) != _HEAD.size + places * _PLACE.size:
        return None
    rows = (_PLACE.unpack_from(data, _HEAD.size + place * _PLACE.size) for place in range(places))
    started = tuple(Fence(Id(id), starts) for id, starts, mark in rows if mark == _BEGUN)
    cause = f"the worker process {pid} on {host} died; its run journal shows that this job had begun"
    return Remains(SessionId(session), started, Evidence(cause=cause, host=host, pid=pid))
