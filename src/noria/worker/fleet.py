"""Programs that are kept running, and the processes that run of them."""

from __future__ import annotations

import math
import os
import queue
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from noria.worker.death import await_death
from noria.worker.tether import Tether, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is kept running.

    Attributes:
        name: for people, such as "worker 2".
        command: what is executed.
        environment: all of it, without the tether.
        alone: whether a successor may begin only when this one has ended, as with a port that only one can have.
        kind: what it does. When one of a kind has worked, the others can.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    alone: bool = False
    kind: Literal["worker", "front"] = "worker"


@dataclass(slots=True, eq=False)
class Place:
    """One program, and what runs of it now.

    Attributes:
        pause: seconds to wait before the next start, should this one fail as well.
        due: when it is to be started, by the monotonic clock.
        lives: how many processes it has had.
    """

    program: Program
    now: Child | None = None
    pause: float = 0.0
    due: float = math.inf
    lives: int = 0


@dataclass(frozen=True, slots=True)
class Died:
    """A process has died, and is not buried; so many others of its group were left, and are killed."""

    child: Child
    left: int


@dataclass(frozen=True, slots=True)
class Told:
    """A process has said something."""

    child: Child
    words: Words


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody wants something of all of them."""

    what: Literal["stop", "reload", "dump"]


Events = queue.SimpleQueue[Died | Told | Asked]


class Child:
    """One process.

    Attributes:
        since: when it was started, by the monotonic clock.
        working: it has said that it works.
        leaving: another has taken its place.
        overdue: when it is to be killed.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, place: Place, variable: str, events: Events, since: float) -> None:
        self.place = place
        self.since = since
        self.working = False
        self.leaving = False
        self.overdue = math.inf
        self._events = events
        ours, theirs = socket.socketpair()
        try:
            self.popen = _execute(place.program, f"{theirs.fileno()}:{place.lives}", variable, theirs)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self.tether = Tether(ours)
        self.tether.listen(f"noria-{self.popen.pid}", self._told, lambda: None)
        threading.Thread(target=self._await_death, name=f"noria-{self.popen.pid}-life", daemon=True).start()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; until it is buried, its number is its own."""
        os.kill(self.popen.pid, number)

    def _told(self, words: Words) -> None:
        self._events.put(Told(self, words))

    def _await_death(self) -> None:
        left = await_death(self.popen.pid)
        self._events.put(Died(self, left))

    def __str__(self) -> str:
        return f"{self.place.program.name} (process {self.popen.pid})"


def _execute(program: Program, end: str, variable: str, theirs: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        program.command,
        env={**program.environment, variable: end},
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        process_group=0,  # the terminal's Ctrl-C is for the supervisor, which passes it on once
    )
