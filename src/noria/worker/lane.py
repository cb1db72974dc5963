"""Leasing for one kind of slot: its own call in flight, so that a full kind never holds up one that is free."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol

from noria import aio
from noria.backends.contract import Batch, Queue, Want
from noria.errors import BackendError
from noria.ids import SessionId
from noria.model.job import Lane
from noria.model.limits import MAX_BATCH
from noria.worker.feeding import fed
from noria.worker.outage import Outage
from noria.worker.pace import Pace
from noria.worker.settings import OUTAGE_AT_MOST
from noria.worker.shares import Shares

_BETWEEN_SUSPECTS: Final = 0.05
"""Seconds after which it is looked whether the next suspect may come."""


class Slots(Protocol):
    """What a lane needs to know of the worker around it."""

    @property
    def session(self) -> SessionId:
        """Whose leases these are."""
        ...

    @property
    def leasing(self) -> bool:
        """Whether anything may be leased now."""
        ...

    def room(self, lane: Lane) -> tuple[int, int]:
        """Free slots for jobs of this lane that nothing held ready will take, and jobs held beyond those."""
        ...

    def ended(self, lane: Lane) -> int:
        """How many jobs in such slots have ended so far."""
        ...

    @property
    def may_invite(self) -> bool:
        """Whether the next lease may bring a suspect."""
        ...

    def inviting(self, suspect: bool) -> AbstractContextManager[None]:
        """The time of a lease; if it may bring a suspect, no other may meanwhile."""
        ...

    async def before_lease(self) -> None:
        """What must be done before the next lease; raises `BackendError`."""
        ...

    def in_flight(self, calls: int) -> None:
        """A lease begins (1) or ends (-1)."""
        ...

    def unheard(self) -> None:
        """A lease failed: the session may hold jobs that nobody here knows of."""
        ...

    def arrived(self, lane: Lane, session: SessionId, batch: Batch) -> None:
        """A lease was answered."""
        ...


class LaneFeed:
    """Leases jobs of one lane, one call in flight.

    Args:
        lane: the lane.
        slots: the worker around it.
        queue: the backend.
        queues: the queues to serve, with their weights.
        wait: seconds that one lease may wait.
        chance: for the jitter while the backend is away.
    """

    def __init__(
        self,
        *,
        lane: Lane,
        slots: Slots,
        queue: Queue,
        queues: Mapping[str, int],
        wait: float,
        chance: random.Random,
    ) -> None:
        self._lane = lane
        self._slots = slots
        self._queue = queue
        self._shares = Shares(queues) if queues else None
        self._wait = wait
        self._pauses = aio.Pauses(0.05, OUTAGE_AT_MOST, chance)
        self._outage = Outage("jobs are leased")
        self._loop = asyncio.get_running_loop()
        self._pace = Pace()
        self._suspects: bool | None = None
        self._bound = False
        self._counted = 0
        self._since = self._loop.time()
        self._room = asyncio.Event()

    def wake(self) -> None:
        """Something may have made room: look again."""
        self._room.set()

    async def run(self) -> None:
        """Lease for ever; a task of the worker's crew."""
        while True:
            await self._room.wait()
            wants, room = self._wants()
            if not wants:
                self._room.clear()
                continue
            try:
                await self._lease(wants, room)
                self._pauses.reset()
                self._outage.over()
            except BackendError as error:
                self._slots.unheard()
                self._outage.goes_on("no jobs can be leased", error)
                await aio.sleep(self._pauses.next())

    async def _lease(self, wants: list[Want], room: int) -> None:
        with self._slots.inviting(any(want.suspect for want in wants)):
            await self._slots.before_lease()
            session, asked = self._slots.session, self._loop.time()
            self._slots.in_flight(1)
            try:
                # Until the values are read nobody here knows of these leases: a recall has to wait for that too.
                batch = await fed(
                    self._queue, await self._queue.lease(session, wants, room, self._patience())
                )
            finally:
                self._slots.in_flight(-1)
            self._suspects, self._bound = batch.suspects, batch.bound
            if self._shares is not None:
                self._shares.given(batch.leases)
            self._measure(batch, asked)
            self._slots.arrived(self._lane, session, batch)

    def _patience(self) -> float:
        """Seconds that a lease waits: not at all before it is known whether suspects wait, and not long if they do."""
        if self._suspects is None:
            return 0.0
        return min(self._wait, _BETWEEN_SUSPECTS) if self._suspects else self._wait

    def _wants(self) -> tuple[list[Want], int]:
        """One want for each queue, the room shared by weight, and the room; no want if it is not worth a call."""
        if not self._slots.leasing or self._shares is None:
            return [], 0
        now, beyond = self._slots.room(self._lane)
        ahead = max(0, self._pace.ahead - beyond)
        # Few at a time while enough is held ready would make many small transactions. Jobs that are never held ready
        # come for free slots alone.
        if not now and (self._bound or ahead * 2 <= self._pace.ahead):
            return [], 0
        now = min(now, MAX_BATCH)
        ahead = min(ahead, MAX_BATCH - now)
        # Who invites a suspect keeps the other lanes from it meanwhile, so only where one is known to wait.
        suspect = bool(self._suspects) and self._slots.may_invite
        return self._shares.wants(self._lane, now, ahead, suspect=suspect), now + ahead

    def _measure(self, batch: Batch, asked: float) -> None:
        now, ended = self._loop.time(), self._slots.ended(self._lane)
        self._pace.ended(ended - self._counted, now - self._since)
        self._counted, self._since = ended, now
        if batch.leases:
            self._pace.leased(now - asked)
