"""What others order a worker to do with the jobs that it holds."""

from __future__ import annotations

from collections.abc import Callable

from noria.backends.contract import Fence, Hint, Hints
from noria.backends.hearing import hear
from noria.ids import SessionId
from noria.model import outcome as ends
from noria.model.outcome import Failure
from noria.worker.feed import Feed
from noria.worker.judge import Doom
from noria.worker.run import Runner


class Listener:
    """Hears at once of a session's orders, which the next beat would bring as well.

    Args:
        hints: the backend.
        hurry: called when there are orders.
        pause: seconds to wait when listening has failed.
    """

    def __init__(self, hints: Hints, hurry: Callable[[], None], pause: float) -> None:
        self._hints = hints
        self._hurry = hurry
        self._pause = pause

    async def run(self, session: SessionId) -> None:
        """Listen for ever; a task of the worker's crew, one for each session."""
        await hear(
            self._hints,
            f"session:{session}",
            self._heard,
            pause=self._pause,
            meanwhile="orders come with the beat for a while",
        )

    def _heard(self, hint: Hint) -> None:
        if not hint.reset:
            self._hurry()


def cancel(fence: Fence, note: str, runner: Runner, feed: Feed) -> None:
    """Cancel a start, if it is held here and has not ended; `note` is the reason that was given."""
    run = runner.held.get(fence.id)
    if run is None or run.lease.starts != fence.starts or run.settled:
        return
    if run.slot >= 0:
        runner.doom(run, Doom.CANCEL, note)
    else:
        feed.drop(run)
        runner.refuse(run, ends.after_cancel(Failure.of("cancelled", note or "cancelled before it began")))
