"""A front in this process, for commands that ask for what only a front does, on a store at hand: no port, no server."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode

import msgspec

from noria import aio
from noria.app.application import Noria
from noria.cli.flags import Flags
from noria.cli.peer import Query, Reply, failure_of
from noria.cli.target import answer, application, check_there, is_there, url_of
from noria.ids import system_entropy

if TYPE_CHECKING:
    from noria.front.front import Front

Message = MutableMapping[str, Any]


@asynccontextmanager
async def opened_inside(flags: Flags, *, needs_store: bool = True) -> AsyncIterator[InsidePeer]:
    """A front on the backend that `--url` names, or the application's own.

    Args:
        needs_store: without it, a store that is not there is not missed: a passing one takes its place.

    Raises:
        ConfigError: the extra `serve` is not installed.
        Unavailable: there is no store.
    """
    app = application(flags, None) if flags.app else Noria(url_of(flags))
    with tempfile.TemporaryDirectory(prefix="noria-") as folder:
        if app.where is not None and not is_there(app.where):
            if needs_store:
                check_there(app.where)
            app.url = f"sqlite:///{folder}/passing.db"
        async with _opened_front(app, flags.timeout) as peer:
            yield peer


@asynccontextmanager
async def _opened_front(app: Noria, seconds: float) -> AsyncIterator[InsidePeer]:
    from noria.front import asgi

    # Keys in the store close every front; this one is open to whoever may read the store, by a key of the moment.
    key = system_entropy(24).hex()
    front = asgi(app, api_key=key)
    await answer(front.__aenter__(), seconds)
    try:
        yield InsidePeer(front, key, seconds)
    finally:
        await answer(front.__aexit__(None, None, None), seconds)


class InsidePeer:
    """An open front, asked by calls (ASGI 3.0)."""

    def __init__(self, front: Front, key: str, seconds: float) -> None:
        self._front = front
        self._key = key
        self._seconds = seconds

    async def ask(
        self, method: str, path: str, *, query: Query | None = None, body: Any = None, key: str | None = None,
        wait: float = 0.0,
    ) -> Reply:  # fmt: skip
        """As `noria.cli.peer.Peer`."""
        head = {"host": "localhost", "authorization": f"Bearer {self._key}"}
        if body is not None:
            head["content-type"] = "application/json"
        if key is not None:
            head["idempotency-key"] = key
        talk = _Talk(b"" if body is None else msgspec.json.encode(body))
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": method,
            "path": unquote(path), "raw_path": path.encode(), "root_path": "",
            "query_string": urlencode(query or {}).encode(),
            "headers": [(name.encode(), value.encode()) for name, value in head.items()],
            "client": None, "server": ("localhost", 80),
        }  # fmt: skip
        await answer(self._front(scope, talk.receive, talk.send), self._seconds + wait)
        reply = talk.reply()
        if reply.status >= 300:
            raise failure_of(reply)
        return reply


class _Talk:
    """One request and its answer. The client never leaves before the answer."""

    def __init__(self, data: bytes) -> None:
        self._data: bytes | None = data
        self._left = asyncio.Event()
        self._status = 0
        self._fields: dict[str, str] = {}
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        data, self._data = self._data, None
        if data is None:
            await aio.happened(self._left, None)
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._fields = {name.decode(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            self._parts.append(message.get("body", b""))

    def reply(self) -> Reply:
        return Reply(self._status, self._fields, b"".join(self._parts))
