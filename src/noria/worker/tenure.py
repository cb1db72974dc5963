"""The session of a worker: opened, replaced when others have ended it, closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable

from noria import aio
from noria.backends.contract import Sessions, WorkerCard
from noria.errors import BackendError
from noria.ids import SessionId
from noria.worker.journal import Journal, Journals
from noria.worker.settings import OUTAGE_AT_MOST

log = logging.getLogger("noria.worker")

NONE = SessionId(0)


class Tenure:
    """Holds at most one session at a time, with the run journal that belongs to it.

    Args:
        sessions: the backend.
        journals: where run journals live.
        card: who this worker is.
        begun: called with each new session and its journal.
        chance: for the jitter while the backend is away.
    """

    def __init__(
        self,
        *,
        sessions: Sessions,
        journals: Journals,
        card: WorkerCard,
        begun: Callable[[SessionId, Journal], None],
        chance: random.Random,
    ) -> None:
        self._sessions = sessions
        self._journals = journals
        self._card = card
        self._begun = begun
        self._chance = chance
        self._journal: Journal | None = None
        self.session = NONE

    async def open(self) -> None:
        """Begin a session.

        Raises:
            BackendError: the backend did not open one.
        """
        session = await self._sessions.open(self._card)
        old, self._journal = self._journal, self._journals.create(session, self._card.slots)
        self.session = session
        self._begun(session, self._journal)
        if old is not None:
            old.close()

    def lose(self) -> None:
        """Others have ended the session."""
        self.session = NONE

    async def reopen(self, stop: asyncio.Event) -> None:
        """Begin a new session, however long the backend is away, unless the worker stops."""
        pause = 0.1
        while not stop.is_set():
            try:
                return await self.open()
            except BackendError as error:
                log.warning("no new session can be opened, trying again: %s", error)
            await aio.happened(stop, pause * (0.5 + self._chance.random()))
            pause = min(pause * 2, OUTAGE_AT_MOST)

    async def close(self) -> None:
        """End the session; whatever it still holds, such as leases never heard of, goes back uncounted.

        If the backend does not answer, the journal stays: it tells the next worker on this host.
        """
        if self.session == NONE:
            return
        with contextlib.suppress(BackendError):
            await self._sessions.end(self.session, if_beat=None, started=())
            if self._journal is not None:
                self._journal.close()
