"""Hints between processes: Unix datagram sockets in a private directory.

Every started process has a socket `TOKEN.reply`, and one that leases also `TOKEN.work`. Whoever commits sends
outcomes to the one process that waits for them, news of queues and sessions to all that lease, and everything
else to all. Hints may be lost: a full socket is passed over, and the socket of a dead process is removed.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from noria.backends.bus import Note
from noria.errors import ConfigError

Kind = Literal["reply", "work"]

_LONGEST_PATH: Final = 100
"""Bytes of a socket's path that every system takes."""
_SIZE: Final = 65_536
_GULP: Final = 256
_GONE: Final = frozenset({errno.ECONNREFUSED, errno.ENOENT})


class Post:
    """The directory as a sender sees it. Belongs to the thread that sends.

    Args:
        token: our own; our own sockets are passed over, since this process is told without them.
    """

    def __init__(self, runtime: Path, token: str) -> None:
        self._folder = _Folder(runtime)
        self._token = token
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def send(self, notes: Iterable[Note]) -> None:
        """Send hints to other processes."""
        for channel, payload in notes:
            datagram = channel.encode() + b"\0" + payload
            for name in self._addressees(channel):
                self._send(name, datagram)

    def close(self) -> None:
        """Send nothing more."""
        self._socket.close()
        self._folder.close()

    def _addressees(self, channel: str) -> Sequence[str]:
        kind, _, rest = channel.partition(":")
        if kind == "reply":
            return [] if rest == self._token else [f"{rest}.reply"]
        suffix = ".work" if kind in ("queue", "session") else ".reply"
        return [
            name
            for name in self._folder.names()
            if name.endswith(suffix) and not name.startswith(self._token)
        ]

    def _send(self, name: str, datagram: bytes) -> None:
        try:
            self._socket.sendto(datagram, self._folder.address(name))
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                self._folder.remove(name)
            # Everything else is a hint lost, and whoever waits for it polls as well.


class Mailbox:
    """A socket that receives hints. Belongs to the loop's thread."""

    def __init__(self, runtime: Path, token: str, kind: Kind, receive: Callable[[list[Note]], None]) -> None:
        self._receive = receive
        self._folder = _Folder(runtime)
        self._name = f"{token}.{kind}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind(self._folder.address(self._name))

    def fileno(self) -> int:
        """For the loop's selector."""
        return self._socket.fileno()

    def read(self) -> None:
        """Take what has arrived; what is left makes the loop call again."""
        notes = []
        for _ in range(_GULP):
            try:
                datagram = self._socket.recv(_SIZE)
            except OSError:
                break
            channel, _, payload = datagram.partition(b"\0")
            notes.append((channel.decode("utf-8", "replace"), payload))
        self._receive(notes)

    def close(self) -> None:
        """Receive nothing more, and leave no trace."""
        self._socket.close()
        self._folder.remove(self._name)
        self._folder.close()


class _Folder:
    """The directory of sockets."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _open_private(path)
        self._names: list[str] = []
        self._changed = -1

    def names(self) -> list[str]:
        """What is in it; read again only when it has changed."""
        try:
            changed = os.stat(self._path).st_mtime_ns
            if changed != self._changed:
                self._names, self._changed = os.listdir(self._path), changed
        except OSError:
            return []
        return self._names

    def address(self, name: str) -> str:
        """A path by which the system takes the socket, however long the directory's own path is."""
        path = str(self._path / name)
        if len(os.fsencode(path)) <= _LONGEST_PATH or sys.platform != "linux":
            return path
        return f"/proc/self/fd/{self._file}/{name}"

    def remove(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._file)


def _open_private(path: Path) -> int:
    """Open a directory that nobody else may look into, making it if need be."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"{path}, the directory for wake-ups, cannot be used: {error}") from error
    found = os.fstat(file)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        os.close(file)
        raise ConfigError(
            f"{path}, the directory for wake-ups, must belong to this user and be writable by nobody else"
        )
    return file


def remove_stale(runtime: Path) -> None:
    """Remove the sockets of processes that died without doing so."""
    folder = _Folder(runtime)
    for name in folder.names():
        if name.endswith((".reply", ".work")):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
                try:
                    probe.connect(folder.address(name))
                except OSError as error:
                    if error.errno in _GONE:
                        folder.remove(name)
    folder.close()
