"""What a worker says about itself with each beat."""

from __future__ import annotations

from collections.abc import Mapping

from noria.backends.contract import Vitals
from noria.model.task import Executor
from noria.worker import memory
from noria.worker.feed import Feed
from noria.worker.settle import Settler


def vitals_of(
    sizes: Mapping[Executor, int],
    free: Mapping[Executor, int],
    feed: Feed,
    settler: Settler,
    lag: float,
    load: float,
    stopping: bool,
) -> Vitals:
    """How a worker stands.

    Args:
        sizes, free: its slots by kind, and those of them that are free.
        lag: seconds by which its loop was last late.
        load: of its host.
    """
    busy: dict[str, int] = {kind: size - free[kind] for kind, size in sizes.items()}
    return Vitals(
        running=sum(busy.values()),
        buffered=feed.buffered,
        unsettled=settler.unsettled,
        settled=settler.settled,
        lag=lag,
        memory=memory.resident(),
        busy=busy,
        load=load,
        state="stopping" if stopping else "quiet" if feed.resting else "active",
    )
