"""A front as the one who enqueues: it knows the task from its workers, and checks what is enqueued."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple, cast, get_args

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from noria import aio, ids
from noria.app.ending import Ending, ending_of, value_of
from noria.cli.exits import NotAuthorised
from noria.cli.peer import HungUp, Page, Peer, Reply, quoted
from noria.cli.producer import Emitted, Missed, Stored
from noria.cli.resources import Job, record_of
from noria.cli.steady import Steady
from noria.cli.uniqueness import as_rest
from noria.clock import SystemClock
from noria.errors import InvalidArguments, JobNotFound, ResultGone, WaitTimeout
from noria.front.requests import OPTIONS
from noria.front.texts import from_text
from noria.model.claim import Enqueued
from noria.model.job import Record
from noria.model.state import State
from noria.model.task import Arguments

_TURN: Final = 30.0
"""Seconds for which one request waits for a job."""


_NAMES: Final = {python: field for field, python in OPTIONS.items()}
_PAUSE: Final = 0.5
"""Seconds between two looks at a front that answers at once."""


class Schema(Struct):
    """What a task takes, as far as it is known here."""

    args_schema: dict[str, Any]


class Item(Struct):
    """What became of one job of a batch."""

    job_id: str = ""
    existing: bool = False
    enqueued: Enqueued | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class Event(Struct):
    """Something that has happened to a job: what its data is, goes by its name."""

    event: str
    data: Raw


class Sent(Struct):
    """A partial result; of a gap, where it ends."""

    offset: int
    item: Raw = Raw(b"null")


class Events(Struct):
    """What has happened to a job since the last look, and where to go on."""

    items: list[Event]
    next: str
    final: bool


class Order(NamedTuple):
    """A job to enqueue, and the idempotency key with which that is asked for."""

    key: str
    body: dict[str, Any]


async def remote_producer(
    peer: Peer, task: str, options: Mapping[str, Any], steady: Steady
) -> RemoteProducer:
    """The front as producer of a task's jobs.

    Raises:
        UnknownTask: it does not know the task.
    """
    try:
        schema = (await peer.ask("GET", f"/v1/tasks/{quoted(task)}")).read(Schema).args_schema
    except NotAuthorised:  # a key that may only enqueue cannot look; the front checks all the same
        schema = {}
    return RemoteProducer(peer, task, schema, options, steady)


class RemoteProducer:
    """A front, as `noria.cli.producer.Producer`."""

    def __init__(
        self, peer: Peer, task: str, schema: dict[str, Any], options: Mapping[str, Any], steady: Steady
    ) -> None:
        self._peer = peer
        self._steady = steady
        self._task = task
        self._schema = schema
        self._clock = SystemClock()
        self._options = _fields(options, self._clock.wall())
        self._ids = ids.IdSource(self._clock)
        self._ended: dict[str, Ending] = {}
        self._began = self._clock.monotonic()

    def named(self, words: Sequence[str]) -> Arguments:
        """As `Producer`; the front says what does not fit."""
        pairs: list[tuple[str, str]] = []
        for word in words:
            name, equals, value = word.partition("=")
            if not equals or not name:
                raise InvalidArguments(f"{word!r:.40} is no argument; write name=value, or give --args JSON")
            if name in dict(pairs):
                raise InvalidArguments(f"{name} is given twice", field=name)
            pairs.append((name, value))
        return (), from_text(self._schema, pairs)

    def draft(self, given: Arguments) -> Order:
        """As `Producer`."""
        args, kwargs = given
        body = {"task": self._task, "args": list(args) if args else kwargs, **self._options}
        return Order(ids.to_text(self._ids.next()), body)

    def id_of(self, draft: Order) -> str:
        """As `Producer`: the front chooses the id, unless one was given."""
        return str(draft.body.get("id", ""))

    async def enqueue(self, drafts: Sequence[Order]) -> list[Stored]:
        """As `Producer`."""
        body = [{**draft.body, "idempotency_key": draft.key} for draft in drafts]
        reply = await self._peer.ask("POST", "/v1/jobs/batch", body=body, key=drafts[0].key)
        return [_stored(msgspec.json.decode(item, type=Item)) for item in reply.read(Page).items]

    async def enqueue_one(self, draft: Order, wait: float | None) -> Stored:
        """As `Producer`. It waits already: of a job that is not kept nobody else could tell the value."""
        self._began = self._clock.monotonic()
        turn = min(wait or 0.0, _TURN)
        query = {"wait": f"{turn:g}"} if wait is not None else None

        async def ask() -> Reply:
            return await self._peer.ask(
                "POST", "/v1/jobs", query=query, body=draft.body, key=draft.key, wait=turn
            )

        try:
            reply = await ask()
        except HungUp:
            if wait is None:
                raise
            reply = await self._steady.keep(ask, wait)  # with the same key, so that it is the same job
        job = reply.read(Job)
        if wait is not None:
            self._note(job)
        return Stored(job.id, _enqueued(reply.fields, named="id" in draft.body))

    async def value(self, id: str, seconds: float) -> Raw:
        """As `Producer`."""
        end = self._began + seconds
        while id not in self._ended:
            left = end - self._clock.monotonic()
            if left <= 0:
                raise WaitTimeout(f"job {id} had not ended after {seconds:.3g} s; it goes on")
            before = self._clock.monotonic()
            await self._look(id, min(left, _TURN), left)
            if id not in self._ended and self._clock.monotonic() - before < _PAUSE:
                await aio.sleep(min(left, _PAUSE))  # it lets nobody wait
        ending = self._ended[id]
        if ending.state is State.SUCCEEDED and ending.result is None:
            return Raw((await self._steady.keep(lambda: self._peer.ask("GET", f"/v1/jobs/{id}/result"))).data)
        found: Raw = value_of(ending, ids.from_text(id), lambda data, codec: Raw(data))
        return found

    async def events(self, id: str) -> AsyncGenerator[Record | Emitted | Missed, None]:
        """As `Producer`."""
        query: dict[str, str] = {}
        while True:
            before = self._clock.monotonic()
            try:
                page = await self._steady.keep(partial(self._page, id, query))
            except JobNotFound:
                return
            for each in page.items:
                match each.event:
                    case "item":
                        sent = msgspec.json.decode(each.data, type=Sent)
                        yield Emitted(sent.offset, sent.item)
                    case "gap":
                        yield Missed(msgspec.json.decode(each.data, type=Sent).offset)
                    case "job":
                        yield record_of(msgspec.json.decode(each.data, type=Job))
            if page.final:
                return
            if not page.items and self._clock.monotonic() - before < _PAUSE:
                await aio.sleep(_PAUSE)  # it lets nobody wait
            query = {"after": page.next, "wait": f"{_TURN:g}"}

    async def _page(self, id: str, query: Mapping[str, str]) -> Events:
        reply = await self._peer.ask("GET", f"/v1/jobs/{id}/events", query=query, wait=_TURN)
        return reply.read(Events)

    async def _look(self, id: str, seconds: float, within: float) -> None:
        query = {"wait": f"{seconds:g}", "include": "result"}
        try:
            reply = await self._steady.keep(
                lambda: self._peer.ask("GET", f"/v1/jobs/{id}", query=query, wait=seconds), within
            )
        except JobNotFound:
            raise ResultGone(f"job {id} has ended, and nothing of it is kept", job_id=id) from None
        self._note(reply.read(Job))

    def _note(self, job: Job) -> None:
        ending = ending_of(record_of(job))
        if ending is not None:
            self._ended[job.id] = ending


def _enqueued(fields: Mapping[str, str], *, named: bool) -> Enqueued:
    """What a front has done, by the fields in the head of its answer."""
    word = fields.get("unique-conflict", "created")
    for known in get_args(Enqueued):
        if known == word != "created":
            return cast("Enqueued", known)
    return "existing" if named and "idempotent-replayed" in fields else "created"


def _stored(item: Item) -> Stored:
    if item.error is UNSET:
        return Stored(item.job_id, item.enqueued or ("existing" if item.existing else "created"))
    return Stored("", why=str(item.error.get("detail", "refused")))


def _fields(options: Mapping[str, Any], now: float) -> dict[str, Any]:
    """The options of a job as REST calls them."""
    found = {_NAMES.get(name, name): value for name, value in options.items()}
    for name in ("expires_at", "deadline_at"):
        if isinstance(seconds := found.get(name), float):
            found[name] = datetime.fromtimestamp(now + seconds, UTC)
    if "unique" in found:
        found["unique"] = as_rest(found["unique"])
    if "group" in found:
        found["group"] = dict(zip(("family", "key"), found["group"], strict=True))
    if "tags" in found:
        found["tags"] = list(found["tags"])
    return found
