"""A front at a URL, over HTTP; what a command needs of a client, and no more."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlencode, urlsplit

import msgspec

from noria import aio
from noria.app.config import api_key
from noria.cli.exits import NoAnswer
from noria.cli.flags import Flags
from noria.cli.output import Output
from noria.cli.peer import HungUp, Query, Reply, failure_of
from noria.errors import ConfigError, Unavailable, Unknown

_LARGEST: Final = 256 * 1024 * 1024
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_LOST: Final = (ConnectionError, http.client.HTTPException, OSError)


@asynccontextmanager
async def opened_distant(flags: Flags) -> AsyncIterator[DistantPeer]:
    """The front at `--url`.

    Raises:
        ConfigError: the URL or the key cannot be used.
    """
    assert flags.url is not None
    where = read_front_url(flags.url)
    key = key_of(flags)
    if key is not None and where.scheme == "http" and where.hostname not in _LOCAL:
        Output(flags).warn("the key goes over the network for all to read: use https")
    peer = DistantPeer(where, key, flags.timeout)
    try:
        yield peer
    finally:
        peer.close()


def read_front_url(url: str) -> SplitResult:
    """Where a front is.

    Raises:
        ConfigError: it cannot be there. The message holds no password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigError("--url is no URL; write https://HOST:PORT/PATH") from None
    if not parts.hostname or port == 0 or parts.query or parts.fragment:
        raise ConfigError("a front is named as http://HOST:PORT or https://HOST/PATH, without ? and #")
    if parts.username is not None or parts.password is not None:
        raise ConfigError("no key or password belongs into --url: set NORIA_API_KEY, or name --key-file")
    return parts


def key_of(flags: Flags) -> str | None:
    """The key: of `--key-file`, else of NORIA_API_KEY.

    Raises:
        ConfigError: the file cannot be read, others may read it, or what it holds is no key.
    """
    key = api_key() if flags.key_file is None else _key_in(Path(flags.key_file))
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key and key):
        raise ConfigError("the key is no key: printable ASCII characters without spaces")
    return key


def _key_in(path: Path) -> str:
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077:
            raise ConfigError(f"others may read the key in {path}: chmod 600 {path}")
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"the key in {path} cannot be read: {why}") from error


class DistantPeer:
    """A front over HTTP/1.1, on one connection, which is kept. Redirections are not followed: a key goes nowhere else.

    Args:
        where: its URL.
        key: sent with each request.
        seconds: how long an answer may take, its way included.
    """

    def __init__(self, where: SplitResult, key: str | None, seconds: float) -> None:
        self._where = where
        self._key = key
        self._seconds = seconds
        self._line: http.client.HTTPConnection | None = None
        self._cuts = 0

    async def ask(
        self, method: str, path: str, *, query: Query | None = None, body: Any = None, key: str | None = None,
        wait: float = 0.0,
    ) -> Reply:  # fmt: skip
        """As `Peer`. An answer within the timeout, and `wait` beyond it."""
        target = self._where.path.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else msgspec.json.encode(body)
        head = self._head(data, key)
        again = method == "GET" or key is not None
        scope = aio.bounded(self._seconds + wait)
        try:
            async with scope:
                reply = await asyncio.to_thread(self._exchange, method, target, data, head, wait, again)
        except asyncio.CancelledError:
            self._cut()
            raise
        except TimeoutError:
            self._cut()
            text = f"the front did not answer within {self._seconds + wait:g} s (--timeout)"
            raise NoAnswer(text) if again else Unknown(f"{text}; what was asked for may be done") from None
        if reply.status >= 300:
            raise failure_of(reply)
        return reply

    def close(self) -> None:
        """Hang up."""
        line, self._line = self._line, None
        if line is not None:
            line.close()

    def _head(self, data: bytes | None, key: str | None) -> dict[str, str]:
        head = {"Accept": "application/json", "User-Agent": "noria"}
        if self._key is not None:
            head["Authorization"] = f"Bearer {self._key}"
        if data is not None:
            head["Content-Type"] = "application/json"
        if key is not None:
            head["Idempotency-Key"] = key
        return head

    def _exchange(
        self, method: str, target: str, data: bytes | None, head: dict[str, str], wait: float, again: bool
    ) -> Reply:
        """One request on this thread; a kept connection may have been closed meanwhile, so it gets a second try."""
        kept, cuts = self._line is not None, self._cuts
        try:
            return self._once(method, target, data, head, wait)
        except TimeoutError:
            raise
        except _LOST as error:
            self.close()
            if not (kept and again) or cuts != self._cuts:
                raise self._lost(error, sent=not again) from error
        try:
            return self._once(method, target, data, head, wait)
        except TimeoutError:
            raise
        except _LOST as error:
            self.close()
            lost = self._lost(error, sent=not again)
            # The first try may have arrived, before the front went away.
            raise HungUp(str(lost)) from error

    def _once(self, method: str, target: str, data: bytes | None, head: dict[str, str], wait: float) -> Reply:
        line = self._connected(wait)
        try:
            line.request(method, target, body=data, headers=head)
            answer = line.getresponse()
            body = answer.read(_LARGEST + 1)
        except BaseException:
            line.close()
            raise
        if len(body) > _LARGEST:
            raise http.client.HTTPException(f"the answer has more than {_LARGEST:,} bytes")
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body)

    def _connected(self, wait: float) -> http.client.HTTPConnection:
        line = self._line
        if line is None:
            line = self._new()
            try:
                line.connect()
            except OSError as error:
                raise _NoWay(error) from error
            self._line = line
        if line.sock is not None:
            line.sock.settimeout(self._seconds + wait)
        return line

    def _new(self) -> http.client.HTTPConnection:
        host, port = self._where.hostname or "", self._where.port
        if self._where.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._seconds)
        return http.client.HTTPSConnection(
            host, port, timeout=self._seconds, context=ssl.create_default_context()
        )

    def _lost(self, error: BaseException, *, sent: bool) -> Unavailable | Unknown:
        place = f"{self._where.scheme}://{self._where.netloc}"
        if isinstance(error, _NoWay):
            return Unavailable(f"the front at {place} cannot be reached: {error}")
        if sent:
            return Unknown(f"the front at {place} hung up; whether it was done is not known: {_why(error)}")
        return HungUp(f"the front at {place} hung up: {_why(error)}")

    def _cut(self) -> None:
        """End a request that nobody waits for, so that its thread ends."""
        self._cuts += 1
        line, self._line = self._line, None
        if line is not None and line.sock is not None:
            with contextlib.suppress(OSError):  # it is gone already
                line.sock.shutdown(socket.SHUT_RDWR)


class _NoWay(http.client.HTTPException):
    """There is no connection, so that nothing can have been done."""

    def __init__(self, error: OSError) -> None:
        super().__init__(_why(error))


def _why(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {error.verify_message}"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
