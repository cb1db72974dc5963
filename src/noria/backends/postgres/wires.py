"""The ways by which hints reach this process and leave it: its own bus, and NOTIFY.

One connection listens. It is read on the loop, since nothing else hears so soon; it is made and changed in a thread,
since that waits. When it breaks it is made anew, and everyone is told that something may have been missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import psycopg

from noria import aio
from noria.backends.bus import Bus, Note
from noria.backends.contract import Channel
from noria.backends.postgres.channels import unpack, wire_channel
from noria.backends.postgres.connection import open_wire, pooled
from noria.backends.postgres.faults import Broken, Refused
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.statements import statement
from noria.backends.postgres.wire import Step, Wire
from noria.backends.sql import engine
from noria.clock import Clock
from noria.errors import ConfigError
from noria.ids import jitter_source, system_entropy

log = logging.getLogger("noria.backends")

PULSE: Final = 10.0
"""Seconds after which a connection on which nothing came is asked whether the server is still there."""

QUICK: Final = 5.0
"""Seconds after which that question, as each that this connection asks, is given up: none is any work for a server."""
_SOON: Final = 1.0
"""Seconds after which a new connection again says that it hears, if the server still had the broken one."""

_PATIENCE: Final = 5.0
"""Seconds for which whoever wants to hear waits until that is so; then it polls for as long as nothing is heard."""


class Wires:
    """The hints of one backend object.

    Args:
        token: random; names the reply channel, and tells our own hints from those of others.
    """

    def __init__(self, settings: Settings, clock: Clock, token: str) -> None:
        self.bus = Bus()
        self.reply_channel: Channel = f"reply:{token}"
        self._settings = settings
        self._quick = replace(settings, timeout=min(QUICK, settings.timeout))
        self._clock = clock
        self._token = token
        self._wanted: dict[str, None] = {}
        self._heard: frozenset[str] = frozenset()
        self._vouched: Wire | None = None
        self._wire: Wire | None = None
        self._watched: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._crew: aio.Crew | None = None
        self._changed = asyncio.Event()
        self._listening = asyncio.Event()
        self._pauses = aio.Pauses(0.1, 2.0, jitter_source(system_entropy))

    # ---- life

    async def open(self) -> None:
        """Begin to hear and to be heard."""
        self._loop = asyncio.get_running_loop()
        self._crew = aio.Crew("noria-postgres", self._failed)
        self._want(wire_channel(self._settings.namespace, self.reply_channel))
        self._crew.start("listen", self._listen())
        await self._until_heard()

    async def hear_of_work(self) -> None:
        """Hear of queues and sessions too; only processes that lease ask for so many hints."""
        await self.hear(["queue:"])

    async def hear(self, channels: Collection[Channel]) -> None:
        """Hear what other processes send on these channels."""
        wanted = {wire_channel(self._settings.namespace, channel) for channel in channels}
        if wanted <= self._wanted.keys():
            return
        self._want(*wanted)
        await self._until_heard()

    async def aclose(self) -> None:
        """Hear and send nothing more. Repeating it does nothing."""
        crew, self._crew = self._crew, None
        if crew is not None:
            await crew.aclose(self._settings.timeout)
        self._hang_up()

    # ---- sending

    def send(self, notes: list[Note]) -> None:
        """Hints go to other processes with the commit that has them: see `Link.write`."""

    async def notify(self, notes: list[Note]) -> None:
        """Hints that are no commit's go with one too: see `PostgresStore.notify`."""

    def relay(self, engine: engine.Engine) -> Relay:
        """A way to tell this process of hints from a thread that commits by itself."""
        return Relay(self.bus, self._loop)

    # ---- hearing

    def _want(self, *channels: str) -> None:
        self._wanted.update(dict.fromkeys(channels))
        self._listening.clear()
        self._changed.set()

    async def _until_heard(self) -> None:
        await aio.happened(self._listening, min(_PATIENCE, self._settings.timeout))

    async def _listen(self) -> None:
        told = False
        while True:
            try:
                await self._tend()
                self._pauses.reset()
                told = False
            except (Broken, Refused, ConfigError, TimeoutError) as error:
                self._hang_up()
                self._listening.set()
                # Loud once for each outage, which may be long.
                log.log(
                    logging.DEBUG if told else logging.WARNING,
                    "%s: no hints are heard, and whoever waits polls: %s",
                    self._settings.store,
                    error,
                )
                told = True
                await aio.sleep(self._pauses.next())

    async def _tend(self) -> None:
        """Make the connection if there is none, hear what is wanted, and wait until that changes."""
        self._changed.clear()
        wanted = tuple(self._wanted)
        fresh = self._wire is None
        self._deafen()
        async with aio.bounded(self._settings.timeout):
            # What a thread brings that comes too late is nobody's.
            called = await asyncio.to_thread(self._call, self._wire, self._heard, wanted)
        self._wire, self._heard = called
        assert self._loop is not None, "opened before"
        if self._wire is not None:
            self._watched = self._wire.fileno()
            self._loop.add_reader(self._watched, self._read)
            self._read()
        if fresh:
            self.bus.reset()
        if tuple(self._wanted) == wanted:
            self._listening.set()
        waits = self._wire is not None and self._vouched is not self._wire
        await aio.happened(self._changed, min(PULSE, _SOON) if waits else PULSE)

    def _call(
        self, wire: Wire | None, heard: frozenset[str], wanted: Sequence[str]
    ) -> tuple[Wire | None, frozenset[str]]:
        """Have a connection hear what is wanted, beside what it hears; in a thread."""
        if wire is None:
            wire, heard = open_wire(self._quick, self._clock), frozenset()
        if pooled(wire):
            # Each transaction may come to another process of the server: a LISTEN would be anybody's. We poll.
            wire.close()
            return None, frozenset()
        text = statement("listen", self._settings.namespace).decode()
        steps = [
            Step(name, text.replace('"channel"', f'"{name}"').encode())
            for name in wanted
            if name not in heard
        ]
        wire.exchange(steps or [Step("pulse", statement("server_time", self._settings.namespace))])
        self._vouch(wire)
        return wire, frozenset(wanted)

    def _vouch(self, wire: Wire) -> None:
        """Say that outcomes are heard, now that they are: without that no value is trusted to a hint alone."""
        if self._vouched is not wire:
            text = statement("hear_outcomes", self._settings.namespace)
            (found,) = wire.exchange([Step("hear_outcomes", text, [self.reply_channel.encode()])])
            self._vouched = wire if found.get_value(0, 0) == b"t" else None

    def _read(self) -> None:
        """Take what has come; on the loop."""
        wire = self._wire
        if wire is None:
            return
        notes: list[Note] = []
        try:
            wire.pg.consume_input()
            while (notice := wire.pg.notifies()) is not None:
                found = unpack(notice.extra.decode("utf-8", "replace"))
                if found is not None and found[0] != self._token:
                    notes.append(found[1])
        except psycopg.Error:
            self._hang_up()
            self._changed.set()
        self.bus.publish(notes)

    def _deafen(self) -> None:
        # libpq closes a socket that broke by itself. Whoever gets its number next would not be heard by a loop that
        # still watches it for us.
        watched, self._watched = self._watched, None
        if watched is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(watched)

    def _hang_up(self) -> None:
        self._deafen()
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _failed(self, name: str, error: BaseException) -> None:
        log.error("%s: %s has failed, and whoever waits polls", self._settings.store, name, exc_info=error)


class Relay:
    """Tells this process of hints from one thread beside the loop; others have them with the commit."""

    def __init__(self, bus: Bus, loop: asyncio.AbstractEventLoop | None) -> None:
        self._bus = bus
        self._loop = loop

    def tell(self, notes: list[Note]) -> None:
        """Have hints heard on the loop."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it is closed: nobody is left to hear of it
                self._loop.call_soon_threadsafe(self._bus.publish, notes)

    def close(self) -> None:
        """There is nothing of its own to close."""
