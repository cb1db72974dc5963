"""One process that runs jobs for this worker, one at a time: started, spoken to, ended, and seen to die.

It is executed anew, never forked from this process with its threads and connections. It leads a process group
of its own: the terminal's Ctrl-C passes it by, and what its handlers have started ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from noria.backends.contract import Evidence
from noria.worker.death import await_death, how, seen
from noria.worker.lifeline import Lifeline
from noria.worker.wire import CUT_OFF, Frames, FromProcess, FromWorker, Logged, WireError, frame, from_process

log = logging.getLogger("noria.worker")

_CHUNK: Final = 262_144
_DYING: Final = 1.0
"""Seconds after the end of its line in which a process is seen to die by itself, and how."""


class Process:
    """One process. All methods belong to the loop's thread.

    Args:
        command: what to execute; the numbers of its ends of the socket and of the lifeline are added.
        said: hears of everything that it says, but for log records.
        died: hears of its death, once, after the last that it said, and of how many other processes were left
            of its group, which are killed.

    Raises:
        OSError: it cannot be started: no processes, descriptors or memory are left.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        command: Sequence[str],
        folder: str,
        *,
        said: Callable[[Process, FromProcess], None],
        died: Callable[[Process, Evidence, int], None],
    ) -> None:
        self._loop = loop
        self._said = said
        self._died = died
        self._frames = Frames()
        self._unsent = bytearray()
        self._killed = ""
        self._gone = False
        self._lifeline = Lifeline()
        try:
            self._socket, self._popen = _execute(command, folder, self._lifeline.theirs)
        except OSError:
            self._lifeline.close()
            raise
        finally:
            self._lifeline.handed_over()
        self.pid = self._popen.pid
        self._socket.setblocking(False)
        loop.add_reader(self._socket, self._readable)
        threading.Thread(target=self._watch, name=f"noria-process-{self.pid}", daemon=True).start()

    # -- speaking ------------------------------------------------------------------------------------------

    def say(self, words: FromWorker) -> None:
        """Send something; what does not fit into the pipe now goes when it does."""
        if self._gone:
            return
        waits = bool(self._unsent)
        self._unsent += frame(words)
        if not waits:
            self._send()
            if self._unsent:
                self._loop.add_writer(self._socket, self._writable)

    def _writable(self) -> None:
        self._send()
        if not self._unsent:
            self._loop.remove_writer(self._socket)

    def _send(self) -> None:
        try:
            while self._unsent:
                sent = self._socket.send(self._unsent[:_CHUNK])
                del self._unsent[:sent]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()  # it is dying, and its death will be heard of

    # -- hearing -------------------------------------------------------------------------------------------

    def _readable(self) -> None:
        if not self._hear():
            self._loop.remove_reader(self._socket)
            # Most often it is dying. One that lives on without its line is of no use, and holds up its job.
            self._loop.call_later(_DYING, self.kill, "it has closed its line to the worker")

    def _hear(self) -> bool:
        """Take what is there; False if nothing can come any more."""
        try:
            data = self._socket.recv(_CHUNK)
            for each in self._frames.feed(data):
                self._told(from_process(each))
            return bool(data)
        except BlockingIOError:
            return True
        except WireError as error:
            self.kill(f"it said what it should not: {error}")
        except OSError:
            pass
        return False

    def _told(self, words: FromProcess) -> None:
        if isinstance(words, Logged):
            _log_again(words)
        else:
            self._said(self, words)

    # -- its end -------------------------------------------------------------------------------------------

    def dismiss(self) -> None:
        """Close the line: it ends by itself when it is idle, and at once if it is not."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def kill(self, why: str) -> None:
        """End it now, with all that it has started."""
        self._killed = self._killed or why
        # Until it is reaped, in `_reap`, its number is nobody else's. The rest of its group is counted and killed
        # when its death is seen.
        if not self._gone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _watch(self) -> None:
        """In a thread: wait for the death, and end what is left of its group."""
        left = await_death(self.pid)
        with contextlib.suppress(RuntimeError):  # the loop is closed, and this process about to end
            self._loop.call_soon_threadsafe(self._reap, left)

    def _reap(self, left: int) -> None:
        """Hear its last words, and say how it died."""
        with contextlib.suppress(ValueError):
            while self._socket.fileno() >= 0 and self._last_words():
                pass
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._gone = True
        self._socket.close()
        self._lifeline.close()
        self._died(self, self._evidence(), left)

    def _last_words(self) -> bool:
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK)) and self._hear()
        except OSError:
            return False

    def _evidence(self) -> Evidence:
        evidence = seen(self._popen)
        if evidence.exit_code == CUT_OFF:
            told = "ended, since its handler has closed files that were not its own: its line to the worker"
        else:
            told = f"was killed, since {self._killed}" if self._killed else how(evidence)
        return replace(evidence, cause=f"process {self.pid}, which ran this job, {told}")


def _execute(
    command: Sequence[str], folder: str, lifeline: int
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start it; our end of the socket, and the process."""
    ours, theirs = socket.socketpair()
    files = theirs.fileno(), lifeline
    try:
        return ours, subprocess.Popen(
            [*command, *map(str, files)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            pass_fds=files,
            process_group=0,
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()


def _log_again(words: Logged) -> None:
    logger = logging.getLogger(words.logger)
    if logger.isEnabledFor(words.level):
        text = f"{words.message}\n{words.traceback}" if words.traceback else words.message
        logger.log(words.level, "%s", text)


def python(module: str) -> tuple[str, ...]:
    """The command that runs a module of ours, without the current folder on its path."""
    return sys.executable, "-P", "-m", module
