"""A pipe of which the worker alone holds one end, and its process the other: it breaks when the worker is gone.

On Linux the kernel then kills the process and its whole group, also what its handler has started, and also while that
handler holds the interpreter lock. Elsewhere the process notices by the closed line, as soon as it can.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys
import weakref
from typing import Final


class Lifeline:
    """The worker's end.

    Attributes:
        theirs: the number of the other end, until it is handed over.

    Raises:
        OSError: no descriptors are left.
    """

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()
        _held.add(self)

    def handed_over(self) -> None:
        """The process has its end, or was not started; ours alone stays open here."""
        os.close(self.theirs)

    def close(self) -> None:
        """Let go; a process that still holds its end dies."""
        ours, self._ours = self._ours, -1
        if ours >= 0:
            os.close(ours)


_held: Final[weakref.WeakSet[Lifeline]] = weakref.WeakSet()


def _forked() -> None:
    """What a handler forks off this process must not hold the lifelines of others."""
    for each in list(_held):
        with contextlib.suppress(OSError):
            each.close()


os.register_at_fork(after_in_child=_forked)


def hold(file: int) -> None:
    """In a process that leads its group: die with the worker, and take the group along."""
    os.set_inheritable(file, False)
    if sys.platform == "linux":
        # Nothing is ever written into it, so that the one thing which can happen to it is its end.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(file, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_ASYNC)
    broken = select.poll()
    broken.register(file, select.POLLIN)
    if broken.poll(0):
        os._exit(1)  # the worker died before this
