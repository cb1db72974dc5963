"""Hearing hints: a connection of their own, subscribed to what somebody listens to, and made anew when it breaks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Any, Final

from hiredis import ReplyError

from noria.aio import Crew, Pauses, bounded, happened, sleep
from noria.backends.bus import Bus, Ear
from noria.backends.contract import Channel
from noria.backends.redis import talk
from noria.backends.redis.faults import refused
from noria.backends.redis.link import FIRST_PAUSE, LONGEST_PAUSE
from noria.backends.redis.settings import Settings
from noria.backends.redis.wire import Broken, Wire, connect
from noria.errors import NoriaError
from noria.ids import jitter_source, system_entropy

log = logging.getLogger("noria.redis")

PING_EVERY: Final = 5.0
"""Seconds between two signs of life; a connection without one for twice as long is given up."""


class Ears(Bus):
    """Knows who listens to which channel, and has the server say what comes on it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._prefix = settings.key("hint:")
        self._crew = Crew("redis", _report)
        self._pauses = Pauses(FIRST_PAUSE, LONGEST_PAUSE, jitter_source(system_entropy))
        self._wire: Wire | None = None
        self._is_open = self._listens = False
        self._silent = self._refused = False
        self._confirmed: dict[Channel, asyncio.Event] = {}

    def open(self) -> None:
        """Begin to hear, as soon as somebody listens."""
        self._is_open = True

    async def aclose(self) -> None:
        """Hear nothing more. Repeating it does nothing."""
        self._is_open = False
        if self._wire is not None:
            self._wire.close()
        await self._crew.aclose(self._settings.patience)

    async def confirmed(self, channels: Collection[Channel]) -> None:
        """Wait until these are heard, but not for long: hints may be lost, and whoever waits also polls."""
        try:
            async with bounded(self._settings.patience):
                for channel in channels:
                    if channel in self._confirmed and not self._refused:
                        await self._confirmed[channel].wait()
        except TimeoutError:
            log.warning("%s: hints are not heard yet", self._settings.address.shown)

    def add(self, listener: Ear) -> None:
        super().add(listener)
        new = [channel for channel in listener.channels if channel not in self._confirmed]
        for channel in new:
            self._confirmed[channel] = asyncio.Event()
        self._say("SUBSCRIBE", new)
        if new and self._is_open and not self._listens:
            self._listens = True
            self._crew.start("ears", self._listen())

    def remove(self, listener: Ear) -> None:
        super().remove(listener)
        gone = [
            channel
            for channel in listener.channels
            if channel in self._confirmed and not self.has_listeners(channel)
        ]
        for channel in gone:
            del self._confirmed[channel]
        self._say("UNSUBSCRIBE", gone)

    # ---- the connection

    async def _listen(self) -> None:
        """Keep a connection, for as long as the backend is open."""
        while self._is_open:
            try:
                wire = await connect(self._settings, self._hear)
                await wire.converse(talk.greet(self._settings), self._settings.silence)
            except (OSError, Broken, NoriaError) as error:
                log.info("%s: hints are not heard (%s)", self._settings.address.shown, error)
            else:
                self._pauses.reset()
                await self._stay(wire)
            await sleep(self._pauses.next())

    async def _stay(self, wire: Wire) -> None:
        """Hear what comes over a connection until it ends, or shows no sign of life."""
        self._wire = wire
        self._say("SUBSCRIBE", list(self._confirmed))
        self._silent = False
        try:
            while not await happened(wire.over, PING_EVERY):
                if self._silent:
                    wire.close(Broken("it shows no sign of life"))
                self._silent = True
                wire.send(("PING",))
        finally:
            wire.close()
            self._wire = None
            for event in self._confirmed.values():
                event.clear()

    def _say(self, verb: str, channels: Collection[Channel]) -> None:
        if self._wire is not None and channels:
            self._wire.send((verb, *(self._prefix + channel.encode() for channel in channels)))

    def _hear(self, answer: Any) -> None:
        self._silent = False
        if isinstance(answer, ReplyError):
            self._hear_no(answer)
        if not isinstance(answer, list) or len(answer) != 3:
            return
        kind, name, payload = answer
        channel = name.removeprefix(self._prefix).decode()
        if kind == b"message":
            self.publish([(channel, payload)])
        elif kind == b"subscribe" and channel in self._confirmed:
            self._refused = False
            self._confirmed[channel].set()
            # What was said before anybody heard is lost: whoever listens is told to look.
            self.reset(channel)

    def _hear_no(self, error: ReplyError) -> None:
        """Hints are refused: that is said once, and nobody waits for them."""
        if not self._refused:
            why = refused(error, self._settings.address)
            log.warning("no hints are heard, so that whoever waits looks once a second: %s", why)
        self._refused = True
        for event in self._confirmed.values():
            event.set()


def _report(name: str, error: BaseException) -> None:
    log.error("%s ended by a fault", name, exc_info=error)
