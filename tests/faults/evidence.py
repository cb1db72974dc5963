"""What the files of a fleet tell, after the fact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from noria.model.state import State
from noria.testing.events import Effect, Event, Fact, Fault, RunStart, SettleEnd
from noria.testing.history import in_order, read_history

F = TypeVar("F", bound=Fact)


class Evidence:
    """All that the processes of a fleet have told so far, in order of time, effects included."""

    def __init__(self, folder: Path) -> None:
        effects = [event for path in (folder / "effects").glob("*.txt") for event in _effects(path)]
        self.events = in_order([*read_history(folder / "history"), *effects])

    def of(self, kind: type[F]) -> list[tuple[Event, F]]:
        """The facts of one kind, each with its event."""
        return [(event, event.fact) for event in self.events if isinstance(event.fact, kind)]

    def runs(self) -> dict[str, list[Event]]:
        """The beginnings of each job's runs, by id."""
        found: dict[str, list[Event]] = defaultdict(list)
        for event, fact in self.of(RunStart):
            found[fact.id].append(event)
        return found

    def killed(self) -> dict[str, float]:
        """When each process that was killed was gone at the latest, by name."""
        return {fact.target: event.mono for event, fact in self.of(Fault) if fact.what == "kill"}

    def verdicts(self, verdict: str) -> list[SettleEnd]:
        """The settles that got this verdict."""
        return [fact for _, fact in self.of(SettleEnd) if fact.verdict == verdict]

    def recorded(self) -> list[str]:
        """The jobs whose outcome was accepted, each as often as that was; a start that was given back is none."""
        return [fact.id for fact in self.verdicts("ok") if State(fact.state).final]


def _effects(path: Path) -> Sequence[Event]:
    events = []
    for number, line in enumerate(path.read_text().splitlines()):
        mono, wall, id, session, starts = line.split()
        effect = Effect(id=id, session=int(session), starts=int(starts))
        events.append(Event(float(mono), float(wall), path.stem, number, effect))
    return events
