"""Follows jobs for event streams: one look a second for all of them, and at once when a hint tells of an outcome."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from noria import aio
from noria.aio import Crew
from noria.backends.contract import Backend, Hint, Outline, Parts
from noria.backends.hearing import hear
from noria.errors import BackendError
from noria.ids import Id
from noria.model.job import Record
from noria.model.limits import MAX_BATCH, POLL

log = logging.getLogger("noria.front")

_outlines: Final = msgspec.json.Decoder(list[Outline])


class Follower:
    """One who follows a job. It keeps the newest state only: a slow reader costs no memory, and misses no end.

    Attributes:
        record: as it was last seen; None if the job is gone.
        news: set when there is something to look at: a change, the end of the front, a client that has left.
        left: whether the client has left.
    """

    def __init__(self, record: Record) -> None:
        self.id = record.id
        self.record: Record | None = record
        self.news = asyncio.Event()
        self.left = False

    def tell(self, record: Record | None) -> None:
        """The job stands so now."""
        before = self.record
        if before is None or (record is not None and record.version == before.version):
            return
        self.record = record
        self.news.set()

    def leave(self) -> None:
        """The client has left."""
        self.left = True
        self.news.set()


class Watch:
    """Looks at all jobs that are followed here.

    Args:
        backend: started.
        crew: owns the tasks that listen and look; they begin with the first follower.
        chance: for jitter.
    """

    def __init__(self, backend: Backend, crew: Crew, chance: random.Random) -> None:
        self._backend = backend
        self._crew = crew
        self._chance = chance
        self._followers: dict[Id, dict[Follower, None]] = {}
        self._urgent: set[Id] = set()
        self._some = asyncio.Event()
        self._looking = self._listening = False

    @contextmanager
    def follow(self, record: Record) -> Iterator[Follower]:
        """Follow a job, from the state in which it was just read."""
        follower = Follower(record)
        self._followers.setdefault(follower.id, {})[follower] = None
        self._begin()
        try:
            yield follower
        finally:
            there = self._followers[follower.id]
            del there[follower]
            if not there:
                del self._followers[follower.id]

    def wake(self) -> None:
        """Have all followers look around."""
        for follower in self._all():
            follower.news.set()

    def _all(self) -> list[Follower]:
        return [each for followers in self._followers.values() for each in followers]

    def _begin(self) -> None:
        if not self._listening:
            self._listening = True
            self._crew.start("listen", self._listen())
        if not self._looking:
            self._looking = True
            self._crew.start("look", self._look())

    # -- looking -------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        try:
            while self._followers:
                hinted = await aio.happened(self._some, POLL * self._chance.uniform(0.75, 1.0))
                self._some.clear()
                wanted = (
                    [id for id in self._urgent if id in self._followers] if hinted else list(self._followers)
                )
                self._urgent.clear()
                await self._read(wanted)
        finally:
            self._looking = False

    async def _read(self, wanted: list[Id]) -> None:
        for start in range(0, len(wanted), MAX_BATCH):
            batch = wanted[start : start + MAX_BATCH]
            try:
                records = await self._backend.get(batch, Parts.NONE, watch=self._backend.reply_channel)
            except BackendError as error:
                log.warning("event streams stand still for a moment: %s", error)
                return
            for id, record in zip(batch, records, strict=True):
                for follower in self._followers.get(id, ()):
                    follower.tell(record)

    # -- hearing -------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        await hear(
            self._backend,
            self._backend.reply_channel,
            self._heard,
            pause=POLL,
            meanwhile="event streams are polled for a while",
        )

    def _heard(self, hint: Hint) -> None:
        try:
            outlines = [] if hint.reset else _outlines.decode(hint.payload)
        except msgspec.DecodeError:
            outlines = []
        ended = _ids(outlines) if outlines else list(self._followers)
        self._urgent.update(id for id in ended if id in self._followers)
        if self._urgent:
            self._some.set()


def _ids(outlines: Iterable[Outline]) -> list[Id]:
    return [Id(bytes.fromhex(outline.id)) for outline in outlines]
