"""What a simulation does: options drawn from its seed, and from these the jobs and what people do to them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from noria.backends.contract import DocWrite
from noria.ids import Id, seeded
from noria.model.change import Change
from noria.model.job import Extras, Lane, NewJob
from noria.testing.deeds import Deed, deed, with_children
from noria.testing.wire import TROUBLES, Trouble

QUEUES: Final = ("a", "b")
SLOT: Final = "slot"
"""The kind of document that at most one job is enqueued along with, as an idempotency key or a timer's slot is."""


class Options(Struct, frozen=True, kw_only=True):
    """One simulation. Everything is drawn from the seed and printed, so that a run can be made again.

    Attributes:
        workers, producers, jobs: how many; the jobs are enqueued by all producers together.
        ttl, beat: of the workers, in seconds.
        grace: seconds that a drained worker waits.
        span: seconds over which jobs are enqueued and faults happen.
        kills, pauses, drains: how many of each; a kill may hit a producer.
        outages: how often the store cannot be reached for a while.
        jumps: how often the machine's wall clock is set to another time.
        cancels, retries, edits, holds: what operators do; a hold pauses a queue for a while.
        schedules: timers that every worker knows; each is paused by a person for a while.
        periods: of these, in seconds: one of them.
        readers: clients who follow jobs by the event streams of two fronts.
        flows: workflows that a planner enqueues: jobs that wait for one another.
        offspring: the share of jobs that ask for follow-ups.
        concurrency: slots of each worker.
        lossy: run journals vanish with their process.
        latency: seconds that one way to or from the backend takes at most.
        trouble: the share of calls of the backend that go wrong.
        troubles: how they do; see `noria.testing.wire`.
        patience: seconds for which producers and operators wait for an answer before they ask again.
        script: calls that go wrong for certain: (number of the call in the whole run, how).
    """

    seed: int
    workers: int = 2
    producers: int = 1
    jobs: int = 15
    ttl: float = 2.0
    beat: float = 0.5
    grace: float = 1.0
    span: float = 10.0
    kills: int = 0
    pauses: int = 0
    drains: int = 0
    outages: int = 0
    jumps: int = 0
    cancels: int = 0
    retries: int = 0
    edits: int = 0
    holds: int = 0
    schedules: int = 0
    periods: tuple[float, ...] = (1.0, 2.0, 5.0)
    readers: int = 0
    flows: int = 0
    offspring: float = 0.0
    concurrency: int = 4
    lossy: bool = False
    latency: float = 0.01
    trouble: float = 0.0
    troubles: tuple[Trouble, ...] = ()
    patience: float = 5.0
    script: tuple[tuple[int, Trouble], ...] = ()


def draw(seed: int) -> Options:
    """The options that this seed stands for."""
    dice = seeded(seed)
    ttl = dice.choice((1.0, 2.0, 10.0))
    trouble = dice.choice((0.0, 0.0, 0.02, 0.1, 0.3))
    flow = seeded(seed + 5)
    return Options(
        seed=seed,
        workers=dice.randint(1, 6),
        producers=dice.choice((1, 1, 3)),
        jobs=max(1, round(dice.lognormvariate(2.7, 0.8))),
        ttl=ttl,
        beat=ttl / 4,
        grace=dice.choice((0.0, 0.5, 2.0)),
        span=dice.uniform(2.0, 3 * ttl + 5.0),
        kills=dice.choice((0, 0, 1, 2, 4)),
        pauses=dice.choice((0, 0, 1, 2)),
        drains=dice.choice((0, 0, 1, 2)),
        outages=dice.choice((0, 0, 0, 1, 2)),
        jumps=dice.choice((0, 0, 0, 1, 3)),
        cancels=dice.choice((0, 1, 3)),
        retries=dice.choice((0, 0, 2)),
        edits=dice.choice((0, 0, 4)),
        holds=dice.choice((0, 0, 1, 3)),
        concurrency=dice.choice((1, 2, 4, 20)),
        lossy=dice.random() < 0.2,
        latency=dice.choice((0.0, 0.005, 0.05)),
        trouble=trouble,
        troubles=_some(dice) if trouble else (),
        patience=dice.choice((0.05, 0.5, 5.0)),
        readers=dice.choice((0, 0, 0, 1, 3)),
        schedules=dice.choice((0, 0, 0, 1, 2)),
        flows=flow.choice((0, 0, 1, 3)),
        offspring=flow.choice((0.0, 0.0, 0.2, 0.5)),
    )


def calm(seed: int) -> Options:
    """As `draw`, with nothing that goes wrong."""
    return msgspec.structs.replace(
        draw(seed), kills=0, pauses=0, drains=0, outages=0, jumps=0, lossy=False, trouble=0.0, troubles=()
    )


def command(options: Options) -> str:
    """The shell command that makes a run with these options again."""
    words = ["python -m noria.testing.replay", str(options.seed)]
    usual = msgspec.structs.replace(options, script=())
    if usual == calm(options.seed) != draw(options.seed):
        words.append("--calm")
    elif usual != draw(options.seed):
        words.append("(with other options than this seed draws: see them above)")
    return " ".join(words + [f"--call {number}={how}" for number, how in options.script])


def _some(dice: random.Random) -> tuple[Trouble, ...]:
    """All troubles, or one: what is rare among many is common alone."""
    return TROUBLES if dice.random() < 0.5 else (dice.choice(TROUBLES),)


def new_job(id: Id, dice: random.Random, options: Options, wall: float) -> NewJob:
    """Draw a job."""
    thread = dice.random() < 0.2
    return NewJob(
        id=id,
        task="think" if thread else "act",
        queue=dice.choice(("a", "a", "b")),
        lane=Lane.THREAD if thread else Lane.LOOP,
        body=msgspec.json.encode(_deed(dice, options)),
        priority=dice.choice((0, 0, 0, 5, -5)),
        delay=dice.choice((0.0,) * 6 + (0.5, 3.0)),
        expires=wall + dice.uniform(0.5, 5.0) if dice.random() < 0.1 else None,
        deadline=wall + dice.uniform(1.0, 20.0) if dice.random() < 0.1 else None,
        attempts=dice.choice((1, 3, 5)),
        unique=f"key{dice.randrange(3)}" if dice.random() < 0.1 else None,
        keep=0.0 if dice.random() < 0.05 else None,
        extras=Extras(timeout=dice.uniform(0.2, 3.0) if dice.random() < 0.15 else None),
    )


def _deed(dice: random.Random, options: Options) -> Deed:
    drawn = deed(dice, options.ttl)
    return with_children(dice, drawn, options.ttl) if dice.random() < options.offspring else drawn


def slot(id: Id, dice: random.Random) -> tuple[DocWrite, ...]:
    """Draw the document that goes along with a job; mostly none."""
    if dice.random() < 0.8:
        return ()
    return (DocWrite(SLOT, f"{SLOT}{dice.randrange(4)}", id, if_version=0),)


def edit(dice: random.Random, options: Options, wall: float) -> Change:
    """Draw what an operator does to a job that waits, or has ended."""
    edits: tuple[Callable[[], Change], ...] = (
        lambda: Change(kind="run"),
        lambda: Change(kind="erase"),
        lambda: Change(kind="discard"),
        lambda: Change(kind="move", queue=dice.choice(QUEUES)),
        lambda: Change(kind="edit", priority=dice.randint(-9, 9)),
        lambda: Change(kind="edit", run_at=wall + dice.uniform(-1, 5)),
        lambda: Change(kind="edit", expires=dice.choice((None, wall + dice.uniform(0, 5)))),
        lambda: Change(kind="edit", body=msgspec.json.encode(deed(dice, options.ttl))),
        lambda: Change(kind="retry", delay=dice.uniform(0, 3), attempts=dice.randint(1, 3)),
        lambda: Change(kind="retry", body=msgspec.json.encode(deed(dice, options.ttl))),
    )
    return dice.choice(edits)()
