"""What a process knows of the supervisor that started it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from noria.backends.contract import Evidence
from noria.cli.environment import CHILD, FRONT, TETHER
from noria.worker.tether import Leaving, Obituary, Tether, Words, Working


class Line:
    """The line to the supervisor, listened to from the start.

    Attributes:
        number: which process of the supervisor's this is, from 1.
        life: how often that one has been started, this time included.
        front: the URL of the front that runs beside the workers; empty if there is none.
        asks: that one has a key besides those in the store.
    """

    def __init__(self, tether: Tether, number: int, life: int, front: str = "") -> None:
        self.number = number
        self.life = life
        self.front, _, key = front.partition(" ")
        self.asks = bool(key)
        self._tether = tether
        self._lock = threading.Lock()
        self._deaths: list[Evidence] = []
        self._gone = False
        self._on_death: Callable[[Evidence], None] = self._deaths.append
        self._on_gone: Callable[[], None] = lambda: None
        tether.listen("noria-tether", self._told, self._lost)

    def attach(self, died: Callable[[Evidence], None], gone: Callable[[], None]) -> list[Evidence]:
        """Hear, from a thread, of deaths and of the supervisor's own end, from now on.

        Returns:
            the deaths that came before. If the supervisor has gone before, `gone` is called now.
        """
        with self._lock:
            self._on_death, self._on_gone = died, gone
            if self._gone:
                gone()
            return self._deaths

    def working(self) -> None:
        """Tell that this process does its work."""
        self._tether.say(Working())

    def leaving(self, why: str) -> None:
        """Ask for another process in place of this one, which drains."""
        self._tether.say(Leaving(why))

    def _told(self, words: Words) -> None:
        if isinstance(words, Obituary):
            with self._lock:
                self._on_death(words.evidence)

    def _lost(self) -> None:
        with self._lock:
            self._gone = True
            self._on_gone()


def supervised() -> Line | None:
    """The line to the supervisor, if there is one; asked once, and hidden from whatever this process starts."""
    end, number, front = (os.environ.pop(name, "") for name in (TETHER, CHILD, FRONT))
    file, _, life = end.partition(":")
    if not file:
        return None
    return Line(Tether.at(int(file)), int(number or "1"), int(life), front)
