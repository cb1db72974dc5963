"""A reader of event streams in a simulation: calls a front as a server would, and tells what it sees."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from noria import aio, ids
from noria.ids import Id
from noria.model.state import State
from noria.testing.events import Fact, Seen
from noria.testing.following import Close

_STATES: Final = {state.word: int(state) for state in State}
_SLOW: Final = 0.1
"""The share of events that a reader takes its time for."""
_CLOSES: Final[dict[int, Close]] = {204: "known", 404: "missing"}


class _Shown(Struct):
    """What a reader wants of the job in an event."""

    state: str


_shown: Final = msgspec.json.Decoder(_Shown)


class Call:
    """One request for the events of a job, as a server hands it to the application.

    Args:
        stream: its number.
        after: the version that the reader knows; 0 if none.
        note: told of each event.
        chance: how slowly the reader reads.

    Attributes:
        version: the last one seen.
        told: the end of the job, or that it is gone, was seen.
        over: set when nothing comes any more.
    """

    def __init__(
        self, id: Id, stream: int, after: int, note: Callable[[Fact], None], chance: random.Random
    ) -> None:
        self._id = id
        self._stream = stream
        self._after = after
        self._note = note
        self._chance = chance
        self._asked = False
        self._leaves = asyncio.Event()
        self._status = 0
        self.version = after
        self.told = False
        self.how: Close | None = None
        self.over = asyncio.Event()

    @property
    def scope(self) -> dict[str, Any]:
        """The request."""
        headers = [(b"host", b"localhost"), (b"accept", b"text/event-stream")]
        if self._after:
            headers.append((b"last-event-id", b"%d" % self._after))
        return {
            "type": "http", "method": "GET", "path": f"/v1/jobs/{ids.to_text(self._id)}/events",
            "query_string": b"", "root_path": "", "headers": headers, "http_version": "1.1", "scheme": "http",
            "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip

    def end(self, how: Close) -> None:
        """Nothing more is seen."""
        if self.how is None:
            self.how = how
            self._leaves.set()
            self.over.set()

    async def receive(self) -> Any:
        """What the server has from the client."""
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """What the server is to send; it waits while the reader reads."""
        if self._chance.random() < _SLOW:
            await aio.sleep(self._chance.random() * 2)
        if self.how is not None:
            return
        if message["type"] == "http.response.start":
            self._status = message["status"]
        elif self._status == 200:
            self._see(message["body"])
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.end("closed" if self._status == 200 else _CLOSES.get(self._status, "refused"))

    def _see(self, data: bytes) -> None:
        for block in data.decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
            if "event" in fields:
                self._saw(fields)

    def _saw(self, fields: dict[str, str]) -> None:
        state = None
        if fields["event"] in ("job", "state"):
            self.version, state = int(fields["id"]), _STATES[_shown.decode(fields["data"]).state]
            self.told = State(state).final
        self.told = self.told or fields["event"] == "gone"
        version = 0 if state is None else self.version
        self._note(
            Seen(id=self._id.hex(), stream=self._stream, event=fields["event"], version=version, state=state)
        )
