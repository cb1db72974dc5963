"""Where the ids of a search come from: the index with the fewest jobs that hold all matches, else all jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from noria.backends.contract import Query
from noria.backends.sql.rows import decode
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis
from noria.ids import Id
from noria.model.state import LIVE, RUNS, State

Source = Callable[[Transaction, Id | None, int], list[str]]
"""Gives the next ids beyond one, as hex and in order; fewer than were asked for at the end."""

FEW: Final = 5_000
"""Jobs that have not ended, up to which they are sorted for each portion."""

SKEW: Final = 3_600_000
"""Milliseconds by which the clock in an id may differ from the time at which its job was stored."""

_UNSUCCESSFUL: Final = frozenset({State.FAILED, State.CANCELLED, State.EXPIRED})
_BEHIND_ALL: Final = b"\xff" * 17


def source_of(work: Transaction, query: Query) -> Source:
    """The source for a query."""
    return _bounded(_narrowest(work, query), query)


def _narrowest(work: Transaction, query: Query) -> Source:
    oldest_first = query.oldest_first
    if query.parent_id:
        return _simple("find_children", oldest_first, query.parent_id)
    if query.correlation_id:
        return _simple("find_correlated", oldest_first, query.correlation_id)
    if query.dead:
        return _simple("find_dead", oldest_first)
    states = frozenset(query.states)
    if states and states <= _UNSUCCESSFUL | LIVE:
        live = states & LIVE
        if not live or _size(work, live) <= FEW:
            return _of_states(states, oldest_first)
    return _simple("find_all", oldest_first)


def _size(work: Transaction, states: frozenset[State]) -> int:
    sizes = decode(work.row("state_sizes")[0], list[tuple[int, int]])
    # Jobs that wait for their time share an index.
    due = frozenset({State.SCHEDULED, State.RETRYING})
    wanted = states | due if states & due else states
    # Those that ask are counted as running.
    wanted = wanted | RUNS if wanted & RUNS else wanted
    return sum(n for state, n in sizes if state in wanted)


def _simple(statement: str, oldest_first: bool, *values: object) -> Source:
    def read(work: Transaction, beyond: Id | None, n: int) -> list[str]:
        start = (b"" if oldest_first else _BEHIND_ALL) if beyond is None else bytes(beyond)
        return decode(work.row(statement, start, n, oldest_first, *values)[0], list[str])

    return read


def _of_states(states: frozenset[State], oldest_first: bool) -> Source:
    """Jobs in these states, each from its own index, merged."""
    sources = [_simple("find_unsuccessful", oldest_first, state) for state in states & _UNSUCCESSFUL]
    if states & LIVE:
        kinds: Sequence[set[State]] = (
            {State.QUEUED},
            set(RUNS),
            {State.PARKED},
            {State.SCHEDULED, State.RETRYING},
            {State.WAITING},
        )
        sources.append(_simple("find_live", oldest_first, *(bool(states & kind) for kind in kinds)))

    def read(work: Transaction, beyond: Id | None, n: int) -> list[str]:
        found = [id for source in sources for id in source(work, beyond, n)]
        return sorted(found, reverse=not oldest_first)[:n]

    return read if len(sources) > 1 else sources[0]


def _bounded(source: Source, query: Query) -> Source:
    """Nothing before and after the times of a query, by the clock in the ids."""
    if query.created_after is None and query.created_before is None:
        return source
    lowest, highest = _edge(query.created_after, -SKEW, ""), _edge(query.created_before, SKEW, "G")
    first, last = (lowest, highest) if query.oldest_first else (highest, lowest)

    def read(work: Transaction, beyond: Id | None, n: int) -> list[str]:
        if beyond is None and len(first) == 32:
            beyond = Id(bytes.fromhex(first))
        found = source(work, beyond, n)
        if not found or lowest <= found[-1].upper() <= highest:
            return found
        return [id for id in found if (id.upper() <= last if query.oldest_first else id.upper() >= last)]

    return read


def _edge(at: float | None, skew: int, without: str) -> str:
    """The id that was made at a time, as hex in capitals; backends differ in that."""
    if at is None:
        return without
    clock = max(0, min(millis(at) + skew, (1 << 48) - 1))
    return f"{clock:012X}{'0' * 20}"
