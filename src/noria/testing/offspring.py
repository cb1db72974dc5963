"""Jobs of a simulation that follow others: follow-ups of jobs, and workflows that a planner enqueues."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from noria.ids import Id
from noria.model.job import NewJob, Receipt
from noria.worker.follow import Promises

On = Literal["success", "complete", "failure"]

FED = "fed"
"""The argument that gets the values of those that a job has waited for."""


class Child(Struct, frozen=True, omit_defaults=True):
    """A follow-up that a job asks for.

    Attributes:
        deed: what it does, encoded.
        after: for which of its elder siblings it waits, by their places; on: how they must end.
        fed: it gets their values.
        queue, delay, attempts, unique, keep: of the job.
        within: seconds in which it must have ended; None: no bound of its own.
    """

    deed: Raw
    after: tuple[int, ...] = ()
    on: On = "success"
    fed: bool = False
    queue: str = "a"
    delay: float = 0.0
    attempts: int = 3
    unique: str | None = None
    keep: float | None = None
    within: float | None = None


def child(dice: random.Random, deed: bytes, elder: int) -> Child:
    """Draw a follow-up that does this, and has so many elder siblings."""
    after = tuple(dice.sample(range(elder), min(elder, dice.choice((0, 0, 1, 2)))))
    return Child(
        deed=Raw(deed),
        after=after,
        on=on(dice),
        fed=bool(after) and dice.random() < 0.5,
        queue=dice.choice(("a", "b")),
        delay=dice.choice((0.0, 0.0, 0.0, 0.5)),
        attempts=dice.choice((1, 3)),
        unique=f"key{dice.randrange(3)}" if dice.random() < 0.1 else None,
        keep=0.0 if dice.random() < 0.05 else None,
        within=dice.uniform(0.5, 10.0) if dice.random() < 0.1 else None,
    )


def on(dice: random.Random) -> On:
    """Draw how those must end that a job waits for."""
    chosen: On = dice.choice(("success", "success", "success", "complete", "complete", "failure"))
    return chosen


def born(child: Child, id: Id, siblings: Sequence[str], wall: float) -> NewJob:
    """The job that a follow-up becomes, whose elder siblings have these ids."""
    return waiting(
        NewJob(
            id=id,
            task="act",
            queue=child.queue,
            body=bytes(child.deed),
            delay=child.delay,
            deadline=None if child.within is None else wall + child.within,
            attempts=child.attempts,
            unique=child.unique,
            keep=child.keep,
        ),
        [siblings[place] for place in child.after],
        child.on,
        fed=child.fed,
    )


def waiting(job: NewJob, after: Sequence[str], on: On, *, fed: bool) -> NewJob:
    """The same job, which waits for these."""
    if not after:
        return job
    extras = replace(job.extras, after=tuple(after), on=on, feed=FED if fed else "", feed_list=fed)
    return replace(job, extras=extras)


class Described(Struct, frozen=True):
    """A job as `ctx.enqueue` gets it from a task."""

    new: NewJob

    def job(self, receipt: Receipt) -> Promises[int]:
        """Nobody awaits it."""
        raise NotImplementedError


class Describing:
    """A task as `ctx.enqueue` takes it, that describes one job."""

    def __init__(self, new: NewJob) -> None:
        self._new = new

    def job(self) -> Described:
        """That job."""
        return Described(self._new)


def workflow(dice: random.Random, jobs: Sequence[NewJob], others: Sequence[Id]) -> list[NewJob]:
    """Have jobs wait for some before them, and now and then for others that may have ended, or are not there."""
    drawn: list[NewJob] = []
    for job in jobs:
        before = dice.sample(drawn, min(len(drawn), dice.choice((0, 1, 1, 2, 3))))
        after, how = [each.id.hex() for each in before], on(dice)
        if others and dice.random() < 0.1:
            after.append(dice.choice(others).hex())
        bound = [job, *(before if how == "success" else ())]
        ends = [each.deadline for each in bound if each.deadline is not None]
        job = replace(job, unique=None, deadline=min(ends, default=None))
        drawn.append(waiting(job, list(dict.fromkeys(after)), how, fed=dice.random() < 0.4))
    return drawn


def values(fed: object) -> tuple[bytes, ...]:
    """The values that a handler was given, encoded one by one; none if it was given none."""
    return tuple(map(msgspec.json.encode, fed)) if isinstance(fed, list) else ()
