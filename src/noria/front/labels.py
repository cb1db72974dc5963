"""Names in numbers, bounded: whoever enqueues may make up names, and nobody wants to read a million of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from noria.backends.contract import QueueCounts
from noria.front import limits
from noria.model.state import State

K = TypeVar("K", str, tuple[str, str])

OTHER: Final = "*other"
"""Stands for all that have no line of their own; no queue and no task can have this name."""


def largest(sizes: Mapping[K, float]) -> set[K]:
    """The names that get a line of their own: all, or the largest."""
    if len(sizes) <= limits.NAMES:
        return set(sizes)
    return set(sorted(sizes, key=lambda name: (-sizes[name], name))[: limits.NAMES])


def bounded(numbers: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Numbers by name, those of the smallest summed up."""
    kept = largest({name: sum(each.values()) for name, each in numbers.items()})
    found: dict[str, dict[str, int]] = {}
    for name in sorted(numbers, key=lambda name: (name not in kept, name)):
        into = found.setdefault(name if name in kept else OTHER, {})
        for word, number in numbers[name].items():
            into[word] = into.get(word, 0) + number
    return found


def bounded_queues(queues: Mapping[str, QueueCounts]) -> dict[str, QueueCounts]:
    """Queues by name, the smallest as one. A pause of one of these is no pause of all."""
    kept = largest({name: sum(each.states.values()) for name, each in queues.items()})
    found = {name: queues[name] for name in sorted(kept)}
    others = [each for name, each in queues.items() if name not in kept]
    if others:
        states = {state: sum(each.states.get(state, 0) for each in others) for state in State}
        oldest = [each.oldest_ready for each in others if each.oldest_ready is not None]
        found[OTHER] = QueueCounts(
            {state: number for state, number in states.items() if number},
            dead=sum(each.dead for each in others),
            oldest_ready=max(oldest, default=None),
        )
    return found
