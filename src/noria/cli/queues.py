"""`noria queues`: how many jobs wait where, who works on them, and pauses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Literal

import click
from msgspec import Raw, structs

from noria.app.options import nearest
from noria.app.service import held_in_words, holder_of, pause_in_words
from noria.backends.contract import Counts, QueueCounts, WorkerLine
from noria.cli.command import Group
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import SECONDS, WORDS, Flags, Marks, flags_of, option
from noria.cli.opening import opened_peer, opened_source
from noria.cli.output import Output
from noria.cli.peer import quoted
from noria.cli.quantities import age, count, duration
from noria.cli.resources import Queue, queue_of
from noria.clock import SystemClock, moment
from noria.front.resources import queue_resource
from noria.model.queue import NO_LIMITS, limits_in_words
from noria.model.state import State

_USUAL: Final = (State.QUEUED, State.RUNNING, State.SCHEDULED, State.RETRYING)
"""States that have a column even if all counts are 0."""


@click.group(cls=Group)
def queues() -> None:
    """See the queues, limit them, pause and resume them."""


@queues.command("list", use="reads")
@option("--fail-empty", is_flag=True, help="Exit 8 if there are no queues.")
@click.pass_context
def list_queues(ctx: click.Context, fail_empty: bool) -> None:
    """Count jobs by queue and state, and name the workers."""
    flags = flags_of(ctx)
    counts = asyncio.run(_counts(flags))
    show(Output(flags), counts, SystemClock().wall())
    if fail_empty and not counts.queues and not counts.workers:
        raise Stop(ExitCode.NOTHING_MATCHED)


@queues.command("pause", use="writes")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@option("--reason", default="", help="Why; everybody who looks at the queue or its jobs is told.")
@option("--for", "lasting", type=SECONDS, help="Go on by itself after so long. Default: when it is resumed.")
@click.pass_context
def pause_queues(ctx: click.Context, names: Sequence[str], reason: str, lasting: float | None) -> None:
    """Have no worker begin jobs of these queues; what runs goes on."""
    body: dict[str, Any] = {"reason": reason} if reason else {}
    if lasting is not None:
        body["until"] = moment(SystemClock().wall() + lasting)
    asyncio.run(_steer(flags_of(ctx), "pause", names, body))


@queues.command("resume", use="writes")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.pass_context
def resume_queues(ctx: click.Context, names: Sequence[str]) -> None:
    """End the pauses of these queues."""
    asyncio.run(_steer(flags_of(ctx), "resume", names, {}))


@queues.command("limit", use="writes")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@option(
    "--concurrency", type=click.IntRange(1), metavar="N", help="Run at most N of its jobs, in all workers."
)
@option("--max-length", type=click.IntRange(0), metavar="N", help="Let at most N jobs wait; refuse more.")
@option("--max-age", type=SECONDS, help="A job that has waited so long, and has not begun, expires.")
@option(
    "--order",
    type=click.Choice(["oldest", "newest"]),
    help="Which job runs first; newest wants a maximal age.",
)
@option(
    "--high-water",
    type=Marks(),
    help="Begin none of its jobs while so many wait in another queue, as in details=1000,images=50.",
)
@option("--ageing", type=SECONDS, help="How much waiting is worth one step of priority. Default: 1h")
@option("--lift", type=WORDS, metavar="WORDS", help="Lift these limits, as in max-age,order; or all.")
@click.pass_context
def limit_queues(
    ctx: click.Context, /, names: Sequence[str], lift: Sequence[str] | None, **given: Any
) -> None:
    """Change limits of these queues: those that are named, and no others.

    Order, ageing and age hold for jobs that come to wait from then on, the others at once.
    """
    named = {field: value for field, value in given.items() if value is not None}
    lifted = _lifted(lift or ())
    if "all" not in (lift or ()) and (both := [field for field in lifted if field in named]):
        raise click.UsageError(f"{both[0].replace('_', '-')} is both set and lifted")
    body = {**dict.fromkeys(lifted, None), **named}
    if not body:
        raise click.UsageError("name a limit, such as --concurrency 10, or --lift all")
    asyncio.run(_limit(flags_of(ctx), names, body))


def _lifted(words: Sequence[str]) -> Sequence[str]:
    known = structs.asdict(NO_LIMITS)
    fields = [word.replace("-", "_") for word in words if word != "all"]
    for field in fields:
        if field not in known:
            raise click.UsageError(f"there is no limit {field!r:.40}; {nearest(field, known)}")
    return list(known) if "all" in words else fields


async def _limit(flags: Flags, names: Sequence[str], body: Any) -> None:
    out = Output(flags)
    async with opened_peer(flags) as peer:
        for name in names:
            reply = await peer.ask("PATCH", f"/v1/queues/{quoted(name)}", body=body)
            if out.json:
                out.record(Raw(reply.data))
            else:
                out.line(f"{one_line(name)}  {limits_in_words(queue_of(reply.read(Queue)).limits)}")


async def _steer(flags: Flags, verb: Literal["pause", "resume"], names: Sequence[str], body: Any) -> None:
    out = Output(flags)
    async with opened_peer(flags) as peer:
        for name in names:
            reply = await peer.ask("POST", f"/v1/queues/{quoted(name)}/{verb}", body=body)
            if out.json:
                out.record(Raw(reply.data))
            else:
                out.line(f"{one_line(name)}  {verb}d")


async def _counts(flags: Flags) -> Counts:
    async with opened_source(flags) as source:
        return await source.counts()


def show(out: Output, counts: Counts, now: float) -> None:
    """Print the queues, also those that have only workers, and the workers."""
    served = {queue: QueueCounts({}) for worker in counts.workers for queue in worker.card.queues}
    queues = {**served, **counts.queues}
    names = sorted(queues)
    if out.json:
        for name in names:
            out.record(queue_resource(name, queues[name], counts.workers, holder_of(name, queues)))
        return
    columns = [
        state for state in State if state in _USUAL or any(queues[name].states.get(state) for name in names)
    ]
    if names:
        header = ("queue", *(f">{state.word}" for state in columns), ">dead", ">oldest ready", ">workers")
        out.table(header, [_row(name, queues[name], columns, counts.workers) for name in names])
    for name in names:
        if (paused := queues[name].paused) is not None:
            out.line(one_line(pause_in_words(name, paused, now)))
    for name in names:
        if (holder := holder_of(name, queues)) is not None:
            out.line(one_line(held_in_words(name, holder)))
    for name in names:
        if queues[name].limits != NO_LIMITS:
            out.line(one_line(f"queue {name!r}: {limits_in_words(queues[name].limits)}"))
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
    work = f"runs {vitals.running} in {count(card.slots, 'slot')}  settled {vitals.settled:,}"
    return f"  {where}  up {duration(max(now - worker.opened, 0))}  {work}  seen {age(worker.seen, now)}"
