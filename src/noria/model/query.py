"""Which jobs are looked for, in fields that jobs have and terms that a person writes; and what is found."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from noria.errors import InvalidInput
from noria.ids import Id
from noria.model.job import Record
from noria.model.state import State

Field = Literal[
    "task", "queue", "tag", "correlation_id", "worker", "error", "fingerprint", "group", "args", "text"
]

MAX_TERMS: Final = 16
MAX_TERM: Final = 512


class Term(Struct, frozen=True):
    """One condition beyond the fields of a query.

    Attributes:
        field: what is looked at. "tag": any of them; "group": family and key, with "=" between; "error": type and
            message of the last failure; "args": the argument that `path` leads to; "text": all of these, ids and
            groups apart, and the arguments as they are stored. Arguments of more than 64 KiB are not looked into.
        value: "error" and "text" must contain it, whatever its case; the others must be it, or begin with it.
        path: of "args": names and places, joined by dots, such as "phone" or "user.names.0".
        prefix: whether it is enough to begin with the value.
        negated: whether the job must not be so.

    Raises:
        InvalidInput: a text is too long, or a path has a name that cannot be looked for.
    """

    field: Field
    value: str
    path: str = ""
    prefix: bool = False
    negated: bool = False

    def __post_init__(self) -> None:
        for text in (self.value, self.path):
            _check(self.field, text)
            if len(text) > MAX_TERM:
                raise InvalidInput(f"a term has at most {MAX_TERM} characters", field=self.field)
        if (self.field == "args") != bool(self.path):
            raise InvalidInput("a path belongs to a term for arguments, and only there", field=self.field)
        if not self.path.isprintable() or set('"\\[]') & set(self.path) or "" in self.path.split(".")[1:]:
            raise InvalidInput("a path has names joined by dots, without quotes or brackets", field="args")


class Query(Struct, frozen=True, kw_only=True):
    """Which jobs to find; an empty field does not filter. All fields and terms must match.

    Attributes:
        states: any of these.
        tasks, queues, workers: any of these; a star at the end of a name stands for any end.
        tag, correlation_id, fingerprint: exactly this.
        parent_id: follow-ups of this job; as hex.
        dead: only dead letters.
        created_after, created_before: seconds since the epoch. Jobs whose id was made more than an hour away from the
            time at which they were stored may be overlooked by these.
        finished_after, finished_before: seconds since the epoch; jobs that have not ended match neither.
        terms: further conditions.
        oldest_first: the order of pages, by id; else the newest come first.

    Raises:
        InvalidInput: there are too many terms.
    """

    states: tuple[State, ...] = ()
    tasks: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    tag: str = ""
    correlation_id: str = ""
    fingerprint: str = ""
    parent_id: str = ""
    dead: bool = False
    created_after: float | None = None
    created_before: float | None = None
    finished_after: float | None = None
    finished_before: float | None = None
    terms: tuple[Term, ...] = ()
    oldest_first: bool = False

    def __post_init__(self) -> None:
        if len(self.terms) > MAX_TERMS:
            raise InvalidInput(f"a query has at most {MAX_TERMS} terms", field="terms")
        for field in ("tag", "correlation_id", "fingerprint", "parent_id"):
            _check(field, getattr(self, field))
        for field in ("tasks", "queues", "workers"):
            for name in getattr(self, field):
                _check(field, name)


class Page(Struct, frozen=True):
    """A page of jobs, in order of their ids.

    Attributes:
        records: the jobs; empty if only ids were asked for.
        next: pass it as `after` for the next page; None on the last one.
        scan_limited: the backend stopped looking before it had seen every row; `next` goes on from there.
        ids: the jobs' ids.
    """

    records: list[Record]
    next: Id | None = None
    scan_limited: bool = False
    ids: list[Id] = []


class Kin(Struct, frozen=True):
    """How many of the jobs that were counted are of this task and in this state."""

    task: str
    state: State
    n: int


class Tallied(Struct, frozen=True):
    """How many jobs match a query.

    Attributes:
        n: their number, as far as it was counted.
        capped: there are more.
        scan_limited: the backend stopped looking before it had seen every row; there may be more.
        kin: the same by task and state.
    """

    n: int
    capped: bool = False
    scan_limited: bool = False
    kin: list[Kin] = []


class DeadGroup(Struct, frozen=True):
    """Dead letters that are probably one fault: alike in task, kind of error and the place where it was raised.

    Attributes:
        fingerprint: what they have in common.
        n: how many, counted to 10,000.
        first, last: when the first and the last of them failed.
        sample: the one that failed last.
    """

    fingerprint: str
    n: int
    first: float
    last: float
    sample: Record


def _check(field: str, text: str) -> None:
    """Refuse what no job can have and no statement can carry."""
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidInput(f"{field} has a character that no text can have", field=field)
