"""Writes in mid-run on their way to the backend: gathered by start, paced, and always before the start's outcome."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from msgspec import UNSET, UnsetType

from noria import aio, ids
from noria.backends.contract import DocWrite, Fence, Mark, Verdict
from noria.errors import BackendError
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.mark import Progress
from noria.model.settlement import Settlement
from noria.model.wording import count
from noria.worker.context import Stopped
from noria.worker.outage import Outage

PACE: Final = 0.5
"""Seconds between two writes of what nobody waits for: of progress the last one wins."""
_RETRY_AT_MOST: Final = 1.0


class Sink(Protocol):
    """The part of a backend that records marks."""

    async def mark(self, session: SessionId, marks: Sequence[Mark]) -> list[Verdict]:
        """As `Queue.mark`."""
        ...


@dataclass(slots=True)
class _Page:
    """What one start wants to have written down next."""

    first: int
    urgent: bool = False
    progress: Progress | None = None
    checkpoint: bytes | None = None
    asks: str | UnsetType | None = UNSET
    items: list[bytes] = field(default_factory=list)
    docs: dict[tuple[str, str], DocWrite] = field(default_factory=dict)
    waiters: list[asyncio.Future[None]] = field(default_factory=list)

    def add(self, mark: Mark) -> None:
        """Put what is newer over what is older; items come behind each other."""
        self.progress = mark.progress or self.progress
        self.checkpoint = self.checkpoint if mark.checkpoint is None else mark.checkpoint
        self.asks = self.asks if mark.asks is UNSET else mark.asks
        self.items += mark.items
        self.docs.update({(doc.kind, doc.name): doc for doc in mark.docs})

    def mark(self, fence: Fence) -> Mark:
        """As it is sent."""
        return Mark(
            fence.id,
            fence.starts,
            self.progress,
            self.checkpoint,
            self.asks,
            tuple(self.items),
            self.first,
            tuple(self.docs.values()),
        )

    def conclude(self, error: Exception | None) -> None:
        """Tell those who wait."""
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None) if error is None else waiter.set_exception(error)
                waiter.exception()  # heard of: nobody need wait for it any more


class Marker:
    """Collects marks, and records them in batches, one flush at a time; outcomes pass when theirs are recorded.

    What somebody waits for is flushed at once, the rest every `PACE` seconds. A flush that fails is repeated until the
    backend answers, which is safe. All of it belongs to the loop's thread.

    Args:
        sink: where marks go.
        chance: for the jitter between repeats.
    """

    def __init__(self, sink: Sink, chance: random.Random) -> None:
        self._sink = sink
        self._settle: Callable[[Settlement], None] = _nobody
        self._stale: Callable[[], None] = _nobody
        self._chance = chance
        self._outage = Outage("progress is recorded")
        self.session = SessionId(0)
        self._pages: dict[Fence, _Page] = {}
        self._flying: dict[Fence, _Page] = {}
        self._sent: dict[Fence, int] = {}
        self._ends: dict[Fence, Settlement] = {}
        self._news, self._hurry, self._idle = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._lazy_at = 0.0

    def connect(self, settle: Callable[[Settlement], None], stale: Callable[[], None]) -> None:
        """Who takes outcomes, and who hears when a mark was refused, since its session may be over."""
        self._settle, self._stale = settle, stale

    def reset(self, session: SessionId) -> None:
        """A new session begins: marks of the last one would be refused, so they are dropped."""
        self.session = session
        self._drop("its worker's session was ended by others")

    def close(self) -> None:
        """Nothing is recorded any more; whoever waits is told so."""
        self._drop("its worker has ended")

    def jot(self, mark: Mark) -> None:
        """Have a mark recorded soon."""
        fence = Fence(mark.id, mark.starts)
        page = self._pages.get(fence)
        if page is None:
            page = self._pages[fence] = _Page(self._sent.get(fence, 0))
        page.add(mark)
        if mark.items:
            self._sent[fence] = page.first + len(page.items)
        self._idle.clear()
        self._news.set()

    def add(self, mark: Mark) -> asyncio.Future[None]:
        """Have a mark recorded now; the future tells when it is, or raises `Stopped` if it was refused."""
        self.jot(mark)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        page = self._pages[Fence(mark.id, mark.starts)]
        page.urgent = True
        page.waiters.append(done)
        self._hurry.set()
        return done

    def settle(self, end: Settlement) -> None:
        """Pass on an outcome, behind the marks of its start."""
        if not self._pages and not self._flying and not self._sent:
            return self._settle(end)  # nearly always
        fence = Fence(end.id, end.starts)
        page = self._pages.get(fence)
        if page is None and fence not in self._flying:
            self._sent.pop(fence, None)
            return self._settle(end)
        self._ends[fence] = end
        if page is not None:
            page.urgent = True
            self._hurry.set()

    async def flushed(self, seconds: float) -> bool:
        """Wait until everything is recorded, and each outcome passed on; False when the seconds were over first."""
        return await aio.happened(self._idle, seconds)

    async def run(self) -> None:
        """Flush for ever; a task of the worker's crew."""
        loop = asyncio.get_running_loop()
        while True:
            await self._news.wait()
            await aio.happened(self._hurry, max(0.0, self._lazy_at - loop.time()))
            self._hurry.clear()
            await self._flush(self._take(loop.time()))
            if not self._pages:
                self._news.clear()
                self._idle.set()

    def _take(self, now: float) -> dict[Fence, _Page]:
        """What is to be flushed now."""
        lazy = now >= self._lazy_at
        chosen = [fence for fence, page in self._pages.items() if lazy or page.urgent][:MAX_BATCH]
        if len(chosen) == MAX_BATCH:
            self._hurry.set()
        elif lazy:
            self._lazy_at = now + PACE
        return {fence: self._pages.pop(fence) for fence in chosen}

    async def _flush(self, pages: dict[Fence, _Page]) -> None:
        if not pages:
            return
        session, self._flying = self.session, pages
        verdicts = await self._record(session, [page.mark(fence) for fence, page in pages.items()])
        self._flying = {}
        if session != self.session:
            return
        for (fence, page), verdict in zip(pages.items(), verdicts, strict=True):
            page.conclude(None if verdict is Verdict.OK else _refused(fence, "it is no longer this worker's"))
            if fence in self._ends and fence not in self._pages:
                self._sent.pop(fence, None)
                self._settle(self._ends.pop(fence))
        if Verdict.STALE in verdicts:
            self._stale()

    async def _record(self, session: SessionId, marks: list[Mark]) -> list[Verdict]:
        pauses = aio.Pauses(0.05, _RETRY_AT_MOST, self._chance)
        while session == self.session:
            try:
                verdicts = await self._sink.mark(session, marks)
                self._outage.over()
                return verdicts
            except BackendError as error:
                self._outage.goes_on(f"{count(len(marks), 'mark')} cannot be recorded yet", error)
            await aio.sleep(pauses.next())
        return []

    def _drop(self, why: str) -> None:
        for fence, page in [*self._pages.items(), *self._flying.items()]:
            page.conclude(_refused(fence, why))
        for each in (self._pages, self._sent, self._ends):
            each.clear()
        self._flying = {}
        self._idle.set()


def _refused(fence: Fence, why: str) -> Stopped:
    return Stopped(f"job {ids.to_text(fence.id)} should end: {why}")


def _nobody(*_: object) -> None:
    raise AssertionError("connected before it is used")
