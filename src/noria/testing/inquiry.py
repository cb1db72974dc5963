"""What the invariants share: what is known, what the run promised, and where findings go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from msgspec import Struct

from noria.testing.events import Event, Fault
from noria.testing.facts import Handler, Known
from noria.testing.findings import Duplicate, Finding, Verdict


class Rules(Struct, frozen=True, kw_only=True):
    """What a history promises to contain, and what time it allows.

    Attributes:
        runs: handlers told their beginning and end, so that a success without a run is a finding.
        effects: every successful handler told an effect.
        prunes: records may vanish after their end, by retention.
        tolerance: seconds by which clocks of one machine may disagree.
        lateness: seconds after its due time by which a delayed job must have been leased when no fault was at
            work; None if the run does not promise it.
    """

    runs: bool = True
    effects: bool = True
    prunes: bool = False
    tolerance: float = 0.05
    lateness: float | None = 6.0


class Window(Struct):
    """A fault and the time that it was at work; `end` is None while it is."""

    fault: Fault
    begin: float
    end: float | None = None


class Inquiry:
    """One reading of one history."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.known = Known()
        self.verdict = Verdict()
        self.faults: list[Window] = []
        self._open: dict[str, Window] = {}

    def found(self, code: str, event: Event, text: str, *ids: str, sessions: tuple[int, ...] = ()) -> None:
        """Report a broken promise."""
        self.verdict.findings.append(Finding(code, text, ids, sessions, event.mono))

    def explained(self, id: str, starts: int, cause: str) -> None:
        """Report a repeated effect that has a cause."""
        self.verdict.duplicates.append(Duplicate(id, starts, cause))

    def fault_between(
        self, begin: float, end: float, proc: str = "", fits: Callable[[Fault], bool] = lambda fault: True
    ) -> Fault | None:
        """A fault that was at work at any time between two, on this process if it was aimed at one."""
        for window in reversed(self.faults):
            if window.begin > end or (window.end is not None and window.end < begin):
                continue
            if fits(window.fault) and not (proc and _aimed_at_another(window.fault, proc)):
                return window.fault
        return None

    def fault(self, event: Event, fact: Fault) -> None:
        """Learn of a fault."""
        if fact.phase == "begin":
            self._open[fact.name] = Window(fact, event.mono)
            self.faults.append(self._open[fact.name])
        elif (window := self._open.pop(fact.name, None)) is not None:
            window.end = event.mono


def _aimed_at_another(fault: Fault, proc: str) -> bool:
    """Whether a fault was done to one process, and not to this one. A process may add its number to its name."""
    aimed = bool(fault.target) and (bool(fault.call) or fault.what in ("kill", "pause"))
    return aimed and proc != fault.target and not proc.startswith(f"{fault.target}-")


class Invariant(ABC):
    """Reads events before they are learned, and speaks through its inquiry."""

    def __init__(self, inquiry: Inquiry) -> None:
        self._inquiry = inquiry
        self._known = inquiry.known

    @abstractmethod
    def handlers(self) -> dict[type, Handler]:
        """Which facts it wants to see."""

    def finish(self, last: Event) -> None:  # noqa: B027 - most have said everything by then
        """The history is over."""
