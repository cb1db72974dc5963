"""Those who follow jobs in a simulation: fronts as processes, and readers of their event streams.

The streams are the front's own, from the request to the last byte; only the server and its sockets are left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from noria import aio
from noria.app.application import Noria
from noria.errors import BackendError
from noria.front.front import Front
from noria.front.settings import FrontSettings
from noria.ids import Id
from noria.testing.events import Fact, Fault, Followed, Left, Unfollowed
from noria.testing.machine import VirtualClock
from noria.testing.reader import Call
from noria.testing.scenario import Options
from noria.testing.virtual import Process, VirtualLoop

_TOLD_WITHIN: Final = 30.0
"""Virtual seconds after the end of all jobs within which every reader must know the end of the one that it follows."""
_FRONTS: Final = 2
_LOOKS_EVERY: Final = 1.0
_LEAVES: Final = 0.15
"""The share of streams that their reader leaves before the end, to come again."""


class House:
    """A front, and the process that it is."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.front: Front | None = None
        self.closes = asyncio.Event()
        self.calls: dict[Call, None] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def fall(self) -> None:
        """Its process is dead, and its connections with it."""
        self.process.kill()
        for call in list(self.calls):
            call.end("cut")


class Audience:
    """Readers, who follow one job after the other, and the fronts that they ask.

    Args:
        connect: makes a backend for one front.
        asked: ids of all jobs that anybody has asked for so far; shared.
        chance: decides what they do; nobody else draws from it.
        fallen: says whether the simulation has cancelled something in the process of this name.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        options: Options,
        *,
        clock: VirtualClock,
        chance: random.Random,
        connect: Callable[[], Awaitable[Any]],
        asked: list[Id],
        note: Callable[[Fact], None],
        fallen: Callable[[str], bool],
    ) -> None:
        self._loop = loop
        self._options = options
        self._clock = clock
        self._chance = chance
        self._connect = connect
        self._asked = asked
        self._note = note
        self._fallen = fallen
        self._houses: list[House] = []
        self._names = self._streams = 0
        self._others: list[asyncio.Task[None]] = []
        self._readers: list[asyncio.Task[None]] = []
        self._leaving = False

    def open(self) -> None:
        """Let everybody in; nobody comes if there are no readers."""
        if not self._options.readers:
            return
        for _ in range(_FRONTS):
            self._build()
        self._readers = [self._go(self._follow_jobs(f"reader{n}")) for n in range(self._options.readers)]
        self._others = [self._go(self._supervise()), self._go(self._disturb())]

    async def close(self) -> None:
        """All jobs have ended: wait until the readers know it, then close the fronts."""
        self._leaving = True
        for house in self._houses:
            house.process.resume()
        until = self._loop.time() + _TOLD_WITHIN
        while self._loop.time() < until and not (all(map(_is_done, self._readers)) and not self._open()):
            await aio.sleep(0.1)
        for task in self._readers:
            if task.done():
                task.result()
        if self._houses:
            self._note(Left(what="event streams", count=self._open()))
        for house in self._houses:
            house.closes.set()
        for task in self._others:
            task.cancel()

    def _open(self) -> int:
        """How many streams the fronts hold open."""
        return sum(house.front.desk.streams.count for house in self._houses if house.front is not None)

    def _go(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return aio.launch(self._loop, work, contextvars.Context())

    # -- fronts --------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._names += 1
        house = House(self._loop.process(f"front{self._names}"))
        self._houses.append(house)
        house.tasks.append(house.process.start(self._serve(house)))

    async def _serve(self, house: House) -> None:
        app = Noria(backend=await self._connect(), clock=self._clock, entropy=self._chance.randbytes)
        async with Front(app, FrontSettings(open=True)) as front:
            house.front = front
            await house.closes.wait()

    async def _supervise(self) -> None:
        """Replace the fallen, for ever."""
        while True:
            await aio.sleep(_LOOKS_EVERY)
            for house in self._houses:
                if self._fallen(house.process.name):
                    house.fall()
            dead = [house for house in self._houses if house.process.dead]
            self._houses = [house for house in self._houses if not house.process.dead]
            for _ in dead:
                self._build()

    async def _disturb(self) -> None:
        """Kill and pause fronts, if the options know of such things."""
        plan = ["kill"] * bool(self._options.kills) + ["pause"] * bool(self._options.pauses)
        for what in plan:
            await aio.sleep(self._chance.random() * self._options.span)
            if self._leaving or not self._houses:
                return
            house = self._chance.choice(self._houses)
            name = f"{what} of {house.process.name}"
            self._note(Fault(phase="begin", name=name, what=what, target=house.process.name))
            if what == "kill":
                house.fall()
                continue
            house.process.pause()
            await aio.sleep(self._chance.uniform(0.1, self._options.ttl))
            house.process.resume()
            self._note(Fault(phase="end", name=name, what=what, target=house.process.name))

    # -- readers -------------------------------------------------------------------------------------------

    async def _follow_jobs(self, name: str) -> None:
        while not self._leaving:
            await aio.sleep(self._chance.random() * self._options.span / 4)
            if self._asked and not self._leaving:
                await self._follow(name, self._chance.choice(self._asked))

    async def _follow(self, name: str, id: Id) -> None:
        """Follow a job to its end, through as many streams as that takes."""
        after = 0
        while True:
            house = self._chance.choice(self._houses) if self._houses else None
            if house is not None and house.front is not None and not house.process.dead:
                call = await self._read(name, house, id, after)
                after = call.version
                if call.told or call.how in ("known", "missing"):
                    return
            await aio.sleep(0.1 + self._chance.random())

    async def _read(self, name: str, house: House, id: Id, after: int) -> Call:
        self._streams += 1
        stream = self._streams
        call = Call(id, stream, after, self._note, self._chance)
        self._note(Followed(id=id.hex(), stream=stream, reader=name, after=after))
        house.calls[call] = None
        house.tasks.append(house.process.start(self._answer(house, call)))
        seconds = None
        if not self._leaving and self._chance.random() < _LEAVES:
            seconds = self._chance.random() * self._options.span / 2
        if not await aio.happened(call.over, seconds):
            call.end("left")
        del house.calls[call]
        self._note(Unfollowed(id=id.hex(), stream=stream, how=call.how or "cut"))
        return call

    async def _answer(self, house: House, call: Call) -> None:
        """In the process of the front: as a server, which cuts the connection when the application has not ended it."""
        assert house.front is not None
        with contextlib.suppress(BackendError, asyncio.CancelledError):
            await house.front(call.scope, call.receive, call.send)
        call.end("cut")


def _is_done(task: asyncio.Task[None]) -> bool:
    return task.done()
