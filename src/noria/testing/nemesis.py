"""What befalls the machine of a simulation: deaths, stalls, drains, outages of the store, and clocks that jump."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import msgspec

from noria import aio
from noria.testing.events import Fact, Fault
from noria.testing.machine import VirtualClock
from noria.testing.scenario import Options
from noria.testing.virtual import Process
from noria.testing.wire import Weather
from noria.testing.workforce import Workforce

_FURTHEST: Final = 50.0
"""Seconds by which the wall clock jumps at most: less than a store remembers erased jobs for, by which it knows a
repeated push; over a longer jump it would forget them at once."""


class Nemesis:
    """Does what the options say, at times that the dice give.

    Args:
        producers: processes that may be killed as well.
    """

    def __init__(
        self,
        options: Options,
        dice: random.Random,
        *,
        clock: VirtualClock,
        weather: Weather,
        workers: Workforce,
        producers: list[Process],
        note: Callable[[Fact], None],
    ) -> None:
        self._options = options
        self._dice = dice
        self._clock = clock
        self._weather = weather
        self._workers = workers
        self._producers = producers
        self._note = note

    async def run(self) -> None:
        """One blow after the other."""
        options = self._options
        plan = ["kill"] * options.kills + ["pause"] * options.pauses + ["drain"] * options.drains
        plan += ["outage"] * options.outages + ["clock"] * options.jumps
        self._dice.shuffle(plan)
        for number, what in enumerate(plan):
            await aio.sleep(self._dice.random() * options.span / len(plan))
            await self._strike(f"{what}{number}", what)

    async def _strike(self, name: str, what: str) -> None:
        if what == "clock":
            self._jump(name)
        elif what == "outage":
            await self._cut_off(name)
        elif what == "kill" and self._producers and self._dice.random() < 0.2:
            self._kill_producer(name)
        elif self._workers.alive:
            await self._befall(name, what, self._dice.choice(sorted(self._workers.alive)))

    def _jump(self, name: str) -> None:
        """Told before and after, so that readers know both times."""
        told = Fault(phase="begin", name=name, what="clock")
        self._note(told)
        self._clock.jump(self._dice.uniform(-_FURTHEST, _FURTHEST))
        self._note(msgspec.structs.replace(told, phase="end"))

    async def _cut_off(self, name: str) -> None:
        told = Fault(phase="begin", name=name, what="outage")
        self._note(told)
        self._weather.away = True
        await aio.sleep(self._dice.uniform(0.1, 3 * self._options.ttl))
        self._weather.away = False
        self._note(msgspec.structs.replace(told, phase="end"))

    def _kill_producer(self, name: str) -> None:
        process = self._dice.choice(self._producers)
        self._note(Fault(phase="begin", name=name, what="kill", target=process.name))
        process.kill()

    async def _befall(self, name: str, what: str, target: str) -> None:
        process, worker = self._workers.alive[target]
        told = Fault(phase="begin", name=name, what=what, target=target)
        self._note(told)
        if what == "kill":
            process.kill()
            self._workers.alive.pop(target)
        elif what == "pause":
            process.pause()
            await aio.sleep(self._dice.uniform(0.1, 3 * self._options.ttl))
            process.resume()
        elif worker is not None:
            worker.drain()
        await aio.sleep(self._dice.random() * self._options.ttl)
        self._note(msgspec.structs.replace(told, phase="end"))
        if what != "pause":
            self._workers.spawn()
