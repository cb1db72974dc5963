"""One connection of the loop: bytes out, answers in, in order. It knows nothing of what they mean.

Nobody but the connection reads its answers, so that whoever stops waiting leaves nothing behind for the next one. An
exchange that is not answered in time ends the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import hiredis

from noria.aio import bounded
from noria.backends.redis.settings import Settings
from noria.backends.redis.talk import Command, Talk, packed
from noria.backends.redis.tls import context_of

CONNECT: Final = 5.0
"""Seconds in which a connection must be made."""


class Broken(Exception):
    """The connection has ended; what was on its way may have been done."""


Told = Callable[[list[Any] | Broken], None]
"""Is told the answers, or why they did not come."""


class Wire(asyncio.Protocol):
    """A connection.

    Args:
        heard: gets answers that nobody asked for, as a subscription has them; without it they are a fault.

    Attributes:
        ended: why it has ended; None while it is open.
        over: set when it has ended.
    """

    def __init__(self, heard: Callable[[Any], None] | None = None) -> None:
        self._reader = hiredis.Reader()
        self._heard = heard
        self._transport: asyncio.Transport | None = None
        self._told: Told | None = None
        self._limit: asyncio.TimerHandle | None = None
        self._answers: list[Any] = []
        self._expected = 0
        self.ended: Broken | None = None
        self.over = asyncio.Event()

    def post(self, commands: Sequence[Command], seconds: float, told: Told) -> None:
        """Send commands, one lot at a time. `told` is called with all of their answers; or with `Broken`, soon, if the
        connection has ended, ends before they came, or the seconds are over."""
        loop = asyncio.get_running_loop()
        if self.ended is not None or self._transport is None:
            loop.call_soon(told, Broken(str(self.ended or "it is not open")))
            return
        words = packed(commands)
        self._told, self._answers, self._expected = told, [], len(commands)
        self._transport.write(words)
        self._limit = loop.call_later(seconds, self._late, seconds)

    async def exchange(self, commands: Sequence[Command], seconds: float) -> list[Any]:
        """Send commands and wait for all of their answers.

        Raises:
            Broken: the connection ended before, or the seconds were over.
        """
        waiter: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.post(commands, seconds, lambda told: _settle(waiter, told))
        try:
            return await asyncio.wait_for(waiter, seconds + 1.0)  # its own limit ends it before
        except asyncio.CancelledError:
            self.close(Broken("the exchange was cancelled"))
            raise

    async def converse(self, talk: Talk, seconds: float) -> Any:
        """Have a conversation to its end."""
        commands = next(talk)
        while True:
            answers = await self.exchange(commands, seconds)
            try:
                commands = talk.send(answers)
            except StopIteration as stop:
                return stop.value

    def send(self, command: Command) -> None:
        """Send a command whose answer is only heard."""
        if self.ended is None and self._transport is not None:
            self._transport.write(packed([command]))

    def close(self, why: Broken | None = None) -> None:
        """End the connection, at once."""
        self._end(why or Broken("it was closed"))
        if self._transport is not None:
            self._transport.abort()

    # ---- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # That of uvloop is none by its class.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
            while (answer := self._reader.gets()) is not False:
                self._take(answer)
        except hiredis.ProtocolError as error:
            self.close(Broken(f"what it says is not Redis: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        # A server that takes no more connections says so to nobody's question, and closes.
        said = self._answers[-1] if 0 < len(self._answers) < self._expected else None
        why = said if isinstance(said, hiredis.ReplyError) else exc or "it closed the connection"
        self._end(Broken(str(why)))

    def _take(self, answer: Any) -> None:
        if self._told is None:
            if self._heard is None:
                no = isinstance(answer, hiredis.ReplyError)
                self.close(Broken(str(answer) if no else "it answered what nobody asked"))
            else:
                self._heard(answer)
            return
        self._answers.append(answer)
        if len(self._answers) == self._expected:
            self._answered()(self._answers)

    def _answered(self) -> Told:
        """The exchange is over; who is to be told."""
        told, self._told = self._told, None
        assert told is not None, "an exchange"
        if self._limit is not None:
            self._limit.cancel()
        return told

    def _late(self, seconds: float) -> None:
        self.close(Broken(f"no answer within {seconds:g} seconds"))

    def _end(self, why: Broken) -> None:
        if self.ended is None:
            self.ended = why
            self.over.set()
        if self._told is not None:
            asyncio.get_running_loop().call_soon(self._answered(), why)


def _settle(waiter: asyncio.Future[list[Any]], told: list[Any] | Broken) -> None:
    if waiter.done():
        return
    if isinstance(told, Broken):
        waiter.set_exception(told)
    else:
        waiter.set_result(told)


async def connect(settings: Settings, heard: Callable[[Any], None] | None = None) -> Wire:
    """Open a connection; nothing was said over it yet.

    Raises:
        ConfigError: the file of authorities cannot be read.
        OSError: it cannot be made.
        Broken: it was not made in time.
    """
    address = settings.address
    context = context_of(address)
    loop = asyncio.get_running_loop()
    try:
        async with bounded(min(CONNECT, settings.timeout)):
            _, wire = await loop.create_connection(
                lambda: Wire(heard), address.host, address.port, ssl=context
            )
    except TimeoutError as error:
        # A server that speaks no TLS waits for the end of a line in our greeting.
        doubt = "; it may not speak TLS: then write redis:// in NORIA_URL" if address.tls else ""
        raise Broken(f"no connection was made in time{doubt}") from error
    return wire
