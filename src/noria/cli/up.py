"""`noria up`: a whole application in one process on the embedded backend."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from noria.app.application import Noria
from noria.cli import greeting, logs, outcomes
from noria.cli.departure import Departure
from noria.cli.exits import Stop
from noria.cli.flags import SECONDS, Command, Flags, app_argument, flags_of, option
from noria.cli.output import Output, to_json
from noria.cli.service import Service
from noria.cli.target import answer, application
from noria.cli.worker import settings_of
from noria.cli.writer import LineWriter
from noria.clock import SystemClock
from noria.model.outcome import Settlement
from noria.model.state import State
from noria.worker import WorkerSettings
from noria.worker.run import Run

_FLUSH = 2.0


@click.command(cls=Command)
@app_argument
@option("-c", "--concurrency", type=int, help="async def jobs at once. Default: 100")
@option("--threads", type=int, help="def jobs at once. Default: cores + 4, at most 32")
@option("--drain", type=SECONDS, help="How long running jobs get to end. Default: 30")
@click.pass_context
def up(ctx: click.Context, /, named: str | None, **given: Any) -> None:
    """Run a whole application in one process.

    APP is module:attribute, or path/to/file.py. Says what there is and one command to try; then prints
    one line for each finished job.
    """
    flags = flags_of(ctx)
    settings = settings_of(**given)
    app = application(flags, named)
    handler = logs.set_up("text", level=logs.level(verbose=flags.verbose, quiet=True))
    stream = LineWriter(sys.stdout.fileno())

    def flush() -> None:
        stream.close(_FLUSH)
        logs.flush(handler)

    departure = Departure(flush)
    departure.prepare()
    code = Service(
        app=app,
        settings=settings,
        observer=teller(stream, Output(flags), SystemClock().wall),
        ready=lambda app: _greet(app, settings, flags, named or flags.app or "", stream),
        departure=departure,
        timeout=flags.timeout,
    ).run()
    raise Stop(code)


def teller(stream: LineWriter, out: Output, wall: Callable[[], float]) -> Callable[[Run, Settlement], None]:
    """Writes a line for each attempt that ended, and never waits for whoever reads it."""

    def tell(run: Run, end: Settlement) -> None:
        if end.state is State.QUEUED:
            return  # handed back: it has not ended, and goes on elsewhere
        now = wall()
        if out.json:
            stream.write(to_json(outcomes.resource(run, end, now)))
        else:
            stream.write(out.paint(outcomes.told(run, end, now), end.state.word))

    return tell


async def _greet(app: Noria, settings: WorkerSettings, flags: Flags, name: str, stream: LineWriter) -> None:
    counts = await answer(app.backend.counts(), flags.timeout)
    facts = greeting.gather(app, counts, settings, name=name, url=flags.url)
    for line in greeting.lines(facts):
        if flags.json:
            Output(flags).note(line)
        else:
            stream.write(line)
