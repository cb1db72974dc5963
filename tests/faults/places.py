"""Who had which place when, by what the runs wrote down themselves, and what is wrong with that.

A start has its place validly from the beginning of its run to the first of these: its end, the death of its process,
and the moment at which somebody began to end its session. What goes on after that is stale: it is counted, and needs
a pause of its process that explains it.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from noria.testing.events import EndEnd, EndInvoke, Fault, RunStart
from tests.faults.evidence import Evidence


@dataclass(slots=True)
class Hold:
    """One run: its place, the number of its job there, when it began and ended, and until when that was valid."""

    proc: str
    id: str
    starts: int
    place: str
    n: int
    begun: float
    ended: float = inf
    until: float = inf

    def __str__(self) -> str:
        times = f"{self.begun:.4f} to {self.ended:.4f}, valid until {self.until:.4f}"
        return f"{self.place} #{self.n}, start {self.starts} of {self.id} in {self.proc}: {times}"


class Places:
    """All runs of a fleet that had places.

    Attributes:
        holds: those that began validly, in the order in which they did.
        stale: those that began when their session was over already.
    """

    def __init__(self, folder: Path, evidence: Evidence) -> None:
        holds = sorted(_read(folder / "places"), key=lambda hold: hold.begun)
        over, killed = _sessions_over(evidence), _killed(evidence)
        sessions = {(fact.id, fact.starts): fact.session for _, fact in evidence.of(RunStart)}
        for hold in holds:
            lost = over.get(sessions[hold.id, hold.starts], inf)
            hold.until = min(hold.ended, lost, max(hold.begun, killed.get(hold.proc, inf)))
        self.holds = [hold for hold in holds if hold.begun <= hold.until]
        self.stale = [hold for hold in holds if hold.begun > hold.until]
        self._pauses = _pauses(evidence)

    def of(self, family: str) -> dict[str, list[Hold]]:
        """The valid runs of each place of a family, in the order in which they began."""
        found: dict[str, list[Hold]] = defaultdict(list)
        for hold in self.holds:
            if hold.place.startswith(f"{family}/"):
                found[hold.place].append(hold)
        return found

    def crowded(self, family: str, most: int) -> list[str]:
        """Where more than so many had one place at once."""
        found = []
        for holds in self.of(family).values():
            there: list[Hold] = []
            for hold in holds:
                there = [each for each in there if each.until > hold.begun] + [hold]
                if len(there) > most:
                    found.append("\n  ".join(["at once:", *map(str, there)]))
        return found

    def disordered(self, family: str) -> list[str]:
        """Where a job began before one that stands before it in its line, or again after one behind it."""
        return [
            f"not in order:\n  {one}\n  {other}"
            for holds in self.of(family).values()
            for one, other in itertools.pairwise(holds)
            if other.n < one.n
        ]

    def unexplained(self) -> list[str]:
        """Stale runs, or rests of runs, in processes that nobody had paused."""
        late = [hold for hold in self.holds if hold.until < hold.ended < inf]
        return [f"stale without a pause: {hold}" for hold in self.stale + late if not self._paused(hold)]

    def _paused(self, hold: Hold) -> bool:
        return any(begin < hold.ended and end > hold.until - 1 for begin, end in self._pauses[hold.proc])


def most_in(times: Iterable[float], seconds: float) -> int:
    """How many of these moments are in any span of so many seconds, its end excluded."""
    there = sorted(times)
    return max((bisect.bisect_left(there, at + seconds) - n for n, at in enumerate(there)), default=0)


def _read(folder: Path) -> Sequence[Hold]:
    found: dict[tuple[str, str, int], Hold] = {}
    for path in folder.glob("*.txt"):
        for line in path.read_text().splitlines():
            word, mono, id, starts, place, n = line.split()
            key = path.stem, id, int(starts)
            if word == "begin":
                assert key not in found, f"one start ran twice: {line}"
                found[key] = Hold(*key, place, int(n), float(mono))
            else:
                found[key].ended = float(mono)
    return list(found.values())


def _sessions_over(evidence: Evidence) -> dict[int, float]:
    """When each session was over at the earliest: calls that certainly ended none do not count."""
    asked: dict[tuple[str, int], list[float]] = defaultdict(list)
    for event in evidence.events:
        if isinstance(event.fact, EndInvoke):
            asked[event.proc, event.fact.session].append(event.mono)
        elif isinstance(event.fact, EndEnd) and _ended_none(event.fact):
            asked[event.proc, event.fact.session].pop()
    over: dict[int, float] = {}
    for (_, session), times in asked.items():
        if times:
            over[session] = min(over.get(session, inf), *times)
    return over


def _ended_none(fact: EndEnd) -> bool:
    return fact.end == "fail" or (fact.end == "ok" and not fact.ended)


def _killed(evidence: Evidence) -> dict[str, float]:
    """When each process that was killed still lived for sure."""
    kills = [(fact.target, event.mono) for event, fact in evidence.of(Fault) if _begins(fact, "kill")]
    return dict(reversed(kills))


def _pauses(evidence: Evidence) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event, fact in evidence.of(Fault):
        if _begins(fact, "pause"):
            found[fact.target].append((event.mono, inf))
        elif fact.what == "pause":
            found[fact.target][-1] = (found[fact.target][-1][0], event.mono)
    return found


def _begins(fact: Fault, what: str) -> bool:
    return fact.what == what and fact.phase == "begin"
