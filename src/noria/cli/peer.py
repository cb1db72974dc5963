"""A front as commands ask it: one request, one answer, and each failure as the error that a store would have given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from noria.cli.exits import NotAuthorised, NothingThere
from noria.errors import (
    BackendError,
    InvalidInput,
    JobError,
    JobNotFound,
    NoriaError,
    QueueFull,
    ResultGone,
    TooLarge,
    Unavailable,
    Unknown,
    UnknownTask,
    WrongState,
)

T = TypeVar("T")
Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `fields` are the header fields by name in small letters."""

    status: int
    fields: Mapping[str, str] = field(default_factory=dict)
    data: bytes = b""

    def read(self, kind: type[T]) -> T:
        """The body as a value of this type.

        Raises:
            Unavailable: it is none; then whatever answered is no front of ours.
        """
        try:
            return msgspec.json.decode(self.data, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Unavailable(f"what answered is no front of Noria: {error}") from None


class Peer(Protocol):
    """A front, wherever it is."""

    async def ask(
        self, method: str, path: str, *, query: Query | None = None, body: Any = None, key: str | None = None,
        wait: float = 0.0,
    ) -> Reply:  # fmt: skip
        """One request.

        Args:
            path: with every name in it quoted.
            query: parameters.
            body: becomes JSON.
            key: an idempotency key; with it, as with GET, the request may be repeated if its answer was lost.
            wait: seconds that the front may take, beyond the usual.

        Raises:
            NoriaError: a failure; as `failure_of` has it, or `Unavailable`, `Unknown` if nothing came back.
        """
        ...


class Told(Struct):
    """A problem document (RFC 9457), as far as commands need it."""

    detail: str = ""
    title: str = ""
    code: str = ""
    state: str | None = None
    job_id: str = ""
    errors: list[dict[str, str]] = []
    error: dict[str, Any] | None = None
    retry_safe: bool = True


class Refused(WrongState):
    """The front refused it because of how things stand. `code` and `state` are as it has told."""

    def __init__(self, message: str, code: str, state: str | None) -> None:
        super().__init__(message)
        self.code = code
        self.state = state


class HungUp(Unavailable):
    """The front hung up before its answer to a request that may be repeated; it may have done what was asked for."""


MEDIA: Final = "application/problem+json"
_THERE: Final = {"job_not_found": JobNotFound, "task_unknown": UnknownTask}


def failure_of(reply: Reply) -> NoriaError:
    """The error that a failure stands for; it has the exit code that the same failure has without a front."""
    if not reply.fields.get("content-type", "").startswith(MEDIA):
        return Unavailable(f"the answer is {reply.status}, and not from a front of Noria; is there a proxy?")
    told = reply.read(Told)
    text = _text(told) or f"the front answered {reply.status}"
    match reply.status:
        case 401 | 403:
            return NotAuthorised(text)
        case 404:
            return _THERE.get(told.code, NothingThere)(text)
        case 409 | 412:
            return Refused(text, told.code, told.state)
        case 410 if told.code in ("question_expired", "question_superseded"):
            return Refused(text, told.code, told.state)
        case 410:
            return ResultGone(text, job_id=told.job_id)
        case 413:
            return TooLarge(text)
        case 502:
            return JobError(text, job_id=told.job_id)
        case 429 if told.code == "queue_full":
            return QueueFull(text, queue="", job_ids=())
        case 408 | 429 | 500 | 503:
            return _away(told, text)
        case _:
            return InvalidInput(text)


def _away(told: Told, text: str) -> BackendError:
    return Unavailable(text) if told.retry_safe else Unknown(text)


def _text(told: Told) -> str:
    """The detail, and where in what was sent each fault is, if the detail does not say."""
    found = told.detail or told.title
    places = [f"{each.get('pointer', '')}: {each.get('message', '')}" for each in told.errors]
    extra = "; ".join(place for place in places if place.partition(": ")[2] not in found)
    return f"{found} ({extra})" if extra else found


class Page(Struct):
    """A page of a list."""

    items: list[Raw]
    next: str | None = None
    scan_limited: bool = False


def quoted(name: str) -> str:
    """A name as one segment of a path."""
    from urllib.parse import quote

    return quote(name, safe="")


async def items(peer: Peer, path: str, **filters: str) -> list[Raw]:
    """All items of a list, page by page."""
    found: list[Raw] = []
    query: dict[str, str] = filters
    while True:
        page = (await peer.ask("GET", path, query=query)).read(Page)
        found += page.items
        if page.next is None:
            return found
        query = {**filters, "cursor": page.next}
