"""Finding jobs: ids in order from the narrowest source, portion by portion, and which of them match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from noria.backends.contract import DeadGroup, Kin, Page, Parts, Query, Tallied, Term
from noria.backends.sql.call import Call
from noria.backends.sql.patterns import Patterns
from noria.backends.sql.records import read_records
from noria.backends.sql.rows import decode, encode, to_id
from noria.backends.sql.sources import Source, source_of
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis_or_none
from noria.clock import Clock
from noria.ids import Id
from noria.model.limits import MAX_BATCH
from noria.model.state import State

WINDOWS: Final = (1_000, 4_000, *[5_000] * 19)
"""Rows that a page looks at before it gives up, in portions: most pages are full after the first."""

PATIENCE: Final = 2.0
"""Seconds after which no further portion is looked at: rows can be large, and others want to search as well."""

_EACH: Final = 10_000
"""To which number a group of dead letters is counted."""


@dataclass(slots=True)
class _Search:
    """The matches of a query, as they are found.

    Attributes:
        last: the last id that was looked at.
        limited: it was given up before all was seen.
    """

    work: Transaction
    query: Query
    source: Source
    last: Id | None
    clock: Clock
    limited: bool = False
    _filters: tuple[object, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._filters = _filters(self.query, self.work.patterns)

    def matches(self, wanted: int) -> Iterator[str]:
        """At most so many ids, as hex."""
        until = self.clock.monotonic() + PATIENCE
        for window in WINDOWS:
            looked = self.source(self.work, self.last, window)
            found = self.work.row("find_match", encode(looked), wanted, *self._filters)[0]
            ids = decode(found, list[str])
            yield from ids
            wanted -= len(ids)
            if wanted <= 0 or len(looked) < window:
                return
            self.last = to_id(looked[-1])
            if self.clock.monotonic() > until:
                break
        self.limited = True


def _search(work: Transaction, query: Query, after: Id | None, clock: Clock) -> _Search:
    return _Search(work, query, source_of(work, query), after, clock)


@dataclass(slots=True)
class Find(Call):
    """The call."""

    clock: Clock
    query: Query
    after: Id | None
    limit: int
    parts: Parts = Parts.NONE
    ids_only: bool = False
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> Page:
        """Read a page, looking at a bounded number of rows."""
        limit = max(1, min(self.limit, MAX_BATCH))
        search = _search(work, self.query, self.after, self.clock)
        found = list(search.matches(limit + 1))
        ids = [to_id(id) for id in found[:limit]]
        following = search.last if search.limited else None
        if len(found) > limit:
            following = ids[-1]
        return Page(
            [] if self.ids_only else read_records(work, ids, self.parts),
            following,
            scan_limited=search.limited and len(found) <= limit,
            ids=ids,
        )


@dataclass(slots=True)
class Tally(Call):
    """The call."""

    clock: Clock
    query: Query
    most: int
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> Tallied:
        """Count matches, looking at a bounded number of rows."""
        most = max(1, min(self.most, 10 * MAX_BATCH))
        search = _search(work, self.query, None, self.clock)
        found = list(search.matches(most + 1))
        capped = len(found) > most
        lines = decode(work.row("find_kin", encode(found[:most]))[0], list[tuple[str, State, int]])
        kin = sorted((Kin(*line) for line in lines), key=lambda kin: (-kin.n, kin.task, kin.state))
        return Tallied(min(len(found), most), capped, search.limited and not capped, kin)


@dataclass(slots=True)
class GroupDead(Call):
    """The call."""

    limit: int
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[DeadGroup]:
        """Dead letters by fingerprint."""
        Line = tuple[str, int, int, int, str]
        lines = decode(work.row("dead_groups", MAX_BATCH, _EACH)[0], list[Line])
        lines.sort(key=lambda line: (-line[1], -line[3]))
        lines = lines[: max(1, self.limit)]
        samples = read_records(work, [to_id(id) for *_, id in lines], Parts.NONE)
        return [
            DeadGroup(print, n, first / 1000, last / 1000, sample)
            for (print, n, first, last, _), sample in zip(lines, samples, strict=True)
        ]


def _filters(query: Query, patterns: Patterns) -> tuple[object, ...]:
    """What `find_match.sql` takes from its third value on."""
    return (
        encode(query.states),
        encode([_starred(name, patterns) for name in query.tasks]),
        encode([_starred(name, patterns) for name in query.queues]),
        encode([_starred(name, patterns) for name in query.workers]),
        query.tag,
        query.correlation_id,
        query.fingerprint,
        query.dead,
        millis_or_none(query.created_after),
        millis_or_none(query.created_before),
        millis_or_none(query.finished_after),
        millis_or_none(query.finished_before),
        encode([_term(term, patterns) for term in query.terms]),
    )


def _term(term: Term, patterns: Patterns) -> tuple[str, str, str, int]:
    if term.field in ("error", "text"):
        pattern = patterns.containing(term.value)
    else:
        pattern = patterns.beginning(term.value) if term.prefix else patterns.exactly(term.value)
    return term.field, pattern, patterns.path(term.path), int(term.negated)


def _starred(name: str, patterns: Patterns) -> str:
    return patterns.beginning(name[:-1]) if name.endswith("*") else patterns.exactly(name)
