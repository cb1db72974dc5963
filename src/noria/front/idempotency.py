"""The same request twice is one job: keys are stored in the same step as the job that they stand for.

So there is nothing in between: either neither is stored, and the request may be repeated; or both are, and a repeat
finds the job.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec
from msgspec import Struct

from noria import ids
from noria.backends.contract import Board, DocWrite
from noria.front import limits
from noria.front.asked import Asked
from noria.front.principal import Principal
from noria.front.problem import Problem
from noria.ids import Id

KIND: Final = "idempotency"


class Entry(Struct, frozen=True):
    """What a key stands for.

    Attributes:
        request: a hash of the request that used it first.
        job: the id of its job, as text.
    """

    request: str
    job: str


_entries: Final = msgspec.json.Decoder(Entry)


class Once(Struct, frozen=True):
    """A request that is made with a key.

    Attributes:
        name: of its document.
        request: a hash of it.
    """

    name: str
    request: str

    def claim(self, job: Id) -> DocWrite:
        """The document that makes the key stand for a job, if it stands for nothing yet."""
        entry = msgspec.json.encode(Entry(self.request, ids.to_text(job)))
        return DocWrite(KIND, self.name, entry, if_version=0, ttl=limits.REMEMBERED)

    def amend(self, job: Id) -> DocWrite:
        """The document, once another job has turned out to stand for the first."""
        entry = msgspec.json.encode(Entry(self.request, ids.to_text(job)))
        return DocWrite(KIND, self.name, entry, ttl=limits.REMEMBERED)

    def release(self) -> DocWrite:
        """Forget the key: the request was refused, and may be made again."""
        return DocWrite(KIND, self.name, None)

    async def first(self, board: Board) -> Id | None:
        """The job of the request that used the key first; None if there was none.

        Raises:
            Problem: that was another request.
        """
        [doc] = await board.read(KIND, [self.name])
        if doc is None:
            return None
        entry = _entries.decode(doc.data)
        if entry.request != self.request:
            raise Problem(
                "idempotency_mismatch",
                f"this Idempotency-Key was used for another request, which made job {entry.job}; use a new key for "
                "a new request",
                job_id=entry.job,
            )
        return ids.from_text(entry.job)


def key_of(request: Asked, *, required: bool) -> str | None:
    """The key that a request carries: bare, or quoted as the IETF draft writes it.

    Raises:
        Problem: it is malformed, or missing where it is required.
    """
    text = request.fields.get("idempotency-key")
    if text is None:
        if required:
            raise Problem(
                "idempotency_required", "send an Idempotency-Key, so that the request can be repeated"
            )
        return None
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return check_key(text)


def check_key(text: str) -> str:
    """Accept a key.

    Raises:
        Problem: it is not 1 to 255 printable ASCII characters.
    """
    if 0 < len(text) <= limits.IDEMPOTENCY_KEY and text.isascii() and text.isprintable():
        return text
    raise Problem(
        "bad_request", f"an idempotency key has 1 to {limits.IDEMPOTENCY_KEY} printable ASCII characters"
    )


def once(who: Principal, route: str, key: str, body: Any) -> Once:
    """A request made with a key.

    Args:
        who: keys of one are not keys of another.
        route: the method and path; a key of one route is none of another.
        body: decoded; how it is spelt does not matter.
    """
    name = _hash(who.id.encode(), route.encode(), key.encode())
    return Once(name, _hash(route.encode(), msgspec.json.encode(body, order="sorted")))


def _hash(*parts: bytes) -> str:
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        found.update(len(part).to_bytes(8) + part)
    return found.hexdigest()
