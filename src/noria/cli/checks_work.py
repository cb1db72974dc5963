"""What `noria doctor` asks of the work: sessions and clocks, jobs that nobody can run, dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from noria.backends.contract import Backend, Counts, Overdue, Query, Tallied, WorkerLine
from noria.cli.escape import one_line
from noria.cli.finding import Finding, note, ok, warning
from noria.cli.quantities import count, duration
from noria.cli.target import answer
from noria.model.state import State

LOOKED_AT: Final = 10_000
"""Waiting jobs of which the tasks are counted."""
_SKEW: Final = 5.0


def check_sessions(
    overdue: Sequence[Overdue], workers: Sequence[WorkerLine], now: float
) -> Iterator[Finding]:
    """Workers that gave no sign of life, and clocks that jumped."""
    future = [each for each in workers if each.seen > now + _SKEW]
    if future:
        ahead = duration(max(each.seen for each in future) - now)
        text = f"{count(len(future), 'worker')} last seen up to {ahead} in the future"
        yield warning("clocks", text, "a clock jumped: check time synchronisation on every machine")
    else:
        yield ok("clocks", "no session has an impossible time")
    if overdue:
        names = ", ".join(sorted({one_line(each.worker) or "unnamed" for each in overdue})[:3])
        text = f"{count(len(overdue), 'session')} overdue: {names}"
        yield warning("sessions", text, "any live worker ends them within seconds; start one")
    yield note("workers", f"{count(len(workers), 'worker')} live")


def check_tasks(waiting: Tallied, workers: Sequence[WorkerLine], declared: Collection[str]) -> list[Finding]:
    """Waiting jobs whose task no live worker knows. `declared`: the tasks of the application, if any."""
    known = {task for worker in workers for task in worker.card.tasks}
    strange: Counter[str] = Counter()
    for kin in waiting.kin:
        strange[kin.task] += 0 if kin.task in known else kin.n
    least = "at least " if waiting.capped or waiting.scan_limited else ""
    found = []
    for task, number in sorted((+strange).items()):
        name = one_line(task)
        text = f"{least}{count(number, 'waiting job')} of task {name}, which no live worker knows"
        fix = f"start a worker of {'this application' if task in declared else 'a version that has it'}"
        found.append(warning("tasks", text, f"{fix}, or cancel them: noria jobs list task:{name}"))
    return found or [ok("tasks", "live workers know the task of every waiting job that was looked at")]


def check_queues(counts: Counts) -> Iterator[Finding]:
    """Queues in which jobs wait and that nobody serves, and dead letters."""
    served = {queue for worker in counts.workers for queue in worker.card.queues}
    for name, queue in sorted(counts.queues.items()):
        waiting = queue.states.get(State.QUEUED, 0)
        if waiting > 0 and name not in served:
            text = f"{one_line(name)} has {count(waiting, 'waiting job')}, and no live worker serves it"
            yield warning("queues", text, f"noria worker APP -q {one_line(name)}")
    dead = sum(queue.dead for queue in counts.queues.values())
    if dead:
        yield warning(
            "dead letters", f"{count(dead, 'failed job')} nobody has dealt with", "noria dead list --group"
        )
    else:
        yield ok("dead letters", "none")


async def check_work(
    store: Backend, counts: Counts, declared: Collection[str], now: float, seconds: float
) -> list[Finding]:
    """Everything about the work in a store."""
    overdue = await answer(store.overdue(), seconds)
    states = (State.QUEUED, State.PARKED)
    waiting = await answer(store.tally(Query(states=states), LOOKED_AT), seconds)
    return [
        *check_sessions(overdue, counts.workers, now),
        *check_tasks(waiting, counts.workers, declared),
        *check_queues(counts),
    ]
