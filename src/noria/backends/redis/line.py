"""A blocking connection, for whoever has no loop: the keeper's thread, and a glance from the command line."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import hiredis

from noria.backends.redis import talk
from noria.backends.redis.faults import refused
from noria.backends.redis.settings import Settings
from noria.backends.redis.talk import Command, Talk, packed
from noria.backends.redis.tls import context_of, no_way_in
from noria.clock import Clock

_CHUNK: Final = 65_536


class Line:
    """A blocking connection. After an error it is closed, and never used again."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        address = settings.address
        self._clock = clock
        self._patience = settings.patience
        self._until = clock.monotonic() + settings.patience
        self._reader = hiredis.Reader()
        plain = socket.create_connection((address.host, address.port), timeout=settings.patience)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = context_of(address)
        self._socket = context.wrap_socket(plain, server_hostname=address.host) if context else plain

    def converse(self, talk: Talk) -> Any:
        """Have a conversation to its end, in time: the bound is that of all of it, however slowly the bytes come."""
        self._until = self._clock.monotonic() + self._patience
        commands = next(talk)
        while True:
            answers = self.exchange(commands)
            try:
                commands = talk.send(answers)
            except StopIteration as stop:
                return stop.value

    def close(self) -> None:
        """End it."""
        self._socket.close()

    def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands and wait for all of their answers."""
        self._wait_no_longer()
        with suppress(ConnectionError):  # a server that has closed may have said why
            self._socket.sendall(packed(commands))
        answers: list[Any] = []
        while len(answers) < len(commands):
            answer = self._reader.gets()
            if answer is not False:
                answers.append(answer)
                continue
            self._wait_no_longer()
            data = self._received()
            if not data:
                said = answers[-1] if answers else None
                no = isinstance(said, hiredis.ReplyError)
                raise ConnectionResetError(str(said) if no else "it closed the connection")
            self._reader.feed(data)
        return answers

    def _received(self) -> bytes:
        try:
            return self._socket.recv(_CHUNK)
        except ConnectionError:
            return b""

    def _wait_no_longer(self) -> None:
        left = self._until - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answer within {self._patience:g} seconds")
        self._socket.settimeout(left)


def connected(settings: Settings, clock: Clock) -> Line:
    """A connection on which the server serves.

    Raises:
        ConfigError, Unavailable: there can be none, or none now.
    """
    line = None
    try:
        line = Line(settings, clock)
        line.converse(talk.greet(settings))
    except BaseException as error:
        if line is not None:
            line.close()
        if isinstance(error, OSError | hiredis.ProtocolError):
            raise no_way_in(settings.address, error) from error
        raise
    return line


def is_used(settings: Settings, clock: Clock) -> bool:
    """Whether there is anything in the namespace; nothing is changed.

    Raises:
        ConfigError, Unavailable: the server cannot be asked.
    """
    line = connected(settings, clock)
    try:
        (found,) = line.exchange([("EXISTS", settings.key("epoch"))])
    except (OSError, hiredis.ProtocolError) as error:
        raise no_way_in(settings.address, error) from error
    finally:
        line.close()
    if isinstance(found, hiredis.ReplyError):
        raise refused(found, settings.address)
    return bool(found)
