"""The workers as a person sees them, and what a person tells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from noria.backends.contract import Command, Member, Vitals, WorkerCard
from noria.backends.sql.call import Call
from noria.backends.sql.rows import decode, to_id
from noria.backends.sql.transaction import Transaction
from noria.ids import SessionId

_Line = tuple[SessionId, str, str, int, int, int, int, Literal["quiet", "stop"] | None, int, list[str]]


@dataclass(slots=True)
class Fleet(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[Member]:
        """The sessions that have not ended."""
        lines = decode(work.row("fleet", work.now)[0], list[_Line])
        return [_member(line, work.now) for line in lines]


@dataclass(slots=True)
class Tell(Call):
    """The call."""

    session: SessionId
    command: Command

    def run(self, work: Transaction) -> bool:
        """Say how a worker is to be, and have it ask at once."""
        wanted = None if self.command == "resume" else self.command
        open = bool(work.changes("session_command", self.session, wanted))
        if open:
            work.wake[f"session:{self.session}"] = None
        return open


def _member(line: _Line, now: int) -> Member:
    session, card, vitals, opened, beat, seen, overdue, command, held, jobs = line
    return Member(
        session=session,
        card=decode(card, WorkerCard),
        vitals=decode(vitals, Vitals),
        opened=opened / 1000,
        beat=beat,
        seen=seen / 1000,
        silent=max(0, now - seen) / 1000,
        overdue=bool(overdue),
        held=held,
        jobs=tuple(map(to_id, jobs)),
        command=command,
    )
