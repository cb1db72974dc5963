"""Row 6: what happens to a job, as server-sent events, or as a list for clients that cannot have these."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from noria import aio
from noria.backends.contract import Parts
from noria.errors import BackendError
from noria.front import keys, limits, position, prefer, questions, replies, view
from noria.front.position import Position
from noria.front.resources import progress_resource
from noria.front.route import Ask
from noria.front.waiting import Full, Left, full_problem, until_gone
from noria.front.watch import Follower
from noria.model.job import Record

PING: Final = 15.0
PATIENCE: Final = limits.UNREAD
"""Seconds that a reader may take for one event, before it is sent away."""
RETRY: Final = 2_000
"""Milliseconds after which a client comes back; spread, so that not all come at once."""
_SHOWN: Final = Parts.BODY | Parts.RESULT
_GONE: Final = b"event: gone\ndata: {}\n\n"


async def show(ask: Ask) -> Response:
    """`GET /v1/jobs/{id}/events`."""
    record = await view.find(ask, _SHOWN)
    params = ask.request.query_params
    last = ask.request.fields.get("last-event-id", params.get("after"))
    if "text/event-stream" not in ask.request.fields.get("accept", ""):
        return await _listed(ask, record, last)
    if record.state.final and not position.read(last).behind(record):
        return replies.nothing()  # which tells a browser not to come again
    ask.desk.streams.check(ask.who)
    return Stream(ask, record, position.read(last))


async def _listed(ask: Ask, record: Record, last: str | None) -> Response:
    patience, at = prefer.patience(ask.request, ask.desk.settings.wait), position.read(last)
    if not at.behind(record) and not record.state.final and patience.seconds:
        try:
            await ask.desk.waiting.during(ask, patience.seconds, lambda: _change(ask, record))
        except Full:
            raise full_problem() from None
        except Left:
            return Response(status_code=499)
        record = await view.find(ask, _SHOWN)
    found, at = await position.items(ask.desk.backend, record, at)
    if at.offset >= record.items and at.version != record.version:
        # The job itself stands behind all that it has sent.
        at = Position(record.version, at.offset)
        found.append((at, "job", await _data(record, ask)))
    items = [{"id": str(behind), "event": name, "data": data} for behind, name, data in found]
    return replies.page(items, str(at), final=record.state.final and not at.behind(record))


async def _change(ask: Ask, record: Record) -> bool:
    with ask.desk.watch.follow(record) as follower:
        return await follower.news.wait()


async def _data(record: Record, ask: Ask) -> dict[str, Any]:
    return await questions.job_view(ask, view.slim(record))


class Stream(Response):
    """Server-sent events about one job: `job` first, then what comes, until it has ended.

    Its partial results come as `item`, its progress alone as `progress`, all else as `state`.
    """

    def __init__(self, ask: Ask, record: Record, at: Position) -> None:
        headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
        super().__init__(None, 200, headers, "text/event-stream; charset=utf-8")
        del self.headers["content-length"]
        self._ask = ask
        self._record = record
        self._at = Position(record.version, at.offset)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the job has ended, the client has left or is too slow, or the front stops."""
        desk = self._ask.desk
        with desk.streams.counted(self._ask.who), desk.watch.follow(self._record) as follower:
            stop = desk.crew.start("client", until_gone(Request(scope, receive), follower.leave))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                if await self._tell(follower, send):
                    await _send(send, b"", more=False)
            except TimeoutError:
                pass  # it reads too slowly; what it missed it can ask for
            finally:
                stop()

    async def _tell(self, follower: Follower, send: Send) -> bool:
        """Whether the stream came to its own end."""
        first = await self._data(self._record)
        await _send(send, f"retry: {self._again()}\n\n".encode() + _event("job", self._at, first))
        await self._send_items(self._record, send)
        if self._record.state.final:
            return True
        silent = 0.0
        while not await self._is_over():
            pause = min(PING - silent, keys.LOOK)
            if not await aio.happened(follower.news, pause):
                silent += pause
                if silent >= PING:
                    silent = 0.0
                    await _send(send, b": ping\n\n")
                continue
            follower.news.clear()
            if follower.left:
                return False
            if follower.record is None:
                await _send(send, _GONE)
                return True
            if await self._moved(follower, send):
                return True
        retry = self._again()
        await _send(send, f'event: bye\nretry: {retry}\ndata: {{"retry": {retry}}}\n\n'.encode())
        return True

    async def _is_over(self) -> bool:
        """Whether the front stops, or the key that opened the stream is good no more.

        If the store cannot tell, the stream goes on: nothing new comes from that store meanwhile.
        """
        desk = self._ask.desk
        if desk.waiting.draining:
            return True
        with suppress(BackendError):
            return not await desk.door.still(self._ask.who)
        return False

    async def _moved(self, follower: Follower, send: Send) -> bool:
        """Whether that was the last event."""
        if follower.record is None or follower.record.version <= self._record.version:
            return False  # the look for all may be older than our own
        [record] = await self._ask.desk.backend.get([follower.id], _SHOWN)
        if record is None:
            return False  # the next look will tell
        if not self._ask.who.sees(record.queue, record.task):
            await _send(send, _GONE)  # it was moved to where this key may not look
            return True
        await self._send_items(record, send)
        before, self._record = self._record, record
        self._at = Position(record.version, self._at.offset)
        if only_progress(before, record):
            await _send(send, _event("progress", self._at, progress_resource(record)))
        elif stands_otherwise(before, record):
            await _send(send, _event("state", self._at, await self._data(record)))
        return record.state.final

    async def _send_items(self, record: Record, send: Send) -> None:
        while self._at.offset < record.items:
            found, self._at = await position.items(self._ask.desk.backend, record, self._at)
            for behind, name, data in found:
                await _send(send, _event(name, behind, data))

    async def _data(self, record: Record) -> dict[str, Any]:
        return await _data(record, self._ask)

    def _again(self) -> int:
        return round(RETRY * self._ask.desk.chance.uniform(0.5, 1.5))


def only_progress(before: Record, after: Record) -> bool:
    """Whether a job has come further, and stands as it stood."""
    return _standing(before) == _standing(after) and before.progress != after.progress


def stands_otherwise(before: Record, after: Record) -> bool:
    """Whether anything has changed but what a job has sent and written down."""
    only_items = before.items != after.items or before.version == after.version
    return _standing(before) != _standing(after) or not only_items


def _standing(record: Record) -> tuple[Any, ...]:
    return record.state, record.starts, record.question, record.cancelling, record.queue, record.extras


def _event(name: str, at: Position, what: object) -> bytes:
    return b"event: %s\nid: %s\ndata: %s\n\n" % (name.encode(), str(at).encode(), msgspec.json.encode(what))


async def _send(send: Send, data: bytes, *, more: bool = True) -> None:
    async with aio.bounded(PATIENCE):
        await send({"type": "http.response.body", "body": data, "more_body": more})
