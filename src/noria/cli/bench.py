"""`noria bench`: what this machine and this disk or server give, in a place of its own that is removed afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from noria.app.application import Noria
from noria.cli import machine
from noria.cli.benchrun import ONE_BY_ONE, Bench, Measure
from noria.cli.benchstore import apart, describe, words
from noria.cli.command import Command
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import Flags, flags_of, option
from noria.cli.output import Output
from noria.cli.quantities import count, duration
from noria.cli.service import loop_factory
from noria.cli.target import opened, url_of
from noria.clock import SystemClock


@click.command(cls=Command, use="writes")
@option("--jobs", type=click.IntRange(1, 10_000_000), default=10_000, show_default=True, help="In bulk.")
@click.pass_context
def bench(ctx: click.Context, jobs: int) -> None:
    """Measure throughput and latency.

    The jobs that --url names are not touched: all happens in a file of its own beside the store, or in a
    namespace of its own on the server, which is dropped afterwards. Enqueues one by one, from many callers
    at once, and in batches; drains with results; measures round trips; reads back every result.
    """
    flags = flags_of(ctx)
    out = Output(flags)
    with (
        apart(url_of(flags), flags.timeout, out) as url,
        asyncio.Runner(loop_factory=loop_factory()) as runner,
    ):
        measures, about, wrong = runner.run(_measure(url, flags, out, jobs))
    total = sum(measure.jobs for measure in measures if measure.name.startswith(("enqueue", "round")))
    if out.json:
        out.record(
            {**about, "measures": [resource(each) for each in measures], "jobs": total, "wrong": wrong}
        )
    else:
        show(out, measures, about)
        out.line(
            f"read back {count(total, 'result')}; "
            + (f"{count(wrong, 'wrong one')}" if wrong else "each is as it should be")
        )
    if wrong:
        raise Stop(ExitCode.FAILED)


async def _measure(
    url: str, flags: Flags, out: Output, jobs: int
) -> tuple[list[Measure], dict[str, Any], int]:
    app = Noria(url)
    total = 4 * jobs + 3 * min(jobs, ONE_BY_ONE)
    async with opened(app, flags.timeout):
        with out.progress("bench", total) as advance:
            run = Bench(app, jobs, SystemClock(), advance)
            measures = await run.run()
        about = {**machine.describe(), **await describe(url, flags.timeout)}
        durability = app.backend.capabilities.durability
        return measures, {**about, "durability": durability}, await run.wrong()


def resource(measure: Measure) -> dict[str, Any]:
    """A measurement for programs."""
    fields = {name: getattr(measure, name) for name in measure.__struct_fields__}
    return {**fields, "rate": measure.rate}


def show(out: Output, measures: list[Measure], about: dict[str, Any]) -> None:
    """Print what was measured, and on what."""
    out.line(f"machine     {about['processor']}, {count(about['cores'], 'core')}, {about['system']}")
    out.line(f"versions    noria {about['noria']}, Python {about['python']}, {about['loop']}")
    out.line(f"store       {one_line(words(about))}")
    out.line(f"durability  {about['durability']}")
    out.line()
    columns = ("", ">jobs", ">seconds", ">jobs/s", ">p50", ">p95", ">p99", ">CPU µs/job")
    out.table(columns, [_row(measure) for measure in measures])


def _row(measure: Measure) -> tuple[str, ...]:
    times = ("" if each is None else duration(each) for each in (measure.p50, measure.p95, measure.p99))
    numbers = (f"{measure.jobs:,}", f"{measure.seconds:.2f}", f"{measure.rate:,.0f}")
    return (measure.name, *numbers, *times, f"{measure.cpu / measure.jobs * 1e6:,.0f}")
