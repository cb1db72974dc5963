"""The loop's way to the server: one connection, made anew when it breaks, and never used again once it is in doubt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from noria.aio import Pauses, bounded, sleep
from noria.backends.redis import talk
from noria.backends.redis.call import Request
from noria.backends.redis.faults import breaks_connection, lost_everything, restarted, unreachable
from noria.backends.redis.settings import Settings
from noria.backends.redis.talk import Command, Epoch, Talk
from noria.backends.redis.tls import no_way_in
from noria.backends.redis.wire import Broken, Told, Wire, connect
from noria.clock import Clock
from noria.errors import ConfigError, NoriaError, Unavailable
from noria.ids import jitter_source, system_entropy

log = logging.getLogger("noria.redis")

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 2.0
"""Seconds between two tries to connect."""


class Link:
    """Asks requests over a connection. One caller at a time."""

    def __init__(self, settings: Settings, clock: Clock, epoch: Epoch) -> None:
        self._settings = settings
        self._clock = clock
        self._epoch = epoch
        self._wire: Wire | None = None
        self._pauses = Pauses(FIRST_PAUSE, LONGEST_PAUSE, jitter_source(system_entropy))
        self._again_at = float("-inf")

    async def open(self) -> None:
        """Connect, trying once.

        Raises:
            ConfigError, Unavailable: it cannot be; the message says the remedy.
        """
        await self._connect()

    @property
    def is_ready(self) -> bool:
        """Whether there is a connection."""
        return self._wire is not None and self._wire.ended is None

    async def ready(self) -> None:
        """Connect anew, and try for as long as patience lasts.

        Raises:
            Unavailable: there is none; nothing was asked.
        """
        error: NoriaError = unreachable(self._settings.address, "no time was left")
        try:
            async with bounded(self._settings.patience):
                while True:
                    try:
                        await self._pause()
                        return await self._connect()
                    except ConfigError as refusal:
                        raise Unavailable(str(refusal)) from refusal
                    except Unavailable as failed:
                        error = failed
        except TimeoutError:
            raise error from None

    def ask(self, requests: Sequence[Request], told: Told) -> None:
        """Ask all of these in one exchange. `told` is called with the answers, of which each may be an error; or with
        `Broken` if none came: they may have been done all the same."""
        asking = talk.ask(requests, self._settings, self._epoch, self._clock)
        self._say(asking, next(asking), told)

    def _say(self, asking: Talk, commands: list[Command], told: Told) -> None:
        def heard(answers: list[Any] | Broken) -> None:
            if isinstance(answers, Broken):
                told(answers)
                return
            try:
                more = asking.send(answers)
            except StopIteration as stop:
                if any(map(breaks_connection, stop.value)):
                    self.close()
                told(stop.value)
            else:
                self._say(asking, more, told)

        if self._wire is None:
            asyncio.get_running_loop().call_soon(told, Broken("it is not connected"))
        else:
            self._wire.post(commands, self._settings.silence, heard)

    def close(self) -> None:
        """End the connection. Repeating it does nothing."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    async def _connect(self) -> None:
        self.close()
        settings = self._settings
        try:
            self._wire = await connect(settings)
            await self._wire.converse(talk.greet(settings), settings.silence)
            restarts = self._epoch.restarts
            if await self._wire.converse(self._epoch.settle(settings), settings.silence):
                log.critical("%s", lost_everything(settings.address))
            elif self._epoch.restarts > restarts:
                log.warning("%s", restarted(settings.address))
        except (OSError, Broken) as error:
            self._put_off()
            raise no_way_in(settings.address, error) from error
        except (NoriaError, asyncio.CancelledError):
            self._put_off()
            raise
        self._pauses.reset()

    def _put_off(self) -> None:
        self.close()
        self._again_at = asyncio.get_running_loop().time() + self._pauses.next()

    async def _pause(self) -> None:
        """Never try in a hot loop, however many ask."""
        seconds = self._again_at - asyncio.get_running_loop().time()
        if seconds > 0:
            await sleep(seconds)
