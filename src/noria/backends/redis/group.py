"""Calls that share a round: all pushes as one, and leases last, so that they see what came along."""

from __future__ import annotations

from collections.abc import Sequence

from noria.backends.redis.call import Call
from noria.backends.redis.lease import Take
from noria.backends.redis.push import Push, Pushes


def grouped(given: Sequence[Call]) -> list[tuple[Call, list[int]]]:
    """What is asked, in order, each with the places of the calls that it stands for."""
    pushes = {index: call for index, call in enumerate(given) if isinstance(call, Push)}
    rest = [index for index in range(len(given)) if index not in pushes]
    rest.sort(key=lambda index: isinstance(given[index], Take))
    together: list[tuple[Call, list[int]]] = [(Pushes(list(pushes.values())), list(pushes))] if pushes else []
    return together + [(given[index], [index]) for index in rest]
