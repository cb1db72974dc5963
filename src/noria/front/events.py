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
from noria.front import keys, limits, prefer, replies, view
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
    if record.state.final and last == str(record.version):
        return replies.nothing()  # which tells a browser not to come again
    ask.desk.streams.check(ask.who)
    return Stream(ask, record)


async def _listed(ask: Ask, record: Record, last: str | None) -> Response:
    patience = prefer.patience(ask.request, ask.desk.settings.wait)
    if last == str(record.version) and not record.state.final and patience.seconds:
        try:
            await ask.desk.waiting.during(ask, patience.seconds, lambda: _change(ask, record))
        except Full:
            raise full_problem() from None
        except Left:
            return Response(status_code=499)
        record = await view.find(ask, _SHOWN)
    news = last != str(record.version)
    items = [{"id": str(record.version), "event": "job", "data": _data(record, ask)}] if news else []
    return replies.page(items, str(record.version), final=record.state.final)


async def _change(ask: Ask, record: Record) -> bool:
    with ask.desk.watch.follow(record) as follower:
        return await follower.news.wait()


def _data(record: Record, ask: Ask) -> dict[str, Any]:
    return view.job_view(view.slim(record), ask.root)


class Stream(Response):
    """Server-sent events about one job: `job` first, then `state` at each change, until it has ended."""

    def __init__(self, ask: Ask, record: Record) -> None:
        headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
        super().__init__(None, 200, headers, "text/event-stream; charset=utf-8")
        del self.headers["content-length"]
        self._ask = ask
        self._record = record

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
        await _send(send, f"retry: {self._again()}\n\n".encode() + _event("job", self._record, self._ask))
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
        self._record = record
        await _send(send, _event("state", record, self._ask))
        return record.state.final

    def _again(self) -> int:
        return round(RETRY * self._ask.desk.chance.uniform(0.5, 1.5))


def _event(name: str, record: Record, ask: Ask) -> bytes:
    data = msgspec.json.encode(_data(record, ask))
    return b"event: %s\nid: %d\ndata: %s\n\n" % (name.encode(), record.version, data)


async def _send(send: Send, data: bytes, *, more: bool = True) -> None:
    async with aio.bounded(PATIENCE):
        await send({"type": "http.response.body", "body": data, "more_body": more})
