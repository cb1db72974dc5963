"""The workers as a person sees them, and what a person tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec

from noria.backends.contract import Command, Member, Vitals, WorkerCard
from noria.backends.redis.call import Call, Request, Steps
from noria.backends.redis.settings import Settings
from noria.ids import Id, SessionId

_WIDTH: Final = 5
_decode_card = msgspec.json.Decoder(WorkerCard).decode
_decode_vitals = msgspec.json.Decoder(Vitals).decode


@dataclass(slots=True)
class Line:
    """A session that has not ended, as it is stored. Times are in milliseconds."""

    now: int
    session: SessionId
    deadline: float
    fields: dict[bytes, bytes]
    held: int
    jobs: list[Id]

    @property
    def card(self) -> WorkerCard:
        return _decode_card(self.fields[b"card"])

    @property
    def vitals(self) -> Vitals:
        return _decode_vitals(self.fields[b"vitals"])

    @property
    def beat(self) -> int:
        return int(self.fields[b"beat"])

    @property
    def opened(self) -> int:
        return int(self.fields[b"opened"])

    @property
    def seen(self) -> int:
        return int(self.fields[b"seen"])

    @property
    def late(self) -> bool:
        """Whether it was not renewed in time."""
        return self.deadline < self.now

    @property
    def overdue(self) -> bool:
        """Whether it looks dead: its deadline is past, or too far away to be true."""
        return self.late or self.deadline > self.now + 2 * int(self.fields[b"ttl"])


@dataclass(slots=True)
class Fleet(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """The sessions that have not ended."""
        (answer,) = yield [Request("fleet", [])]
        return [_member(line) for line in lines(answer)]


@dataclass(slots=True)
class Tell(Call):
    """The call."""

    session: SessionId
    command: Command

    def steps(self, settings: Settings) -> Steps:
        """Say how a worker is to be, and have it ask at once."""
        wanted = "" if self.command == "resume" else self.command
        (answer,) = yield [Request("session_command", [self.session, wanted])]
        return bool(answer)


def lines(answer: Sequence[Any]) -> list[Line]:
    """The sessions that `fleet.lua` tells of, the oldest first."""
    now = int(answer[0])
    found = [_line(now, *answer[at : at + _WIDTH]) for at in range(1, len(answer), _WIDTH)]
    return sorted(found, key=lambda line: (line.opened, line.session))


def _line(now: int, session: bytes, deadline: bytes, flat: list[bytes], held: int, jobs: list[Id]) -> Line:
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    return Line(now, SessionId(int(session)), float(deadline), fields, held, jobs)


def _member(line: Line) -> Member:
    command: Any = line.fields.get(b"command")
    return Member(
        session=line.session,
        card=line.card,
        vitals=line.vitals,
        opened=line.opened / 1000,
        beat=line.beat,
        seen=line.seen / 1000,
        silent=max(0, line.now - line.seen) / 1000,
        overdue=line.overdue,
        held=line.held,
        jobs=tuple(line.jobs),
        command=None if command is None else command.decode(),
    )
