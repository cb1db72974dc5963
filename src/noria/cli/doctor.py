"""`noria doctor`: looks at everything that can be wrong, and says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from noria.app.application import Noria
from noria.app.config import backend_url
from noria.app.connect import Postgres, Redis, Sqlite, connect, read_url, without_credentials
from noria.cli import checks_host, checks_redis, checks_server, checks_store, checks_work
from noria.cli.command import Command
from noria.cli.escape import one_line, without_secrets
from noria.cli.exits import ExitCode, ImportFault, Stop
from noria.cli.finding import Finding, Mark, failed, note, ok
from noria.cli.flags import Flags, app_argument, flags_of, option
from noria.cli.output import Output
from noria.cli.quantities import count
from noria.cli.target import answer, application, check_no_front
from noria.clock import SystemClock
from noria.errors import BackendError, ConfigError
from noria.ids import IdSource


@click.command(cls=Command, use="reads")
@app_argument
@option("--skip-integrity", is_flag=True, help="Do not read the whole store to see if it is damaged.")
@click.pass_context
def doctor(ctx: click.Context, /, named: str | None, skip_integrity: bool) -> None:
    """Look for what is wrong, and say the fix.

    Checks the configuration, the backend, and the work in it. With APP (module:attribute, or
    path/to/file.py) its tasks are compared with the jobs that wait.
    """
    flags = flags_of(ctx)
    check_no_front(flags)
    out = Output(flags)
    findings = []
    for finding in examine(flags, named, out, whole=not skip_integrity):
        findings.append(finding)
        show(out, finding)
    bad = sum(finding.mark is Mark.FAILED for finding in findings)
    doubtful = sum(finding.mark is Mark.WARNING for finding in findings)
    out.note(f"{count(len(findings), 'finding')}: {bad} failed, {count(doubtful, 'warning')}")
    if bad:
        raise Stop(ExitCode.FAILED)


def examine(flags: Flags, named: str | None, out: Output, *, whole: bool) -> Iterator[Finding]:
    """All findings, one by one, in the order in which one thing rests on the other."""
    app: Noria | None = None
    if named or flags.app:
        try:
            app = application(flags, named)
            yield ok("application", f"{count(len(app.tasks), 'task')} declared")
        except ImportFault as fault:
            out.note(fault.trace.rstrip("\n"))
            yield failed("application", str(fault), "see the traceback")
    url = flags.url or (app.url if app is not None else None) or backend_url()
    try:
        store = read_url(url)
    except ConfigError as error:
        yield failed("url", str(error), "mend --url or NORIA_URL")
        return
    yield ok("url", without_credentials(url))
    if not isinstance(store, Sqlite):
        unmade = False
        for finding in _examine_server(store, flags.timeout):
            unmade |= finding.mark is Mark.NOTE and finding.check in ("schema", "namespace")
            yield finding
        if not unmade:  # opening it would make it
            yield from _examine_work(url, flags, store.path, app)
        return
    yield from checks_host.check_host(store.path)
    if not store.path.exists():
        if checks_host.may_be_made(store.path):
            yield note(
                "store", f"{store.path.absolute()} is not there yet; a worker or `noria enqueue` makes it"
            )
        return
    yield from _examine_store(store, out, whole=whole)
    yield from _examine_work(url, flags, store.path, app)


def _examine_server(store: Postgres | Redis, seconds: float) -> Iterator[Finding]:
    if isinstance(store, Postgres):
        return checks_server.check_server(store, seconds)
    return checks_redis.check_redis(store, seconds)


def _examine_store(store: Sqlite, out: Output, *, whole: bool) -> Iterable[Finding]:
    with out.progress("integrity", None) as tick:
        return list(checks_store.check_store(store.path, store.synchronous, whole=whole, tick=tick))


def _examine_work(url: str, flags: Flags, store: Path | None, app: Noria | None) -> Iterable[Finding]:
    try:
        return asyncio.run(_work(url, flags, store, () if app is None else tuple(app.tasks)))
    except (BackendError, ConfigError) as error:
        return [failed("backend", str(error), "see the findings above")]


async def _work(url: str, flags: Flags, store: Path | None, declared: tuple[str, ...]) -> list[Finding]:
    clock = SystemClock()
    backend = connect(url, clock, IdSource(clock))
    await answer(backend.start(), flags.timeout)
    try:
        opened = ok("backend", f"answers; {backend.capabilities.durability}")
        counts = await answer(backend.counts(), flags.timeout)
        met = () if store is None else checks_host.check_meeting(store, counts.workers, clock.wall())
        work = await checks_work.check_work(backend, counts, declared, clock.wall(), flags.timeout)
        return [opened, *met, *work]
    finally:
        await answer(backend.aclose(), flags.timeout)


def show(out: Output, finding: Finding) -> None:
    """Print one finding, and its fix below it."""
    text, fix = without_secrets(finding.text), without_secrets(finding.fix)
    if out.json:
        out.record({"check": finding.check, "status": finding.mark.value, "text": text, "fix": fix or None})
        return
    mark = finding.mark.value
    out.line(out.paint(f"{mark:<8} {finding.check:<16} {one_line(text)}", mark))
    if fix:
        out.line(f"{'':<8} {'':<16} fix: {one_line(fix)}")
