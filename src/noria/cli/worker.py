"""`noria worker`: one worker process."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import click

from noria import ids
from noria.app.application import Noria
from noria.cli import logs
from noria.cli.departure import Departure
from noria.cli.exits import Stop
from noria.cli.flags import SECONDS, Command, Flags, app_argument, flags_of, option
from noria.cli.quantities import duration
from noria.cli.resources import summary
from noria.cli.service import Service
from noria.cli.target import application
from noria.model.outcome import Settlement
from noria.model.state import State
from noria.worker import WorkerSettings
from noria.worker.run import Run

log = logging.getLogger("noria.cli")


@click.command(cls=Command)
@app_argument
@option(
    "-q",
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME",
    help="Serve this queue; may repeat. Default: all.",
)
@option("-c", "--concurrency", type=int, help="async def jobs at once. Default: 100")
@option("--threads", type=int, help="def jobs at once. Default: cores + 4, at most 32")
@option("--drain", type=SECONDS, help="How long running jobs get to end when it is stopped. Default: 30")
@option("--burst", is_flag=True, help="Stop as soon as there is nothing to do.")
@option("--name", help="A label for people. Default: host and process id")
@option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="On stderr."
)
@click.pass_context
def worker(
    ctx: click.Context, /, named: str | None, log_format: Literal["text", "json"], **given: Any
) -> None:
    """Run the jobs of an application.

    APP is module:attribute, or path/to/file.py. SIGTERM or Ctrl-C drains: running jobs end, nothing new
    begins. Again stops now; jobs are handed back.

    Exit codes: 0 drained, 1 cut short, 2 wrong use or the application cannot be imported, 3 no backend.
    """
    flags = flags_of(ctx)
    settings = settings_of(**given)
    handler = logs.set_up(log_format, level=logs.level(verbose=flags.verbose, quiet=flags.quiet))
    departure = Departure(lambda: logs.flush(handler))
    departure.prepare()
    code = Service(
        app=application(flags, named),
        settings=settings,
        observer=observe,
        ready=lambda app: _say_what_runs(app, settings, flags),
        departure=departure,
        timeout=flags.timeout,
    ).run()
    raise Stop(code)


def settings_of(
    *,
    queues: Sequence[str] = (),
    concurrency: int | None = None,
    threads: int | None = None,
    drain: float | None = None,
    burst: bool = False,
    name: str | None = None,
) -> WorkerSettings:
    """The settings that the flags amount to; what is not said is left to the worker.

    Raises:
        InvalidOption, InvalidName: a value is out of range, before anything has begun.
    """
    given = {"concurrency": concurrency, "threads": threads, "grace": drain, "name": name}
    said = {name: value for name, value in given.items() if value is not None}
    return WorkerSettings(queues=tuple(dict.fromkeys(queues)), burst=burst, **said)  # type: ignore[arg-type]  # each value has its field's type


async def _say_what_runs(app: Noria, settings: WorkerSettings, flags: Flags) -> None:
    queues = settings.queues or sorted({task.queue for task in app.tasks.values()})
    log.info(
        "worker of %d tasks serves %s; slots: async %d, threads %d; %s; SIGTERM or Ctrl-C drains up to %s",
        len(app.tasks), ", ".join(queues), settings.concurrency, settings.threads,
        app.backend.capabilities.durability, duration(settings.grace),
    )  # fmt: skip


def observe(run: Run, end: Settlement) -> None:
    """Log an outcome: what failed always, what went well only in detail."""
    usual = end.failure is None or end.state in (State.SCHEDULED, State.QUEUED)
    level = logging.DEBUG if usual else logging.WARNING
    if log.isEnabledFor(level):
        tally, id = run.lease.tally, ids.to_text(end.id)
        attempt, why = f"{tally.spent + 1} of {tally.attempts}", summary(end.failure)
        again = f"; again in {duration(end.delay)}" if end.state is State.RETRYING else ""
        log.log(level, "%s %s attempt %s: %s%s %s", run.lease.task, id, attempt, end.state.word, again, why)
