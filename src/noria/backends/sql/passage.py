"""What time alone does to jobs that do not run: they become due, they expire, nobody comes to know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from noria.backends.sql.rows import DEADLINE, TOO_OLD, Altering, Due, Waiting, decode, encode
from noria.backends.sql.transaction import DEAD, Transaction
from noria.backends.units import millis
from noria.model.fingerprint import fingerprint
from noria.model.flow import Word
from noria.model.outcome import Failure
from noria.model.state import State

_WORDS: Final[dict[State, Word]] = {
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
    State.EXPIRED: "expired",
}


def promote(work: Transaction, queues: Sequence[str], limit: int) -> int:
    """Make jobs of these queues ready whose time has come; says how many."""
    picked = decode(work.row("due_pick", encode(queues), work.now, limit)[0], list[Due])
    if picked:
        work.run("due_promote", encode([job.id for job in picked]))
        for job in picked:
            if not line_up(work, job, job.state):
                work.moved(job.queue, job.state, State.QUEUED)
                work.has_work(job.queue)
        # What is over its time may expire next, and is to be found in line.
        work.groups.put_back(work)
    return len(picked)


def line_up(work: Transaction, job: Due | Altering, before: int) -> bool:
    """Have a job that could run by now wait in line, if it has a group; says whether it has."""
    if job.family is None or job.group_key is None:
        return False
    if job.placed:
        work.groups.leave(job.family, job.group_key, eligible=before == State.QUEUED)
    work.groups.come(job.family, job.group_key)
    work.groups.stand_back(job.id)
    work.moved(job.queue, before, State.WAITING)
    return True


def expire(work: Transaction, limit: int) -> int:
    """End jobs that were not started, or cannot be finished, in time; says how many."""
    picked = decode(work.row("lapsed_pick", work.now, limit)[0], list[Waiting])
    finish(work, picked, State.EXPIRED, _lapsed)
    return len(picked)


def give_up(work: Transaction, limit: int) -> int:
    """Fail jobs of tasks that no worker has known for too long; says how many."""
    before = work.now - millis(work.settings.park_for)
    picked = decode(work.row("parked_pick", before, limit)[0], list[Waiting])
    failure = Failure.of(
        "unknown_task",
        f"no worker knew its task within {work.settings.park_for:g} seconds: "
        "start one that does, then retry the job",
    )
    finish(work, picked, State.FAILED, lambda _: failure)
    return len(picked)


def finish(
    work: Transaction,
    jobs: Sequence[Waiting],
    state: State,
    why: Callable[[Waiting], Failure],
    change: str | None = None,
) -> None:
    """End jobs that are not running."""
    if not jobs:
        return
    dead = state is State.FAILED
    prune_at = work.now + millis(work.settings.keep_dead if dead else work.settings.keep_succeeded)
    work.run(
        "finish",
        encode([(job.id, state, dead, prune_at, *_kept(job, why(job)), change) for job in jobs]),
        work.now,
    )
    for job in jobs:
        work.moved(job.queue, job.state, state)
        work.happened(job.queue, job.task, _WORDS[state])
        if dead:
            work.moved(job.queue, None, DEAD)
        work.ended(job.id, job.reply, state, job.awaited)
        if job.placed and job.family is not None and job.group_key is not None:
            work.groups.leave(job.family, job.group_key, eligible=job.state == State.QUEUED)


def _kept(job: Waiting, failure: Failure) -> tuple[str, str]:
    """A failure and its fingerprint, as a row has them."""
    return encode(failure), fingerprint(job.task, failure)


def _lapsed(job: Waiting) -> Failure:
    if job.late == DEADLINE:
        return Failure.of("deadline", "its deadline passed before it could end")
    if job.late == TOO_OLD:
        return Failure.of("max_age", "it waited longer than its queue allows without having been started")
    return Failure.of("expired", "it was not started by the time it had to be")
