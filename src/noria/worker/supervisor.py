"""Keeps a number of processes running: starts them, sees how they die, starts others, and ends all of them together.

It executes each program anew and shares nothing with it but a line (`tether`); it imports neither an event loop of its
own nor a backend, so that nothing which could break a worker can break it. When it dies itself, its processes drain.
"""

from __future__ import annotations

import logging
import math
import queue
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from noria.backends.contract import Evidence
from noria.clock import Clock
from noria.model.backoff import Chance
from noria.worker.death import how, seen
from noria.worker.fleet import Asked, Child, Died, Events, Place, Program, Told
from noria.worker.tether import Leaving, Obituary, Words, Working

log = logging.getLogger("noria.supervisor")

STABLE: Final = 10.0
"""Seconds after which a process that dies has died of something else than its start."""
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
AFTER_GRACE: Final = 10.0
"""Seconds beyond its grace that a process gets before it is killed."""
REMEMBERED: Final = 16
"""Deaths that a new process is told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """What exit codes mean.

    Attributes:
        hopeless: starting it again would end the same way: wrong use, or code that cannot be imported.
        again: it wants to be replaced.
        cut: what the supervisor returns if something was cut short.
        once: a program that ends with 0 has done its work, and is not started again.
    """

    hopeless: int
    again: int
    cut: int
    once: bool = False


class Supervisor:
    """Runs programs until it is told to stop, or until none is left to run.

    Args:
        programs: what to run; each is one process.
        grace: seconds that they take to drain, at most.
        codes: what their exit codes mean.
        variable: the name of the environment variable that tells a process of its end of the line, as
            "file:life", both numbers; the life is 1 for the first process of a program.
        clock, chance: time, and jitter.
        reloads: somebody will ask for a reload, so that a program which cannot start waits for that.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        grace: float,
        codes: Codes,
        variable: str,
        clock: Clock,
        chance: Chance,
        reloads: bool = False,
    ) -> None:
        self._places = [Place(program, due=-math.inf) for program in programs]
        self._children: list[Child] = []
        self._proven: set[str] = set()
        self._grace = grace
        self._codes = codes
        self._variable = variable
        self._clock = clock
        self._chance = chance
        self._reloads = reloads
        self._events: Events = queue.SimpleQueue()
        self._obituaries: list[Obituary] = []
        self._presses = 0
        self._code = 0

    # -- from any thread -----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Drain everything; called again: at once; a third time: kill."""
        self._events.put(Asked("stop"))

    def reload(self) -> None:
        """Replace every process; those that run drain."""
        self._events.put(Asked("reload"))

    def dump(self) -> None:
        """Have every process log where its threads stand."""
        self._events.put(Asked("dump"))

    # -- life ----------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Run everything; in the main thread, which must start the processes.

        Returns:
            0 if all was finished, the code for `cut` if something was not, or the code of a program that can
            never start.
        """
        while self._children or any(place.due < math.inf for place in self._places) or self._waits:
            self._start_those_due()
            self._kill_the_overdue()
            try:
                event = self._events.get(timeout=self._patience())
            except queue.Empty:
                continue
            self._take(event)
        return self._code

    @property
    def _waits(self) -> bool:
        """Whether a reload may bring something to do."""
        return self._reloads and not self._presses

    def _patience(self) -> float | None:
        moments = [place.due for place in self._places if self._may_start(place)]
        moments += [child.overdue for child in self._children]
        next_one = min(moments, default=math.inf)
        return None if next_one == math.inf else max(0.0, next_one - self._clock.monotonic())

    def _take(self, event: Died | Told | Asked) -> None:
        match event:
            case Died(child, left):
                self._bury(child, left)
            case Told(child, words):
                self._heed(child, words)
            case Asked("stop"):
                self._press()
            case Asked("reload"):
                self._reload()
            case Asked("dump"):
                self._dump()

    # -- starting ------------------------------------------------------------------------------------------

    def _may_start(self, place: Place) -> bool:
        if not place.program.alone:
            return place.now is None
        return not any(child.place is place for child in self._children)

    def _start_those_due(self) -> None:
        now = self._clock.monotonic()
        for place in self._places:
            if place.due <= now and self._may_start(place):
                self._start(place)

    def _start(self, place: Place) -> None:
        place.due = math.inf
        place.lives += 1
        try:
            child = Child(place, self._variable, self._events, self._clock.monotonic())
        except OSError as error:
            self._wait_before_next(place, 0.0, f"cannot be started: {error}")
            return
        place.now = child
        self._children.append(child)
        for each in self._obituaries:
            child.tether.say(each)
        log.info("%s is process %d", place.program.name, child.popen.pid)

    # -- what processes say and do -------------------------------------------------------------------------

    def _heed(self, child: Child, words: Words) -> None:
        match words:
            case Working():
                child.working = True
                self._proven.add(child.place.program.kind)
            case Leaving(why):
                log.warning("%s asks to be replaced: %s", child, why)
                self._replace(child)

    def _replace(self, child: Child) -> None:
        """It drains; another begins beside it."""
        if child.leaving or self._presses:
            return
        child.leaving = True
        child.overdue = self._clock.monotonic() + self._grace + AFTER_GRACE
        if child.place.now is child:
            child.place.now = None
            lived = self._clock.monotonic() - child.since
            self._wait_before_next(child.place, lived, "")

    def _bury(self, child: Child, left: int) -> None:
        if left:
            log.warning("%s had started %d other processes, which are ended with it", child, left)
        evidence = seen(child.popen)
        child.tether.close()
        self._children.remove(child)
        code = child.popen.returncode
        if child.place.now is child:
            child.place.now = None
        in_order = code in (0, self._codes.again)
        if not in_order:
            self._tell_of(evidence)
        if self._presses or child.leaving:
            # One that had not begun to work when it was told to end has cut nothing short.
            cut = self._presses and child.working and not in_order
            self._code = self._code or (self._codes.cut if cut else 0)
        else:
            self._missed(child, code, evidence)

    def _tell_of(self, evidence: Evidence) -> None:
        """Whoever lives finds the journal of the dead one, and its jobs run again at once."""
        self._obituaries = [*self._obituaries, Obituary(evidence)][-REMEMBERED:]
        for child in self._children:
            child.tether.say(self._obituaries[-1])

    def _missed(self, child: Child, code: int, evidence: Evidence) -> None:
        """It ended although nobody had told it to."""
        place, lived = child.place, self._clock.monotonic() - child.since
        if code == self._codes.hopeless and not child.working:
            self._give_up(place, code)
        elif code == 0 and self._codes.once:
            log.info("%s has done its work", place.program.name)
        elif code == self._codes.again:
            self._wait_before_next(place, lived, "")
        else:
            self._wait_before_next(place, lived, f"{how(evidence)} after {lived:.1f} s")

    def _give_up(self, place: Place, code: int) -> None:
        """It cannot start, and would not the next time either; what went wrong it has said itself."""
        if self._reloads:
            log.error("%s cannot start; it is tried again when a file has changed", place.program.name)
        elif place.program.kind in self._proven:
            self._wait_before_next(place, 0.0, "cannot start any more")
        else:
            log.error("%s cannot start, so nothing runs: see above", place.program.name)
            self._code = code
            self._drain_all()

    def _wait_before_next(self, place: Place, lived: float, what: str) -> None:
        """At once the first time; then ever longer, until one has lived long enough."""
        wait = 0.0 if lived >= STABLE or place.pause == 0.0 else place.pause * (0.5 + self._chance() / 2)
        place.pause = 0.0 if lived >= STABLE else min(max(2 * place.pause, FIRST_PAUSE), LONGEST_PAUSE)
        place.due = self._clock.monotonic() + wait
        if what:
            again = f"in {wait:.1f} s" if wait else "now"
            jobs = "its jobs run again, and " if place.program.kind == "worker" else ""
            log.error("%s %s; %sit is started again %s", place.program.name, what, jobs, again)

    # -- stopping ------------------------------------------------------------------------------------------

    def _press(self) -> None:
        self._presses += 1
        if self._presses > 2:
            log.warning("killing what is left")
            self._code = self._codes.cut
            self._signal_all(signal.SIGKILL)
        else:
            self._drain_all()

    def _drain_all(self) -> None:
        self._presses = max(self._presses, 1)
        for place in self._places:
            place.due = math.inf
        for child in self._children:
            # One that was replaced drains already; to ask it again is to hasten it.
            if not child.leaving or self._presses > 1:
                self._ask(child)

    def _reload(self) -> None:
        if self._presses:
            return
        for place in self._places:
            place.due, place.pause = self._clock.monotonic(), 0.0
            if place.now is not None:
                place.now.leaving = True
                self._ask(place.now)
                place.now = None

    def _ask(self, child: Child) -> None:
        child.overdue = self._clock.monotonic() + self._grace + AFTER_GRACE
        child.signal(signal.SIGTERM)

    def _kill_the_overdue(self) -> None:
        now = self._clock.monotonic()
        for child in self._children:
            if child.overdue <= now:
                log.error("%s has not ended in time, and is killed", child)
                child.overdue = math.inf
                self._code = self._code or self._codes.cut
                child.signal(signal.SIGKILL)

    def _dump(self) -> None:
        for child in self._children:
            if child.working:  # before that, the signal would end it
                child.signal(signal.SIGUSR1)

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self._children:
            child.signal(number)
