"""What an open front has in hand: the backend, the keys, the tasks, and those who wait."""

from __future__ import annotations

import logging
from contextlib import suppress

from noria import ids
from noria.aio import Crew
from noria.app.application import Noria
from noria.app.config import public_url
from noria.backends.contract import Backend, Counts
from noria.errors import BackendError, Conflict
from noria.front.door import Door
from noria.front.flows import Flows
from noria.front.intake import Intake
from noria.front.keys import KeyRing
from noria.front.operator import Operator
from noria.front.principal import Principal
from noria.front.route import Route
from noria.front.settings import FrontSettings
from noria.front.streams import Streams
from noria.front.tasks import Tasks
from noria.front.waiting import Waiting
from noria.front.watch import Watch
from noria.worker.answers import AnswerLinks

log = logging.getLogger("noria.front")

_CLOSING = 2.0
_LATEST = 30
"""Seconds after which a client looks again at a job at the latest."""


class Desk:
    """An open front, on one event loop.

    Attributes:
        app, settings, routes: as given.
        kind: the word in front of the URL of its backend; "given" if it has none.
        link: the open backend, with those who wait for outcomes.
        clock, ids: time, and ids for new jobs.
        crew: owns what runs beside the requests.
        keys, door, answers, tasks, waiting, watch, streams, operator, flows, intake: what requests need.
        chance: for jitter.
    """

    def __init__(self, app: Noria, settings: FrontSettings, routes: tuple[Route, ...]) -> None:
        self.routes = routes
        self.app = app
        self.kind = (app.where or "given:").partition(":")[0]
        self.settings = settings
        self.link = app.home.links.here()
        self.clock = app.home.clock
        self.ids = app.home.ids
        self.crew = Crew("noria.front", self._fault)
        self.keys = KeyRing(self.backend, settings.api_key, self.clock, app.home.entropy)
        self.door = Door(settings, self.keys, self.clock)
        self.answers = AnswerLinks(self.backend, app.home.entropy, self.clock.monotonic, public_url())
        self.tasks = Tasks(app, self.backend, self.clock)
        self.waiting = Waiting(self.link.outcomes, self.crew, settings.waiters, settings.waiters_per_key)
        self.chance = ids.jitter_source(app.home.entropy)
        self.watch = Watch(self.backend, self.crew, self.chance)
        self.streams = Streams(settings)
        self.operator = Operator(self.backend, self.crew, self.clock, app.home.entropy, self.chance)
        self.operator.start()
        self.flows = Flows(self.backend, self.clock)
        self.intake = Intake(lambda: self.backend.counts(), self.clock)

    @property
    def backend(self) -> Backend:
        """The open backend."""
        return self.link.backend

    async def counts(self) -> Counts:
        """Queues and workers in numbers, not older than a second."""
        return await self.intake.counts()

    def again(self, queue: str) -> int:
        """Seconds after which to look again at a job: the longer its queue has kept others waiting, the later.

        At once, and elsewhere, if the front stops. It tells what was known a moment ago, and has that looked up anew.
        """
        if self.waiting.draining:
            return 0
        if self.intake.stale:
            self.crew.start("count", self._count())
        return max(1, min(_LATEST, int(self.intake.age(queue) / 10)))

    async def _count(self) -> None:
        with suppress(BackendError):  # then the old numbers stand
            await self.intake.counts()

    def note_use(self, who: Principal) -> None:
        """Write down, now and then, that a key was used."""
        if self.keys.due(who):
            self.crew.start("use", self._note(who))

    async def _note(self, who: Principal) -> None:
        try:
            await self.keys.note(who)
        except (BackendError, Conflict) as error:
            log.warning("the last use of a key could not be noted: %s", error)

    def drain(self) -> None:
        """Send away all who wait, and all who listen."""
        self.operator.stop()
        self.waiting.drain()
        self.watch.wake()

    async def close(self) -> None:
        """End what runs beside the requests."""
        self.drain()
        await self.crew.aclose(_CLOSING)

    def _fault(self, name: str, error: BaseException) -> None:
        log.error("%s failed", name, exc_info=error)
