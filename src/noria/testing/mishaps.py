"""What befalls a worker in a test: its death, a job that is delivered twice, an outcome that is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from noria.backends.contract import Batch, Evidence, Fence, Orders, Verdict, Vitals, Want
from noria.ids import Id, SessionId
from noria.model.job import Lease
from noria.model.settlement import Settlement


class Plan:
    """What is still to befall jobs, by id."""

    def __init__(self) -> None:
        self.twice: set[Id] = set()
        self.unsettled: dict[Id, bool] = {}


class _Severed:
    """A backend that cannot be reached."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> NoReturn:
            raise self._error

        return call


class FatefulBackend:
    """The backend of one worker, for whom it carries out the plan; it keeps the contract otherwise.

    Args:
        inner: the backend.
        plan: shared by all workers of a test.
        die: kills the worker's process, and starts another.
        doubled: starts a second worker beside this one.
        over: the last of this worker's doubled jobs has ended.

    Attributes:
        zombies: doubled jobs that still run here, although their session has ended.
    """

    def __init__(
        self,
        inner: Any,
        plan: Plan,
        *,
        die: Callable[[], None],
        doubled: Callable[[], None],
        over: Callable[[], None],
    ) -> None:
        self._inner = inner
        self._plan = plan
        self._die = die
        self._doubled = doubled
        self._over = over
        self.zombies: set[Id] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def sever(self, error: Exception) -> None:
        """Cut the connection: from now on every call fails."""
        self._inner = _Severed(error)

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        """As the backend; a job of the plan's is given to this worker although its session has ended."""
        batch: Batch = await self._inner.lease(session, wants, limit, wait)
        twice = [lease for lease in batch.leases if lease.id in self._plan.twice]
        if twice:
            await self._take_for_dead(session, twice)
        return batch

    async def _take_for_dead(self, session: SessionId, leases: list[Lease]) -> None:
        self.zombies |= {lease.id for lease in leases}
        self._plan.twice -= self.zombies
        cause = "a test had others take this worker for dead while it went on"
        started = [Fence(lease.id, lease.starts) for lease in leases]
        await self._inner.end(session, if_beat=None, started=started, evidence=Evidence(cause=cause))
        self._doubled()

    async def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        """As the backend; who is taken for dead hears nothing until its last doubled job has ended."""
        if self.zombies:
            return Orders()
        orders: Orders = await self._inner.renew(session, vitals)
        return orders

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        """As the backend; at an outcome of the plan's the worker dies, before or after it is recorded."""
        fates = {end.id: self._plan.unsettled.pop(end.id) for end in ends if end.id in self._plan.unsettled}
        if not fates:
            verdicts: list[Verdict] = await self._inner.settle(session, ends)
            self._tell_end(ends)
            return verdicts
        recorded = [end for end in ends if fates.get(end.id, False)]
        if recorded:
            await self._inner.settle(session, recorded)
        self._die()
        # The dead go no further.
        await asyncio.Event().wait()
        raise AssertionError("the dead do not go on")

    def _tell_end(self, ends: Sequence[Settlement]) -> None:
        if self.zombies:
            self.zombies -= {end.id for end in ends}
            if not self.zombies:
                self._over()
