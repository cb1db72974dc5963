"""The ways by which hints reach this process and leave it: its own bus, and sockets to other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from noria.backends.contract import Channel
from noria.backends.sqlite.bus import Bus
from noria.backends.sqlite.outlines import Note
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

    def open(self) -> None:
        """Begin to hear and to be heard."""
        self._loop = asyncio.get_running_loop()
        if self._settings.sockets:
            remove_stale(self._settings.runtime)
            self._post = Post(self._settings.runtime, self._token)
            self._hear("reply")

    def hear_of_work(self) -> None:
        """Hear of queues and sessions too; only processes that lease ask for so many hints."""
        if self._settings.sockets and "work" not in self._mailboxes:
            self._hear("work")

    def send(self, notes: list[Note]) -> None:
        """Send hints to other processes; from whatever thread commits."""
        if self._post is not None and notes:
            self._post.send(notes)

    def close(self) -> None:
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
