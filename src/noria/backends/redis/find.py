"""Finding jobs: ids in order from the narrowest source, portion by portion, and which of them match."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Final

from noria.backends.contract import DeadGroup, Kin, Page, Parts, Query, Tallied
from noria.backends.redis.call import Call, Request, Steps
from noria.backends.redis.matching import parts_of, test_of
from noria.backends.redis.records import Row, read, read_listed
from noria.backends.redis.settings import Settings
from noria.backends.redis.sources import source_of
from noria.clock import Clock
from noria.ids import Id
from noria.model.limits import MAX_BATCH, MAX_LISTED

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
        found: what matches so far.
        last: the last id that was looked at.
        limited: it was given up before all was seen.
    """

    clock: Clock
    query: Query
    found: list[Row]
    last: Id | None
    limited: bool = False

    def look(self, settings: Settings, wanted: int) -> Steps:
        """Find at most so many."""
        source = yield from source_of(settings, self.query)
        test, parts = test_of(self.query), parts_of(self.query)
        until = self.clock.monotonic() + PATIENCE
        for window in WINDOWS:
            ids = yield from source(self.last, window)
            rows = yield from read(ids, parts, MAX_LISTED)
            self.found += [row for row in rows if row is not None and test(row)][: wanted - len(self.found)]
            if len(self.found) >= wanted or len(ids) < window:
                return
            self.last = ids[-1]
            if self.clock.monotonic() > until:
                break
        self.limited = True


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

    def steps(self, settings: Settings) -> Steps:
        """Read a page, looking at a bounded number of rows."""
        limit = max(1, min(self.limit, MAX_BATCH))
        search = _Search(self.clock, self.query, [], self.after)
        yield from search.look(settings, limit + 1)
        ids = [row.id for row in search.found[:limit]]
        following = search.last if search.limited else None
        if len(search.found) > limit:
            following = ids[-1]
        records = [] if self.ids_only else (yield from read_listed(ids, self.parts))
        return Page(records, following, scan_limited=search.limited and len(search.found) <= limit, ids=ids)


@dataclass(slots=True)
class Tally(Call):
    """The call."""

    clock: Clock
    query: Query
    most: int
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Count matches, looking at a bounded number of rows."""
        most = max(1, min(self.most, 10 * MAX_BATCH))
        search = _Search(self.clock, self.query, [], None)
        yield from search.look(settings, most + 1)
        capped = len(search.found) > most
        found = search.found[:most]
        numbers = Counter((row.head.task, row.state) for row in found)
        kin = [Kin(task, state, n) for (task, state), n in numbers.items()]
        kin.sort(key=lambda each: (-each.n, each.task, each.state))
        return Tallied(len(found), capped, search.limited and not capped, kin)


@dataclass(slots=True)
class GroupDead(Call):
    """The call."""

    limit: int
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Dead letters by fingerprint."""
        (flat,) = yield [Request("dead_groups", [MAX_BATCH])]
        lines = [
            (mark.decode(), min(int(n), _EACH), float(first), float(last), Id(id))
            for mark, n, first, last, id in zip(
                flat[::5], flat[1::5], flat[2::5], flat[3::5], flat[4::5], strict=True
            )
        ]
        lines.sort(key=lambda line: (-line[1], -line[3]))
        lines = lines[: max(1, self.limit)]
        samples = yield from read_listed([id for *_, id in lines], Parts.NONE)
        by_id = {sample.id: sample for sample in samples}
        return [
            DeadGroup(mark, n, first / 1000, last / 1000, by_id[id])
            for mark, n, first, last, id in lines
            if id in by_id
        ]
