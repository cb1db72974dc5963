"""`noria stats`: the whole in numbers."""

from __future__ import annotations

import asyncio

import click
import msgspec
from msgspec import Raw, Struct

from noria.cli.command import Command
from noria.cli.escape import one_line
from noria.cli.flags import Flags, flags_of
from noria.cli.opening import opened_peer
from noria.cli.output import Output
from noria.cli.quantities import count, duration
from noria.cli.resources import Queue, Slots


class Stats(Struct):
    """The whole in numbers."""

    totals: dict[str, int]
    dead: int
    workers: int
    slots: Slots
    queues: list[Queue]
    since_start: dict[str, int]


@click.command(cls=Command, use="reads")
@click.pass_context
def stats(ctx: click.Context) -> None:
    """Count jobs, dead letters and workers, now and since the store was made."""
    flags = flags_of(ctx)
    out = Output(flags)
    data = asyncio.run(_asked(flags))
    if out.json:
        out.record(Raw(data))
    else:
        _show(out, msgspec.json.decode(data, type=Stats))


async def _asked(flags: Flags) -> bytes:
    async with opened_peer(flags) as peer:
        return (await peer.ask("GET", "/v1/stats")).data


def _show(out: Output, found: Stats) -> None:
    busy = f"{found.slots.busy:,} of {count(found.slots.size, 'slot')} busy"
    out.line(f"now          {_words(found.totals)}, {count(found.dead, 'dead letter')}")
    out.line(f"since start  {_words(found.since_start)}")
    out.line(f"workers      {found.workers:,}, {busy}")
    if found.queues:
        out.line()
        out.table(("queue", ">oldest ready", ">dead", "jobs"), list(map(_row, found.queues)))


def _words(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {word}" for word, number in counts.items() if number) or "nothing"


def _row(queue: Queue) -> tuple[str, ...]:
    oldest = "–" if queue.oldest_ready_seconds is None else duration(queue.oldest_ready_seconds)
    return (one_line(queue.name), oldest, f"{queue.dead:,}", _words(dict(queue.counts)))
