"""Sees when a Python file of a folder changes, by looking at the times of all of them now and then."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from noria.clock import SystemClock

log = logging.getLogger("noria.supervisor")

LOOK: Final = 0.5
"""Seconds between two looks."""
SHARE: Final = 20
"""Between two looks this many times as long as a look takes, so that a large folder costs little."""
MOST: Final = 20_000
"""Files that are looked at; a folder with more is not an application's."""
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages"})

Times = dict[str, int]
"""When each file was last written, in nanoseconds."""


class Changes:
    """Looks in a thread of its own, for as long as the process lives.

    Args:
        folder: looked through with all that is below it, but for hidden folders and virtual environments.
        changed: called after a change.
    """

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        self._folder = folder
        self._changed = changed
        self._pause = threading.Event()

    def start(self) -> None:
        """Begin to look."""
        before = times(self._folder)
        log.info("watching %d files in %s", len(before), self._folder)
        threading.Thread(target=self._look, args=(before,), name="noria-changes", daemon=True).start()

    def _look(self, before: Times) -> None:
        clock, took = SystemClock().monotonic, 0.0
        while not self._pause.wait(max(LOOK, SHARE * took)):
            began = clock()
            now = times(self._folder)
            took = clock() - began
            if now != before:
                # An editor or a version control system may still be writing the others.
                now = self._settled(now)
                log.warning("%s has changed: every process is replaced", _first(before, now))
                before = now
                self._changed()

    def _settled(self, now: Times) -> Times:
        while not self._pause.wait(LOOK / 5) and (again := times(self._folder)) != now:
            now = again
        return now


def times(folder: Path) -> Times:
    """The Python files of a folder and when they were written."""
    found: Times = {}
    for path in _files(folder):
        try:
            found[path] = os.stat(path).st_mtime_ns
        except OSError:
            continue  # it is just being replaced
        if len(found) >= MOST:
            break
    return found


def _files(folder: Path) -> Iterator[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_foreign(root, name)]
        yield from (os.path.join(root, name) for name in names if name.endswith(".py"))


def _is_foreign(root: str, name: str) -> bool:
    hidden = name.startswith(".") or name in _SKIPPED
    return hidden or os.path.exists(os.path.join(root, name, "pyvenv.cfg"))


def _first(before: Times, now: Times) -> str:
    return min({path for path, _ in before.items() ^ now.items()}, default="a file")
