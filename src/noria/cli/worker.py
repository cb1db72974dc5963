"""`noria worker`: one worker process."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import click

from noria import ids
from noria.app.application import Noria
from noria.app.config import take_api_key
from noria.cli import logs
from noria.cli.command import Command
from noria.cli.departure import Departure
from noria.cli.exits import Stop
from noria.cli.flags import BYTES, SECONDS, Flags, app_argument, flags_of, option
from noria.cli.line import supervised
from noria.cli.quantities import count, duration
from noria.cli.service import Service
from noria.cli.supervise import supervise
from noria.cli.target import application
from noria.errors import InvalidOption, shown
from noria.front.resources import summary
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from noria.worker import WorkerSettings
from noria.worker.held import Run

log = logging.getLogger("noria.cli")


@click.command(cls=Command, use="writes")
@app_argument
@option(
    "-q",
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME[=WEIGHT]",
    help="Serve this queue, with this share; may repeat. Default: all, as app.queue says.",
)
@option("-c", "--concurrency", type=int, help="async def jobs at once. Default: 100")
@option("--threads", type=int, help="def jobs at once. Default: cores + 4, at most 32")
@option("--process-slots", type=int, help='executor="process" jobs at once. Default: cores')
@option(
    "--process-memory-limit",
    type=BYTES,
    metavar="SIZE",
    help="Replace a job's process above this, as in 512MB.",
)
@option(
    "--drain",
    type=SECONDS,
    help="How long the whole stop may take; the last 2 s, or a quarter if less, record outcomes. Default: 30",
)
@option(
    "--processes",
    type=click.IntRange(1, 1_000),
    help="Run this many worker processes, and keep them running.",
)
@option(
    "--memory-limit", type=BYTES, metavar="SIZE", help="Replace a worker process above this, as in 512MB."
)
@option("--burst", is_flag=True, help="Stop as soon as there is nothing to do.")
@option("--name", help="A label for people. Default: host and process id")
@option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="On stderr."
)
@click.pass_context
def worker(
    ctx: click.Context,
    /,
    named: str | None,
    log_format: Literal["text", "json"],
    processes: int | None,
    **given: Any,
) -> None:
    """Run the jobs of an application.

    APP is module:attribute, or path/to/file.py. SIGTERM or Ctrl-C drains: running jobs end, nothing new
    begins. Again stops now; jobs are handed back.

    Exit codes: 0 drained, 1 cut short, 2 wrong use or the application cannot be imported, 3 no backend, 75 above
    its memory limit and drained.
    """
    flags = flags_of(ctx)
    line = supervised()
    settings = settings_of(**given, supervised=line is not None)
    level, child = logs.level(verbose=flags.verbose, quiet=flags.quiet), line.number if line else 0
    handler = logs.set_up(log_format, level=level, child=child)
    departure = Departure(lambda: logs.flush(handler))
    departure.prepare()
    if line is None and processes is not None:
        raise Stop(supervise(processes, grace=settings.grace, burst=settings.burst))
    take_api_key()  # handlers, and the processes of their jobs, have no need of the key of a front
    code = Service(
        app=application(flags, named),
        settings=settings,
        observer=observe,
        ready=lambda app: _say_what_runs(app, settings, flags),
        departure=departure,
        timeout=flags.timeout,
        line=line,
    ).run()
    raise Stop(code)


def settings_of(
    *,
    queues: Sequence[str] = (),
    concurrency: int | None = None,
    threads: int | None = None,
    process_slots: int | None = None,
    process_memory_limit: int | None = None,
    drain: float | None = None,
    memory_limit: int | None = None,
    burst: bool = False,
    supervised: bool = False,
    name: str | None = None,
) -> WorkerSettings:
    """The settings that the flags amount to; what is not said is left to the worker.

    Raises:
        InvalidOption, InvalidName: a value is out of range, before anything has begun.
    """
    given = {
        "concurrency": concurrency,
        "threads": threads,
        "process_slots": process_slots,
        "process_memory_limit": process_memory_limit,
        "memory_limit": memory_limit,
        "grace": drain,
        "name": name,
    }
    said = {name: value for name, value in given.items() if value is not None}
    names, weights = _weighted(queues)
    return WorkerSettings(queues=names, weights=weights, burst=burst, supervised=supervised, **said)  # type: ignore[arg-type]  # each value has its field's type


def _weighted(queues: Sequence[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Names, and the weights of those that have one."""
    weights = {}
    parted = [each.partition("=") for each in queues]
    named = Counter(name for name, _, _ in parted)
    for name, equals, weight in parted:
        if equals and not (weight.isascii() and weight.isdigit() and len(weight) < 10):
            raise InvalidOption(
                f"-q {name!r:.40}: a weight is a whole number, as in -q detail=8, not {shown(weight)}",
                field="queue",
            )
        if equals and named[name] > 1:
            raise InvalidOption(f"-q {name}: it is named twice; give it one weight", field="queue")
        if equals:
            weights[name] = int(weight)
    return tuple(dict.fromkeys(name for name, _, _ in parted)), weights


async def _say_what_runs(app: Noria, settings: WorkerSettings, flags: Flags) -> None:
    queues = settings.queues or sorted({task.queue for task in app.tasks.values()})
    log.info(
        "%s of %s; slots: async %d, threads %d, processes %d; %s; SIGTERM or Ctrl-C drains, up to %s",
        count(len(app.tasks), "task"), ", ".join(queues),
        settings.concurrency, settings.threads, settings.process_slots,
        app.backend.capabilities.durability, duration(settings.grace),
    )  # fmt: skip


def observe(run: Run, end: Settlement) -> None:
    """Log an outcome: what did not go well always, what did only in detail."""
    usual = end.failure is None or end.state in (State.SCHEDULED, State.QUEUED)
    level = logging.DEBUG if usual else logging.WARNING
    if log.isEnabledFor(level):
        tally, id = run.lease.tally, ids.to_text(end.id)
        attempt, why = f"{tally.spent + 1} of {tally.attempts}", summary(end.failure)
        again = f"; again in {duration(end.delay)}" if end.state is State.RETRYING else ""
        late = end.state is State.FAILED and end.outcome is Outcome.TIMED_OUT
        word = end.outcome.word if late else end.state.word
        log.log(level, "%s %s attempt %s: %s%s %s", run.lease.task, id, attempt, word, again, why)
