"""`noria up`: a whole application on the embedded backend, its front and its worker in one process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from noria.app.application import Noria
from noria.app.config import take_api_key
from noria.cli import greeting, logs, outcomes
from noria.cli.command import Command
from noria.cli.departure import Departure
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import SECONDS, Flags, app_argument, flags_of, option
from noria.cli.front import SPARES, Beside, apart, site
from noria.cli.line import Line, supervised
from noria.cli.output import Output, to_json
from noria.cli.serve import make_server
from noria.cli.service import Service, nobody
from noria.cli.supervise import supervise
from noria.cli.target import answer, application, name_of
from noria.cli.worker import settings_of
from noria.cli.writer import LineWriter
from noria.clock import SystemClock
from noria.front.extra import missing
from noria.front.listener import HOST, PORT
from noria.model.settlement import Settlement
from noria.model.state import State
from noria.worker import WorkerSettings
from noria.worker.held import Run

_FLUSH = 2.0


@click.command(cls=Command, use="writes")
@app_argument
@option("-c", "--concurrency", type=int, help="async def jobs at once. Default: 100")
@option("--threads", type=int, help="def jobs at once. Default: cores + 4, at most 32")
@option("--process-slots", type=int, help='executor="process" jobs at once. Default: cores')
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
    "--reload/--no-reload", default=None,
    help="Start anew when a Python file of the application's folder changes, or not. Default: at a terminal",
)  # fmt: skip
@option("--host", default=HOST, show_default=True, help="The address that the front listens on.")
@option(
    "--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True,
    help="Its port; if it is taken, the next that is free.",
)  # fmt: skip
@option("--front/--no-front", default=True, help="Serve jobs over HTTP as well, or not. Default: serve")
@click.pass_context
def up(
    ctx: click.Context, /, named: str | None, processes: int | None, reload: bool | None, host: str, port: int,
    front: bool, **given: Any,
) -> None:  # fmt: skip
    """Run a whole application: its worker, and its front over HTTP.

    APP is module:attribute, or path/to/file.py. Says what there is and what to try; then prints one line for each
    finished job. On an address that others can reach, the front needs a key: NORIA_API_KEY, or one in the store.
    """
    flags = flags_of(ctx)
    line = supervised()
    settings = settings_of(**given, supervised=line is not None)
    level, child = logs.level(verbose=flags.verbose, quiet=True), line.number if line else 0
    house = _House(
        flags=flags, named=named, settings=settings, handler=logs.set_up("text", level=level, child=child),
        front=front, host=host, port=port,
    )  # fmt: skip
    reload = sys.stdout.isatty() if reload is None else reload
    if line is None and (reload or processes):
        raise Stop(house.keep_running(processes or 1, reload=reload))
    raise Stop(house.run(line))


@dataclass(frozen=True, slots=True, kw_only=True)
class _House:
    """What the command line asks for.

    Attributes:
        flags, settings: of the run, and of the worker.
        named: the application, if the command names it.
        handler: writes the log.
        front: whether there is to be one, at `host` and `port`.
    """

    flags: Flags
    settings: WorkerSettings
    named: str | None
    handler: logs.LineHandler
    front: bool
    host: str
    port: int

    def keep_running(self, processes: int, *, reload: bool) -> ExitCode:
        """All of it as processes of their own."""
        name = name_of(self.flags, self.named)
        code = supervise(
            processes,
            grace=self.settings.grace,
            watched=_folder_of(name) if reload else None,
            front=apart(self.flags, name, self.host, self.port) if self.front and not missing() else None,
        )
        logs.flush(self.handler)
        return code

    def run(self, line: Line | None) -> ExitCode:
        """A worker in this process, and the front beside it unless a supervisor sees to that."""
        key = take_api_key()  # the code that runs here should not have the key of the front
        app = application(self.flags, self.named)
        stream = LineWriter(sys.stdout.fileno())
        departure = Departure(lambda: self._flush(stream))
        departure.prepare()
        near = _beside(app, key, self.host, self.port) if self.front and line is None else None
        return Service(
            app=app,
            settings=self.settings,
            observer=teller(stream, Output(self.flags), SystemClock().wall),
            ready=lambda app: self._greet(app, stream, line, near, asks=key is not None),
            departure=departure,
            timeout=self.flags.timeout,
            line=line,
            beside=nobody if near is None else near.open,
        ).run()

    def _flush(self, stream: LineWriter) -> None:
        stream.close(_FLUSH)
        logs.flush(self.handler)

    async def _greet(
        self, app: Noria, stream: LineWriter, line: Line | None, near: Beside | None, *, asks: bool
    ) -> None:
        """Say once what there is; of several processes the first does."""
        if line is not None and (line.number, line.life) != (1, 1):
            return
        url, asks = (line.front, line.asks) if line is not None else ("" if near is None else near.url, asks)
        patience = self.flags.timeout
        found = await answer(site(app, url, self.port, asks=asks), patience) if self.front else None
        counts = await answer(app.backend.counts(), patience)
        name = self.named or self.flags.app or ""
        stored = await answer(app.schedules.list(), patience)
        timers = greeting.timers_of(stored, app.declared_schedules(), SystemClock().wall())
        facts = greeting.gather(
            app, counts, self.settings, found, name=name, url=self.flags.url, timers=timers
        )
        for told in greeting.lines(facts):
            if self.flags.json:
                Output(self.flags).note(told)
            else:
                stream.write(told)


def _beside(app: Noria, key: str | None, host: str, port: int) -> Beside | None:
    """The front in this process; None without the extra, which the greeting says."""
    return None if missing() else Beside(make_server(app, key=key, host=host, port=port, spares=SPARES))


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


def _folder_of(name: str) -> Path:
    """Where the files of an application are: beside its file, or in the current folder."""
    where = name.rpartition(":")[0] or name
    return Path(where).parent.absolute() if where.endswith(".py") else Path.cwd()
