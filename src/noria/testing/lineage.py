"""What a history tells of jobs that follow others: who asked for them, and which values they were given."""

from __future__ import annotations

from noria.testing.told import Told


class Begot(Told, frozen=True, tag="begot"):
    """A handler has asked for a follow-up; told by the handler itself. `id` is that of the follow-up."""

    id: str
    parent: str
    session: int
    starts: int


class Fed(Told, frozen=True, tag="fed"):
    """A handler was given the values of the jobs that its job has waited for; their digests, in order."""

    id: str
    session: int
    starts: int
    values: tuple[str, ...] = ()
