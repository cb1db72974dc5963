"""Hints within a process: from whoever commits or receives them to whoever listens.

All methods belong to the loop's thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable
from typing import Final, Protocol

from noria.aio import Signal
from noria.backends.contract import Channel, Hint

BACKLOG: Final = 4_096
"""Hints that a slow listener may leave unread before some are dropped, which it is then told."""

Note = tuple[Channel, bytes]
"""A hint to send: its channel and payload."""

_RESET: Final = Hint("", reset=True)


class Ear(Protocol):
    """One who hears hints."""

    @property
    def channels(self) -> frozenset[Channel]:
        """Of which."""
        ...

    def put(self, hint: Hint) -> None:
        """Hear one."""
        ...


class Bus:
    """Knows who listens to which channel."""

    def __init__(self) -> None:
        self._listeners: dict[Channel, dict[Ear, None]] = {}

    def publish(self, notes: Iterable[Note]) -> None:
        """Give hints to those who listen."""
        for channel, payload in notes:
            for listener in self._listeners.get(channel, ()):
                listener.put(Hint(channel, payload))

    def reset(self, channel: Channel | None = None) -> None:
        """Tell those who listen to a channel, or everyone, that hints may have been missed."""
        told = self._listeners.values() if channel is None else [self._listeners.get(channel, {})]
        for listener in {each: None for listeners in told for each in listeners}:
            listener.put(_RESET)

    def has_listeners(self, channel: Channel) -> bool:
        """Whether anybody listens to a channel."""
        return channel in self._listeners

    def add(self, listener: Ear) -> None:
        """Let a listener hear what comes from now on."""
        for channel in listener.channels:
            self._listeners.setdefault(channel, {})[listener] = None

    def remove(self, listener: Ear) -> None:
        """Let it hear nothing more."""
        for channel in listener.channels:
            listeners = self._listeners.get(channel, {})
            listeners.pop(listener, None)
            if not listeners:
                self._listeners.pop(channel, None)


class Listener:
    """One who listens; used as `with listener: …`."""

    def __init__(self, bus: Bus, channels: Collection[Channel]) -> None:
        self.channels = frozenset(channels)
        self._bus = bus
        self._hints: deque[Hint] = deque()
        self._some = Signal()

    def __enter__(self) -> Listener:
        self._bus.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._bus.remove(self)

    def put(self, hint: Hint) -> None:
        """Keep a hint until it is read."""
        if len(self._hints) >= BACKLOG:
            self._hints.clear()
            hint = _RESET
        self._hints.append(hint)
        self._some.set()

    async def hints(self, poll: float) -> AsyncIterator[Hint]:
        """What is heard, one by one, for ever; first that something may have been missed before."""
        yield _RESET
        while True:
            await self._some.happened(poll)
            while self._hints:
                yield self._hints.popleft()
            self._some.clear()
