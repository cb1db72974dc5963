"""What a checker says: findings, and the smallest slice of a history that shows one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct, field

from noria.model.wording import count
from noria.testing.events import About, Event, Fault


class Finding(Struct, frozen=True):
    """A promise that was broken.

    Attributes:
        code: the invariant: "I1" to "I19", "V1" to "V4", "C1" to "C3" of jobs that follow others, "D" for a duplicate
            that nothing explains, "T9" for runs of a timer that overlap, or "W16" for a worker that failed by itself.
        text: what was seen.
        ids: the jobs concerned.
        sessions: the sessions concerned.
        mono: when it showed.
    """

    code: str
    text: str
    ids: tuple[str, ...] = ()
    sessions: tuple[int, ...] = ()
    mono: float = 0.0


class Duplicate(Struct, frozen=True):
    """A job whose effect was had more than once, and what explains it: a retry, an operator, or a fault."""

    id: str
    starts: int
    cause: str


class Verdict(Struct):
    """What a history amounts to.

    Attributes:
        findings: the broken promises, in the order in which they showed.
        duplicates: repeated effects that are explained: reported, not judged.
        events, jobs: how much was looked at.
        looked: whether the history has a last look; without one nothing can be said about lost jobs.
    """

    findings: list[Finding] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    events: int = 0
    jobs: int = 0
    looked: bool = False

    def __str__(self) -> str:
        codes = ", ".join(sorted({finding.code for finding in self.findings})) or "none broken"
        return (
            f"{count(self.events, 'event')}, {count(self.jobs, 'job')}, "
            f"{count(len(self.duplicates), 'explained duplicate')}, "
            f"{count(len(self.findings), 'finding')} ({codes}){'' if self.looked else ', no last look'}"
        )


def slice_of(events: Iterable[Event], finding: Finding) -> list[Event]:
    """The events that a reader needs for this finding: of its jobs and sessions, and the faults of their processes."""
    kept = [event for event in events if _concerns(event, finding)]
    there = {event.proc for event in kept if not isinstance(event.fact, Fault)}
    return [event for event in kept if not _elsewhere(event, there)]


def describe(events: Sequence[Event], verdict: Verdict, limit: int = 5) -> str:
    """Findings for people: each with its slice of the history, and how to run the same again."""
    lines = [str(verdict)]
    for event in events:
        if isinstance(event.fact, About):
            lines += [
                f"{name}: {value}" for name, value in msgspec.structs.asdict(event.fact).items() if value
            ]
    for finding in verdict.findings[:limit]:
        lines += ["", f"{finding.code}: {finding.text}"]
        lines += [_line(event) for event in slice_of(events, finding)]
    if len(verdict.findings) > limit:
        lines += ["", f"... and {len(verdict.findings) - limit} more"]
    return "\n".join(lines)


def _concerns(event: Event, finding: Finding) -> bool:
    fact = event.fact
    if isinstance(fact, About | Fault):
        return isinstance(fact, Fault) and event.mono <= finding.mono
    id, session = getattr(fact, "id", None), getattr(fact, "session", None)
    if id is not None:
        return id in finding.ids
    return session is not None and session in finding.sessions


def _elsewhere(event: Event, procs: set[str]) -> bool:
    """Whether it tells of a single call that went wrong in a process that has nothing to do with it."""
    return isinstance(event.fact, Fault) and bool(event.fact.call) and event.fact.target not in procs


def _line(event: Event) -> str:
    told = msgspec.to_builtins(event.fact)
    kind = told.pop("kind")
    words = " ".join(f"{name}={value}" for name, value in told.items())
    return f"  {event.mono:.6f} {event.proc}#{event.seq} {kind} {words}"
