"""`noria queues`: how many jobs wait where, and who works on them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import click

from noria.backends.contract import Counts, QueueCounts, WorkerLine
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import Flags, Group, flags_of, option
from noria.cli.output import Output
from noria.cli.quantities import age, count, duration
from noria.cli.resources import queue_resource
from noria.cli.target import answer, opened_store
from noria.clock import SystemClock
from noria.model.state import State

_USUAL: Final = (State.QUEUED, State.RUNNING, State.SCHEDULED, State.RETRYING)
"""States that have a column even if all counts are 0."""


@click.group(cls=Group)
def queues() -> None:
    """Queues in numbers."""


@queues.command("list")
@option("--fail-empty", is_flag=True, help="Exit 8 if there are no queues.")
@click.pass_context
def list_queues(ctx: click.Context, fail_empty: bool) -> None:
    """Count jobs by queue and state, and name the workers."""
    flags = flags_of(ctx)
    counts = asyncio.run(_counts(flags))
    show(Output(flags), counts, SystemClock().wall())
    if fail_empty and not counts.queues:
        raise Stop(ExitCode.NOTHING_MATCHED)


async def _counts(flags: Flags) -> Counts:
    async with opened_store(flags) as store:
        return await answer(store.counts(), flags.timeout)


def show(out: Output, counts: Counts, now: float) -> None:
    """Print the queues and the workers."""
    names = sorted(counts.queues)
    if out.json:
        for name in names:
            out.record(queue_resource(name, counts.queues[name], counts.workers))
        return
    columns = [
        state
        for state in State
        if state in _USUAL or any(counts.queues[name].states.get(state) for name in names)
    ]
    if names:
        header = ("queue", *(f">{state.word}" for state in columns), ">dead", ">oldest ready", ">workers")
        out.table(header, [_row(name, counts.queues[name], columns, counts.workers) for name in names])
    for line in worker_lines(counts.workers, now):
        out.line(line)
    if not names:
        out.note("no queue has ever had a job here")


def _row(
    name: str, queue: QueueCounts, columns: Sequence[State], workers: Sequence[WorkerLine]
) -> tuple[str, ...]:
    oldest = "–" if queue.oldest_ready is None else duration(queue.oldest_ready)
    consumers = sum(name in worker.card.queues for worker in workers)
    numbers = (f"{queue.states.get(state, 0):,}" for state in columns)
    return (one_line(name), *numbers, f"{queue.dead:,}", oldest, str(consumers))


def worker_lines(workers: Sequence[WorkerLine], now: float) -> list[str]:
    """The live workers, one line each."""
    if not workers:
        return ["no worker is live"]
    lines = [f"{count(len(workers), 'worker')} live"]
    return [*lines, *(_worker_line(each, now) for each in sorted(workers, key=lambda each: each.card.worker))]


def _worker_line(worker: WorkerLine, now: float) -> str:
    vitals, card = worker.vitals, worker.card
    where = f"{one_line(card.worker)}  pid {card.pid} on {one_line(card.host)}"
    work = f"runs {vitals.running} in {card.slots} slots  settled {vitals.settled:,}"
    return f"  {where}  up {duration(max(now - worker.opened, 0))}  {work}  seen {age(worker.seen, now)}"
