"""Where the ids of a search come from: the set with the fewest jobs that holds all matches, else all jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from noria.backends.contract import Query
from noria.backends.redis.call import Request, Steps, command
from noria.backends.redis.settings import Settings
from noria.backends.units import millis
from noria.ids import Id
from noria.model.state import LIVE, State

Source = Callable[[Id | None, int], Steps]
"""Gives the next ids beyond one, in order; fewer than were asked for at the end."""

FEW: Final = 5_000
"""Jobs that have not ended, up to which they are sorted for each search."""

SKEW: Final = 3_600_000
"""Milliseconds by which the clock in an id may differ from the time at which its job was stored."""

_UNSUCCESSFUL: Final = frozenset({State.FAILED, State.CANCELLED, State.EXPIRED})


def source_of(settings: Settings, query: Query) -> Steps:
    """The source for a query."""
    bounds = _bounds(query)
    if query.parent_id:
        return _of_set(settings, f"children:{query.parent_id}", query, bounds)
    if query.correlation_id:
        return _of_set(settings, f"correlated:{query.correlation_id}", query, bounds)
    if query.dead:
        return _of_set(settings, "dead", query, bounds)
    states = frozenset(query.states)
    if states and states <= _UNSUCCESSFUL | LIVE:
        live = yield from _few(states & LIVE)
        if live is not None:
            ended = [_of_set(settings, f"ended:{state:d}", query, bounds) for state in states & _UNSUCCESSFUL]
            return _merged([*ended, _of_list(live, query, bounds)], query)
    return _of_set(settings, "ids", query, bounds)


_Bounds = tuple[bytes, bytes]
"""The lowest and the highest id that may match; empty where there is no bound."""


def _few(states: frozenset[State]) -> Steps:
    """The ids of jobs that have not ended, or None if there are too many."""
    if not states:
        return []
    # Those that ask are stored as running.
    stored = {State.RUNNING if state is State.ASKING else state for state in states}
    (ids,) = yield [Request("live", ["".join(f"{state:d} " for state in sorted(stored)), FEW])]
    return ids


def _of_set(settings: Settings, name: str, query: Query, bounds: _Bounds) -> Source:
    key, (lowest, highest) = settings.key(name), bounds

    def read(beyond: Id | None, n: int) -> Steps:
        low, high = b"[" + lowest if lowest else b"-", b"[" + highest if highest else b"+"
        if beyond is not None and query.oldest_first:
            low = b"(" + max(beyond, lowest)
        elif beyond is not None:
            high = b"(" + (min(beyond, highest) if highest else beyond)
        verb, ends = ("ZRANGEBYLEX", (low, high)) if query.oldest_first else ("ZREVRANGEBYLEX", (high, low))
        (ids,) = yield [command(verb, key, *ends, "LIMIT", 0, n)]
        return ids

    return read


def _of_list(ids: Sequence[Id], query: Query, bounds: _Bounds) -> Source:
    lowest, highest = bounds
    inside = {id for id in ids if id >= lowest and (not highest or id <= highest)}
    order = sorted(inside, reverse=not query.oldest_first)

    def read(beyond: Id | None, n: int) -> Steps:
        yield from ()
        rest = order
        if beyond is not None:
            rest = [id for id in order if (id > beyond if query.oldest_first else id < beyond)]
        return rest[:n]

    return read


def _merged(sources: Sequence[Source], query: Query) -> Source:
    def read(beyond: Id | None, n: int) -> Steps:
        found: list[Id] = []
        for source in sources:
            found += yield from source(beyond, n)
        return sorted(found, reverse=not query.oldest_first)[:n]

    return read


def _bounds(query: Query) -> _Bounds:
    """Nothing before and after the times of a query, by the clock in the ids."""
    return _edge(query.created_after, -SKEW), _edge(query.created_before, SKEW)


def _edge(at: float | None, skew: int) -> bytes:
    """The id that was made at a time."""
    if at is None:
        return b""
    clock = max(0, min(millis(at) + skew, (1 << 48) - 1))
    return clock.to_bytes(6) + bytes(10)
