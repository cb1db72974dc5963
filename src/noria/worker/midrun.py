"""What handlers say in mid-run, put together: what is written down, and what is asked."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from noria.backends.contract import Backend
from noria.ids import IdSource, SessionId
from noria.model.settlement import Settlement
from noria.worker.answers import AnswerLinks
from noria.worker.asking import Asker
from noria.worker.marks import Marker
from noria.worker.outside import Outside
from noria.worker.processes import Processes
from noria.worker.run import Runner
from noria.worker.scribe import LoopScribe


class Midrun:
    """The parts of a worker that deal with its jobs between their start and their end.

    Args:
        most: how many jobs may ask at the same time.
        chance: for the jitter while the backend is away.

    Attributes:
        scribe: for the contexts of handlers.
        settle: where outcomes go first.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        backend: Backend,
        outside: Outside,
        most: int,
        chance: random.Random,
    ) -> None:
        self._marker = Marker(backend, chance)
        names = IdSource(outside.clock, outside.entropy)
        links = AnswerLinks(backend, outside.entropy, outside.clock.monotonic, outside.public_url)
        self._asker = Asker(backend, self._marker, outside.clock, names, most, links)
        self.scribe = LoopScribe(loop, self._marker, self._asker)
        self.settle = self._marker.settle
        self.hurry = self._asker.hurry
        self.flushed = self._marker.flushed

    def connect(
        self,
        settle: Callable[[Settlement], None],
        stale: Callable[[], None],
        runner: Callable[[], Runner],
        processes: Processes | None,
    ) -> None:
        """Make it known to the parts around it.

        Args:
            settle: takes outcomes, behind all that their starts have written down.
            stale: called when something was refused.
            runner: holds the runs; it is made later than this.
            processes: their handlers write too.
        """
        self._marker.connect(settle, stale)
        self._asker.runner = runner
        if processes is not None:
            processes.write_by(self.scribe)

    def parts(self) -> dict[str, Coroutine[Any, Any, None]]:
        """What the worker's crew must run, by name."""
        return {"marks": self._marker.run(), "answers": self._asker.run()}

    def reset(self, session: SessionId) -> None:
        """A new session begins: nothing of the last one is written any more."""
        self._marker.reset(session)

    def close(self) -> None:
        """Nothing is written any more."""
        self._marker.close()
