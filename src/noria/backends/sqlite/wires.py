"""The ways by which hints reach this process and leave it: its own bus, and sockets to other processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection

from noria.backends.bus import Bus, Note
from noria.backends.contract import Channel
from noria.backends.sql.engine import Engine
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.sockets import Kind, Mailbox, Post, remove_stale


class Wires:
    """The hints of one backend object.

    Args:
        bus: shared by the objects of one simulated machine, else one's own.
        token: random; names the reply channel and the sockets.
    """

    def __init__(self, settings: Settings, bus: Bus, token: str) -> None:
        self.bus = bus
        self.reply_channel: Channel = f"reply:{token}"
        self._settings = settings
        self._token = token
        self._post: Post | None = None
        self._mailboxes: dict[Kind, Mailbox] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> None:
        """Begin to hear and to be heard."""
        self._loop = asyncio.get_running_loop()
        if self._settings.sockets:
            remove_stale(self._settings.runtime)
            self._post = Post(self._settings.runtime, self._token)
            self._hear("reply")

    async def hear_of_work(self) -> None:
        """Hear of queues and sessions too; only processes that lease ask for so many hints."""
        if self._settings.sockets and "work" not in self._mailboxes:
            self._hear("work")

    async def hear(self, channels: Collection[Channel]) -> None:
        """Hear of these channels: the mailboxes take whatever comes."""

    async def notify(self, notes: list[Note]) -> None:
        """Send hints to other processes, from the loop."""
        self.send(notes)

    def send(self, notes: list[Note]) -> None:
        """Send hints to other processes; from whatever thread commits."""
        if self._post is not None and notes:
            self._post.send(notes)

    def relay(self, engine: Engine) -> Relay:
        """A way to send hints from a thread that commits by itself."""
        return Relay(self.bus, self._loop, self._settings, self._token)

    async def aclose(self) -> None:
        """Hear and send nothing more. Repeating it does nothing."""
        for mailbox in self._mailboxes.values():
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(mailbox.fileno())
            mailbox.close()
        self._mailboxes.clear()
        if self._post is not None:
            self._post.close()
            self._post = None

    def _hear(self, kind: Kind) -> None:
        assert self._loop is not None, "opened before"
        receive: Callable[[list[Note]], None] = self.bus.publish
        mailbox = Mailbox(self._settings.runtime, self._token, kind, receive)
        self._mailboxes[kind] = mailbox
        self._loop.add_reader(mailbox.fileno(), mailbox.read)


class Relay:
    """Sends hints to all, this process included, from one thread beside the loop."""

    def __init__(
        self, bus: Bus, loop: asyncio.AbstractEventLoop | None, settings: Settings, token: str
    ) -> None:
        self._bus = bus
        self._loop = loop
        self._post = Post(settings.runtime, token) if settings.sockets and loop is not None else None

    def tell(self, notes: list[Note]) -> None:
        """Send hints; one that cannot be sent is lost."""
        if self._post is not None:
            with contextlib.suppress(OSError):  # whoever waits for a hint also polls
                self._post.send(notes)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it is closed: nobody is left to hear of it
                self._loop.call_soon_threadsafe(self._bus.publish, notes)

    def close(self) -> None:
        """Send nothing more. Repeating it does nothing."""
        if self._post is not None:
            self._post.close()
            self._post = None
