"""Groups and resources as people see them, and how they are steered."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec

from noria.backends.contract import Close, Open, Steered
from noria.backends.redis.call import Call, Request, Steps, Word, command
from noria.backends.redis.heads import NEVER
from noria.backends.redis.settings import PORTION, Settings
from noria.backends.redis.ties import declaration, group_name
from noria.backends.rules import read_need, read_rule
from noria.backends.units import millis, seconds_or_none
from noria.ids import Id
from noria.model.groups import Closed, GroupLine, GroupRef, Need, Rate, ResourceLine, Rule
from noria.model.limits import MAX_BATCH

HOLDERS: Final = 100
COUNTED: Final = 10_000
"""How many holders are named, and how many waiting jobs are counted, at most."""
_PORTIONS: Final = 100
"""How often a close goes on with further jobs itself, at most."""
_STAND: Final = struct.Struct("<ddd")
_OWED: Final = struct.Struct("<d")
_WIDTH: Final = 5
_ID: Final = 16
_ANY: Final = Rule(fair=False)
"""The rule of a family that nobody has declared."""


@dataclass(slots=True)
class SteerGroup(Call):
    """The call."""

    target: GroupRef
    change: Close | Open

    def steps(self, settings: Settings) -> Steps:
        """Close a group, or open it."""
        words: list[Word] = [group_name(self.target), 0, b"", b""]
        if isinstance(self.change, Close):
            until = b"" if self.change.until is None else millis(self.change.until)
            words[1:] = [1, until, msgspec.json.encode((self.change.reason, self.change.by))]
        ((stand, left),) = yield [Request("steer_group", words)]
        # What it leaves is not started; leases and sweeps go on as well, if this does not come to its end.
        for _ in range(_PORTIONS):
            if not left:
                break
            ((_, left),) = yield [Request("steer_group", [words[0], 2, b"", b""])]
        return Steered(closed=None if stand is None else _closed(stand, 0))


@dataclass(slots=True)
class SteerRule(Call):
    """The call: set the rule of a family, or a resource."""

    name: str
    change: Rule | Need

    def steps(self, settings: Settings) -> Steps:
        """Set it; jobs in line move by it with the next sweeps."""
        rules = {self.name: self.change} if isinstance(self.change, Rule) else {}
        needs = {self.name: self.change} if isinstance(self.change, Need) else {}
        yield [Request("steer_rules", [declaration(rules, needs)])]
        return Steered()


@dataclass(slots=True)
class ReadGroups(Call):
    """The call."""

    refs: Sequence[GroupRef]
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """How groups stand."""
        return (yield from _lines(self.refs))


@dataclass(slots=True)
class ListGroups(Call):
    """The call."""

    family: str | None
    after: GroupRef | None
    limit: int
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Groups in use, in order."""
        low, high = b"-", b"+"
        if self.family is not None:
            low, high = b"[" + self.family.encode() + b"\t", b"(" + self.family.encode() + b"\n"
        if self.after is not None:
            low = max(low, b"(" + group_name(self.after).encode(), key=lambda end: end[1:])
        limit = max(1, min(self.limit, MAX_BATCH))
        (names,) = yield [command("ZRANGEBYLEX", settings.key("groups"), low, high, "LIMIT", 0, limit)]
        lines = yield from _lines([GroupRef(*name.decode().split("\t")) for name in names])
        return [line for line in lines if line is not None]


@dataclass(slots=True)
class ListResources(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Resources, by name."""
        ((now, *found),) = yield [Request("resources", [HOLDERS])]
        lines = []
        for at in range(0, len(found), 4):
            name, packed, used, holders = found[at : at + 4]
            need = read_need(name.decode(), packed[_OWED.size :])
            next_at = _next_at(need.rate, _OWED.unpack_from(packed)[0], int(now))
            lines.append(ResourceLine(need=need, used=used, holders=_ids(holders), next_at=next_at))
        return sorted(lines, key=lambda line: line.need.name)


def _lines(refs: Sequence[GroupRef]) -> Steps:
    lines: list[GroupLine | None] = []
    for start in range(0, len(refs), PORTION):
        portion = refs[start : start + PORTION]
        ((now, *found),) = yield [Request("groups", [HOLDERS, COUNTED, *map(group_name, portion)])]
        for place, ref in enumerate(portion):
            lines.append(_line(ref, found[_WIDTH * place : _WIDTH * (place + 1)], int(now)))
    return lines


def _line(ref: GroupRef, found: Sequence[Any], now: int) -> GroupLine | None:
    text, stand, taken, holders, waiting = found
    if taken is None:
        return None
    rule = _ANY if text is None else read_rule(ref.family, text) or _ANY
    owed = 0.0 if stand is None else _STAND.unpack_from(stand)[0]
    return GroupLine(
        ref=ref,
        rule=rule,
        taken=taken,
        holders=_ids(holders),
        waiting=waiting,
        closed=None if stand is None else _closed(stand, now),
        next_at=_next_at(rule.rate, owed, now),
    )


def _closed(stand: bytes, now: int) -> Closed | None:
    until = _STAND.unpack_from(stand)[1]
    if until <= now:
        return None
    reason, by = msgspec.json.decode(stand[_STAND.size :], type=tuple[str, str])
    return Closed(None if until == NEVER else until / 1000, reason, by)


def _next_at(rate: Rate | None, tat: float, now: int) -> float | None:
    if rate is None or rate.tokens(tat, now) > 0:
        return None
    return seconds_or_none(rate.when(tat, 1))


def _ids(joined: bytes) -> tuple[Id, ...]:
    return tuple(sorted(Id(joined[at : at + _ID]) for at in range(0, len(joined), _ID)))
