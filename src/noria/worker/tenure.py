"""The session of a worker: opened, replaced when others have ended it, closed."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterable, Mapping

from noria import aio
from noria.backends.contract import Sessions, WorkerCard
from noria.errors import BackendError
from noria.ids import SessionId
from noria.model.task import Executor
from noria.worker.journal import Journal, Journals
from noria.worker.outage import Outage
from noria.worker.outside import Outside
from noria.worker.settings import OUTAGE_AT_MOST, WorkerSettings

NONE = SessionId(0)


def card_of(
    outside: Outside,
    settings: WorkerSettings,
    tasks: Iterable[str],
    queues: tuple[str, ...],
    sizes: Mapping[Executor, int],
) -> WorkerCard:
    """How a worker describes itself; `sizes` are its slots by kind."""
    return WorkerCard(
        worker=settings.name or f"{outside.host}-{outside.pid}"[-128:],
        host=outside.host,
        pid=outside.pid,
        tasks=tuple(sorted(tasks)),
        queues=queues,
        ttl=settings.ttl,
        slots=sum(sizes.values()),
        sizes={kind: size for kind, size in sizes.items()},  # noqa: C416 - keys of another type
        version=outside.version,
    )


class Tenure:
    """Holds at most one session at a time, with the run journal that belongs to it.

    Args:
        sessions: the backend.
        journals: where run journals live.
        card: who this worker is.
        places: how many starts a journal must have room for.
        begun: called with each new session and its journal.
        chance: for the jitter while the backend is away.
    """

    def __init__(
        self,
        *,
        sessions: Sessions,
        journals: Journals,
        card: WorkerCard,
        places: int,
        begun: Callable[[SessionId, Journal], None],
        chance: random.Random,
    ) -> None:
        self._sessions = sessions
        self._journals = journals
        self._card = card
        self._places = places
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
        old, self._journal = self._journal, self._journals.create(session, self._places)
        self.session = session
        self._begun(session, self._journal)
        if old is not None:
            old.close()

    def lose(self) -> None:
        """Others have ended the session."""
        self.session = NONE

    async def reopen(self, stop: asyncio.Event) -> None:
        """Begin a new session, however long the backend is away, unless the worker stops."""
        pauses, outage = aio.Pauses(0.1, OUTAGE_AT_MOST, self._chance), Outage("a session is open")
        while not stop.is_set():
            try:
                await self.open()
                return outage.over()
            except BackendError as error:
                outage.goes_on("no new session can be opened", error)
            await aio.happened(stop, pauses.next())

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
