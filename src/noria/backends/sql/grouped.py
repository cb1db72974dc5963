"""Groups and resources as people see them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from noria.backends.rules import read_need
from noria.backends.sql.call import Call
from noria.backends.sql.groups import Key, Stand, rules_of
from noria.backends.sql.rows import decode, encode, to_id
from noria.backends.sql.tokens import names, used_of
from noria.backends.sql.transaction import Transaction
from noria.backends.units import seconds_or_none
from noria.ids import Id
from noria.model.groups import GroupLine, GroupRef, Rate, ResourceLine, Rule
from noria.model.limits import MAX_BATCH

HOLDERS: Final = 100
COUNTED: Final = 10_000
"""How many holders are named, and how many waiting jobs are counted, at most."""
_HELD: Final = 1_000
"""Running jobs among which the holders of resources are looked for."""


@dataclass(slots=True)
class ReadGroups(Call):
    """The call."""

    refs: Sequence[GroupRef]

    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[GroupLine | None]:
        """How groups stand."""
        return lines(work, [(ref.family, ref.key) for ref in self.refs])


@dataclass(slots=True)
class ListGroups(Call):
    """The call."""

    family: str | None
    after: GroupRef | None
    limit: int

    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[GroupLine]:
        """Groups in use, in order."""
        if not work.settings.groups:
            return []
        # No name and no key begins with an empty text, so that all of them are behind it.
        after = ("", "") if self.after is None else (self.after.family, self.after.key)
        limit = max(1, min(self.limit, MAX_BATCH))
        keys = decode(work.row("groups_list", self.family, *after, limit)[0], list[Key])
        return [line for line in lines(work, keys) if line is not None]


@dataclass(slots=True)
class ListResources(Call):
    """The call."""

    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[ResourceLine]:
        """Resources, by name."""
        if not work.settings.groups:
            return []
        used, holders = used_of(work), _holders(work)
        Line = tuple[str, str, float]
        lines = []
        for name, text, tat in decode(work.row("resources_read", None)[0], list[Line]):
            need = read_need(name, text)
            next_at = _next_at(need.rate, tat, work.now)
            lines.append(
                ResourceLine(
                    need=need, used=used[name], holders=tuple(holders[name][:HOLDERS]), next_at=next_at
                )
            )
        return lines


def lines(work: Transaction, keys: Sequence[Key]) -> list[GroupLine | None]:
    """How groups stand; None for one that is not in use."""
    if not keys or not work.settings.groups:
        return [None] * len(keys)
    Found = tuple[Stand | None, list[str], int]
    rules = rules_of(work, (family for family, _ in keys))
    rows = decode(work.row("groups_read", encode(keys), HOLDERS, COUNTED)[0], list[Found])
    return [_line(key, rules, *row, work.now) for key, row in zip(keys, rows, strict=True)]


def _line(
    key: Key, rules: dict[str, Rule], stand: Stand | None, holders: list[str], waiting: int, now: int
) -> GroupLine | None:
    if stand is None:
        return None
    rule = rules.get(key[0], Rule(fair=False))
    return GroupLine(
        ref=GroupRef(*key),
        rule=rule,
        taken=stand.taken,
        holders=tuple(to_id(id) for id in holders),
        waiting=waiting,
        closed=stand.shown(now),
        next_at=_next_at(rule.rate, stand.tat, now),
    )


def _next_at(rate: Rate | None, tat: float, now: int) -> float | None:
    if rate is None or rate.tokens(tat, now) > 0:
        return None
    return seconds_or_none(rate.when(tat, 1))


def _holders(work: Transaction) -> dict[str, list[Id]]:
    holders: dict[str, list[Id]] = defaultdict(list)
    for gate, id in decode(work.row("resources_holders", _HELD)[0], list[tuple[str, str]]):
        for name in names(gate):
            holders[name].append(to_id(id))
    return holders
