"""What a thread does for the other workers while the loop of this one cannot turn: it keeps nothing back from them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from typing import Final

from noria.aio import Guard
from noria.backends.contract import Fence, Keeper
from noria.worker.feed import Feed
from noria.worker.ready import Withdrawal
from noria.worker.settle import Settler

_WHY: Final = "the event loop of the worker that had leased it was blocked before it could begin"


class Relief:
    """Records the outcomes that wait for the loop, and gives back the jobs that have not begun. For one thread.

    A job that was taken from the loop never starts here; one that has begun is never given back. What cannot be
    given back now is left to the session's recall, or to its end.

    Args:
        guarded: wraps what the loop calls, so that a fault in it ends the worker and is not only logged.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, feed: Feed, settler: Settler, guarded: Guard) -> None:
        self._loop = loop
        self._feed = feed
        self._settler = settler
        self._withdrawn = guarded("give-back", feed.withdrawn)

    def relieve(self, keeper: Keeper) -> None:
        """Do both, through the keeper's connection. Raises `BackendError`; what was taken is then recalled later."""
        session, ends = self._settler.waiting()
        if ends:
            self._settler.told(session, ends, keeper.settle(session, ends))
        withdrawal = self._feed.withdraw()
        if withdrawal is not None:
            self._give_back(keeper, withdrawal)

    def _give_back(self, keeper: Keeper, what: Withdrawal) -> None:
        given_back: Collection[Fence] | None = None
        try:
            given_back = keeper.recall(what.session, what.known, _WHY)
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the session ends, or has ended
                self._loop.call_soon_threadsafe(self._withdrawn, what, given_back)
