"""Calls that share a transaction: all pushes as one, and leases last, so that they see what came along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noria.backends.sql import heirs
from noria.backends.sql.call import Call, Sync
from noria.backends.sql.lease import Take
from noria.backends.sql.push import Push, Pushes
from noria.backends.sql.settings import Settings
from noria.backends.sql.transaction import Transaction
from noria.model.limits import MAX_BATCH


class Group:
    """Calls in the order in which they are run.

    Attributes:
        calls: what is run.
        places: for each of them, where its replies belong among the calls that were given.
    """

    def __init__(self, given: Sequence[Call]) -> None:
        pushes = {index: call for index, call in enumerate(given) if isinstance(call, Push)}
        rest = [index for index in range(len(given)) if index not in pushes]
        rest.sort(key=lambda index: isinstance(given[index], Take))
        self.calls: list[Call] = [Pushes(list(pushes.values()))] if pushes else []
        self.calls += [given[index] for index in rest]
        self.places: list[list[int]] = [list(pushes)] if pushes else []
        self.places += [[index] for index in rest]

    @property
    def sync(self) -> Sync:
        """When all of them wait for the disk."""
        return max(call.sync for call in self.calls)

    def prepare(self, settings: Settings, now: int) -> None:
        """Do what can be done before the transaction."""
        for call in self.calls:
            call.prepare(settings, now)

    def run(self, work: Transaction) -> list[Any]:
        """Run all of them; returns what each `finish` is to get.

        What they did to groups is settled once, before the leases, which are settled one by one.
        """
        raws = []
        for call in self.calls:
            if isinstance(call, Take):
                _hand_over(work)
            raws.append(call.run(work))
            work.groups.put_back(work)
        _hand_over(work)
        return raws

    def spread(self, replies: Sequence[Any]) -> dict[int, Any]:
        """The replies of what was run, as replies of what was given."""
        spread: dict[int, Any] = {}
        for call, places, reply in zip(self.calls, self.places, replies, strict=True):
            if isinstance(call, Pushes) and not isinstance(reply, Exception):
                spread.update(zip(places, reply, strict=True))
            else:
                spread.update(dict.fromkeys(places, reply))
        return spread


def _hand_over(work: Transaction) -> None:
    """Tell those who waited for jobs that have ended, then hand over places: some of them may come in line."""
    if work.ended_parents:
        heirs.pass_on(work, MAX_BATCH)
    work.groups.settle(work)
