"""`noria db`: the schema of the store, seen and brought up to date."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from noria.app.connect import Postgres, Sqlite, read_url, without_credentials
from noria.backends.sql.standing import Standing
from noria.cli.command import Group
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import flags_of, option
from noria.cli.output import Output
from noria.cli.target import url_of
from noria.clock import SystemClock
from noria.errors import ConfigError


@click.group(cls=Group, alone="status")
def db() -> None:
    """See the schema of the store, and bring it up to date."""


@db.command("status", use="reads")
@click.pass_context
def status(ctx: click.Context) -> None:
    """Say which version the schema has, and whether something is to be done. Changes nothing.

    Ends with 1 if the schema is not made yet, or is not up to date.
    """
    flags = flags_of(ctx)
    url = url_of(flags)
    found = _Schema(url, flags.timeout).standing()
    _show(Output(flags), url, found)
    if not found.current:
        raise Stop(ExitCode.FAILED)


@db.command("migrate", use=lambda given: "reads" if given["sql"] else "writes")
@option("--sql", is_flag=True, help="Print the SQL for somebody else to run, and change nothing.")
@click.pass_context
def migrate(ctx: click.Context, /, sql: bool) -> None:
    """Make the schema, or bring it up to date. Workers do so by themselves, if they may."""
    flags = flags_of(ctx)
    url = url_of(flags)
    schema, out = _Schema(url, flags.timeout), Output(flags)
    if sql:
        text = schema.script()
        click.echo(text or "-- the schema is up to date", nl=not text)
        return
    _show(out, url, schema.migrate())


class _Schema:
    """The schema at a URL, whatever backend that is.

    Attributes:
        standing: says how it stands.
        migrate: brings it up to date, and says so.
        script: the SQL that would.
    """

    def __init__(self, url: str, seconds: float) -> None:
        store = read_url(url)
        self.standing: Callable[[], Standing]
        self.migrate: Callable[[], Standing]
        self.script: Callable[[], str]
        if isinstance(store, Postgres):
            self._on_server(store, seconds)
        elif isinstance(store, Sqlite):
            self._in_file(store, seconds)
        else:
            raise ConfigError("a Redis server has no schema: there is nothing to migrate")

    def _on_server(self, store: Postgres, seconds: float) -> None:
        from noria.backends.postgres import database
        from noria.backends.postgres.backend import settings_of

        settings, clock = settings_of(store.conninfo, store.namespace, timeout=seconds), SystemClock()
        self.standing = partial(database.standing, settings, clock)
        self.migrate = partial(database.migrate, settings, clock)
        self.script = partial(database.script, settings, clock)

    def _in_file(self, store: Sqlite, seconds: float) -> None:
        from noria.backends.sqlite import database
        from noria.backends.sqlite.settings import Settings

        settings = Settings(path=str(store.path.absolute()), runtime=Path(), timeout=seconds)
        self.standing = partial(database.standing, settings)
        self.migrate = partial(database.migrate, settings)
        self.script = partial(database.script, settings)


def _show(out: Output, url: str, found: Standing) -> None:
    if out.json:
        out.record(
            {
                "url": without_credentials(url),
                "version": found.version,
                "newest": found.newest,
                **found.details,
            }
        )
        return
    out.line(f"{'store':<12}{without_credentials(url)}")
    for name, text in found.details.items():
        out.line(f"{name:<12}{one_line(text)}")
    out.line(f"{'schema':<12}{_words(found)}")


def _words(found: Standing) -> str:
    if found.version > found.newest:
        return f"version {found.version}; this program knows {found.newest}, and may run on it"
    if found.current:
        return f"version {found.version}, up to date"
    if not found.version:
        return "not made yet; a worker makes it, or `noria db migrate`"
    return f"version {found.version} of {found.newest}: run `noria db migrate`, or start a worker of this version"
