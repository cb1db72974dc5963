"""The ways by which hints reach a process and leave it: what each backend has to give."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from noria.backends.bus import Bus, Note
from noria.backends.contract import Channel
from noria.backends.sql.engine import Engine


class Relay(Protocol):
    """Sends hints to all, this process included, from one thread beside the loop."""

    def tell(self, notes: list[Note]) -> None:
        """Send hints; one that cannot be sent is lost."""

    def close(self) -> None:
        """Send nothing more. Repeating it does nothing."""


class Wires(Protocol):
    """The hints of one backend object."""

    bus: Bus
    reply_channel: Channel

    async def open(self) -> None:
        """Begin to hear and to be heard."""

    async def hear_of_work(self) -> None:
        """Hear of queues and sessions too; only processes that lease ask for so many hints."""

    async def hear(self, channels: Collection[Channel]) -> None:
        """Hear what other processes send on these channels."""

    def send(self, notes: list[Note]) -> None:
        """Send hints to other processes; from whatever thread commits."""

    async def notify(self, notes: list[Note]) -> None:
        """Send hints to other processes, from the loop."""

    def relay(self, engine: Engine) -> Relay:
        """A way to send hints from a thread that commits by itself, with an engine of its own."""
        ...

    async def aclose(self) -> None:
        """Hear and send nothing more. Repeating it does nothing."""
