"""`noria bench`: what this machine and this disk give, on a store of its own that is removed afterwards."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from noria.app.application import Noria
from noria.app.config import runtime_folder
from noria.app.connect import read_url
from noria.cli import machine
from noria.cli.benchrun import ONE_BY_ONE, Bench, Measure
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import Command, Flags, flags_of, option
from noria.cli.output import Output
from noria.cli.quantities import duration
from noria.cli.service import loop_factory
from noria.cli.target import opened, url_of
from noria.clock import SystemClock
from noria.errors import Unavailable


@click.command(cls=Command)
@option("--jobs", type=click.IntRange(1, 10_000_000), default=10_000, show_default=True, help="In bulk.")
@click.pass_context
def bench(ctx: click.Context, jobs: int) -> None:
    """Measure throughput and latency.

    The store that --url names is not touched: all happens in one of its own beside it. Enqueues one by one,
    from many callers at once, and in batches; drains with results; measures round trips; reads back every
    result.
    """
    flags = flags_of(ctx)
    out = Output(flags)
    with beside(url_of(flags)) as url, asyncio.Runner(loop_factory=loop_factory()) as runner:
        measures, about, wrong = runner.run(_measure(url, flags, out, jobs))
    total = sum(measure.jobs for measure in measures if measure.name.startswith(("enqueue", "round")))
    if out.json:
        out.record(
            {**about, "measures": [resource(each) for each in measures], "jobs": total, "wrong": wrong}
        )
    else:
        show(out, measures, about)
        out.line(
            f"read back {total:,} results; {f'{wrong:,} are wrong' if wrong else 'each is as it should be'}"
        )
    if wrong:
        raise Stop(ExitCode.FAILED)


async def _measure(
    url: str, flags: Flags, out: Output, jobs: int
) -> tuple[list[Measure], dict[str, Any], int]:
    app = Noria(url)
    store = read_url(url)
    total = 4 * jobs + 3 * min(jobs, ONE_BY_ONE)
    async with opened(app, flags.timeout):
        with out.progress("bench", total) as advance:
            run = Bench(app, jobs, SystemClock(), advance)
            measures = await run.run()
        about = machine.describe(store.path)
        durability = app.backend.capabilities.durability
        return (
            measures,
            {**about, "synchronous": store.synchronous, "durability": durability},
            await run.wrong(),
        )


@contextmanager
def beside(url: str) -> Iterator[str]:
    """The URL of an empty store on the same disk, with the same options; gone afterwards.

    Raises:
        Unavailable: nothing can be written there.
    """
    store = read_url(url)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".noria-bench-", dir=store.path.absolute().parent))
    except OSError as error:
        raise Unavailable(f"{store.path.absolute().parent} cannot be written: {error.strerror}") from error
    file = folder / "bench.db"
    try:
        yield f"sqlite:///{file}?synchronous={store.synchronous}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            shutil.rmtree(runtime_folder(file), ignore_errors=True)


def resource(measure: Measure) -> dict[str, Any]:
    """A measurement for programs."""
    fields = {name: getattr(measure, name) for name in measure.__struct_fields__}
    return {**fields, "rate": measure.rate}


def show(out: Output, measures: list[Measure], about: dict[str, Any]) -> None:
    """Print what was measured, and on what."""
    out.line(f"machine     {about['processor']}, {about['cores']} cores, {about['system']}")
    versions = f"noria {about['noria']}, Python {about['python']}, {about['loop']}, SQLite {about['sqlite']}"
    out.line(f"versions    {versions}")
    pragmas = (
        f"journal {about['journal_mode']}, synchronous {about['synchronous']}, pages {about['page_size']}"
    )
    out.line(f"store       a temporary file; {pragmas}")
    out.line(f"durability  {about['durability']}")
    out.line()
    columns = ("", ">jobs", ">seconds", ">jobs/s", ">p50", ">p95", ">p99", ">CPU µs/job")
    out.table(columns, [_row(measure) for measure in measures])


def _row(measure: Measure) -> tuple[str, ...]:
    times = ("" if each is None else duration(each) for each in (measure.p50, measure.p95, measure.p99))
    numbers = (f"{measure.jobs:,}", f"{measure.seconds:.2f}", f"{measure.rate:,.0f}")
    return (measure.name, *numbers, *times, f"{measure.cpu / measure.jobs * 1e6:,.0f}")
