"""What a running job asks a person: a small document, open until it is answered, and what became of it."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from noria.model.document import Doc, DocWrite
from noria.model.limits import CLOSED_FOR

OPEN: Final = "question"
"""The kind of the documents of questions that are open, or whose answers were not read yet."""
CLOSED: Final = "question-closed"
"""The kind of the documents that say what became of a question."""

Action = Literal["accept", "decline", "cancel"]
"""What a person says to a question: here is the answer; I will not answer; I have put it away without a choice."""
OnExpiry = Literal["fail", "default", "decline"]
Standing = Literal["open", "answered", "declined", "cancelled", "expired", "superseded", "withdrawn"]

AFTER: Final[dict[Action, Standing]] = {
    "accept": "answered",
    "decline": "declined",
    "cancel": "cancelled",
}


class Question(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A question. Times are seconds since the epoch.

    Attributes:
        id: its own name, a UUID as text.
        job: the id of the job, a UUID as text; task, queue: of that job.
        session, starts: the start that asks; it is superseded once that is over.
        message: for people; name: for programs; both are the handler's.
        schema: what an answer looks like, as JSON schema; flat.
        secret: the answer is shown and logged nowhere, and deleted once it was read.
        created, expires: while it may be answered.
        on_expiry: what the handler gets if nobody answers in time: an error, the default, or as if it were declined.
        default: the value for that.
        state: how it stands.
        data: the answer; of a secret one only until it was read.
        by: who answered, for people.
        at: when it was closed.
        supersedes: the question of an earlier start in whose place it is asked; following: that in its own place.
    """

    id: str
    job: str
    task: str
    queue: str
    session: int
    starts: int
    message: str
    schema: dict[str, Any]
    created: float
    expires: float
    name: str = ""
    secret: bool = False
    on_expiry: OnExpiry = "fail"
    default: Any = UNSET
    state: Standing = "open"
    data: Any = UNSET
    by: str = ""
    at: float = 0.0
    supersedes: str = ""
    following: str = ""

    def answered(self, action: Action, data: Any, by: str, at: float) -> Question:
        """The same question with its answer."""
        return replace(self, state=AFTER[action], data=data, by=by, at=at)

    def closed(self, state: Standing, at: float, following: str = "") -> Question:
        """The same question after its end; a secret answer is forgotten."""
        data = UNSET if self.secret else self.data
        return replace(self, state=state, at=self.at or at, data=data, following=following)

    def same(self, action: Action, data: Any) -> bool:
        """Whether this is the very answer that it has; of a secret one that was read nobody can tell."""
        return self.state == AFTER[action] and self.data == data


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Question)


def read(doc: Doc) -> Question:
    """The question in a document."""
    return _decoder.decode(doc.data)


def opened(question: Question) -> DocWrite:
    """What opens a question: kept beyond its time, since its answer may be wanted by the start after this one."""
    ttl = max(1.0, question.expires - question.created) + CLOSED_FOR
    return DocWrite(OPEN, question.id, _encoder.encode(question), ttl=ttl)


def answering(doc: Doc, question: Question) -> DocWrite:
    """What writes an answer, unless somebody else was faster; it stays for as long as the question would have."""
    return DocWrite(OPEN, doc.name, _encoder.encode(question), if_version=doc.version, ttl=_left(question))


def closing(question: Question) -> tuple[DocWrite, DocWrite]:
    """What closes a question."""
    gone = DocWrite(OPEN, question.id, None)
    return gone, DocWrite(CLOSED, question.id, _encoder.encode(question), ttl=CLOSED_FOR)


def _left(question: Question) -> float:
    return max(1.0, question.expires - question.at) + CLOSED_FOR
