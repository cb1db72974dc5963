"""`noria jobs`: find jobs, read their story, and retry, cancel, discard or copy them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import click
from msgspec import Struct

from noria import ids
from noria.app.explain import in_one_line
from noria.backends.contract import Altered
from noria.cli import jobview, query
from noria.cli.choice import Named, chosen, readable
from noria.cli.command import Group
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import SECONDS, Flags, flags_of, option
from noria.cli.jobchange import ask_of_jobs, retry_of
from noria.cli.opening import opened_peer, opened_source
from noria.cli.output import Output
from noria.cli.query import Wanted
from noria.cli.source import Kind, Listed, find
from noria.clock import SystemClock
from noria.front.resources import job_resource
from noria.ids import Id
from noria.model.job import Record
from noria.model.reason import Reason

_FAILURES: Final = {"missing": ExitCode.NOT_FOUND, "refused": ExitCode.REFUSED, "conflict": ExitCode.REFUSED}


@click.group(cls=Group)
def jobs() -> None:
    """Find jobs and change them."""


@jobs.command("list", use="reads")
@click.argument("words", nargs=-1, metavar="[QUERY]...")
@option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Show at most this many."
)
@option("--cursor", metavar="ID", help="Go on after this job, as the last page said.")
@option("--fail-empty", is_flag=True, help="Exit 8 if nothing matches.")
@click.pass_context
def list_jobs(
    ctx: click.Context, words: Sequence[str], limit: int, cursor: str | None, fail_empty: bool
) -> None:
    """List jobs, newest first.

    QUERY words, all of which must match: state:failed,expired  task:shop.*  queue:NAME  worker:NAME  tag:WORD
    correlation:ID  created:>2h (older than that)  created:<2h (younger)  finished:>2026-11-30 (since)
    args.PATH:VALUE  error:TEXT  dead  and free text; after -- a minus in front of a word negates it
    """
    flags = flags_of(ctx)
    now = SystemClock().wall()
    wanted = query.parse(words, now)
    page = asyncio.run(listed(flags, wanted, cursor, limit))
    show_page(Output(flags), page, now, fail_empty=fail_empty)


async def listed(flags: Flags, wanted: Wanted, cursor: str | None, limit: int) -> Listed:
    """That many of the jobs that are wanted, behind the cursor."""
    async with opened_source(flags) as source:
        return await find(source, wanted, cursor or None, limit)


def show_page(out: Output, page: Listed, now: float, *, fail_empty: bool) -> None:
    """Print a page of jobs, and how to go on."""
    if out.json:
        for record in page.records:
            out.record(job_resource(record))
    elif page.records:
        out.table(jobview.COLUMNS, [jobview.row(record, now) for record in page.records])
    more = f" · next: --cursor {page.next}" if page.next is not None else ""
    looked = " · the search stopped there" if page.scan_limited else ""
    out.note(f"{len(page.records):,} shown{more}{looked}" if page.records or more else "no job matches")
    if fail_empty and not page.records:
        raise Stop(ExitCode.NOTHING_MATCHED)


@jobs.command("show", use="reads")
@click.argument("id")
@click.pass_context
def show_job(ctx: click.Context, id: str) -> None:
    """Tell the whole story of one job; ID is the whole id, or its last 8 digits for a recent job."""
    flags = flags_of(ctx)
    out = Output(flags)
    record, reasons, children = asyncio.run(_read_all(flags, readable([id])))
    explained = in_one_line(reasons)
    if out.json:
        known = [ids.to_text(child.id) for child in children.records]
        out.record({**job_resource(record), "explained": explained, "children": known})
        return
    now = SystemClock().wall()
    for number, line in enumerate(jobview.story(record, now, explained, out.width, children)):
        out.line(line if number else out.paint(line, record.state.word))


@jobs.command("explain", use="reads")
@click.argument("id")
@click.pass_context
def explain_job(ctx: click.Context, id: str) -> None:
    """Say why a job is not running: how it stands, then each reason, the weightiest first."""
    flags = flags_of(ctx)
    out = Output(flags)
    record, reasons = asyncio.run(_read(flags, readable([id])))
    if out.json:
        told = {"explained": in_one_line(reasons), "reasons": reasons}
        out.record({"id": ids.to_text(record.id), "state": record.state.word, **told})
        return
    for number, reason in enumerate(reasons):
        out.line(("  " if number else "") + one_line(reason.text))


async def _read(flags: Flags, named: Sequence[Named]) -> tuple[Record, list[Reason]]:
    async with opened_source(flags) as source:
        [id] = await chosen(source, named)
        return await source.read(id)


async def _read_all(flags: Flags, named: Sequence[Named]) -> tuple[Record, list[Reason], jobview.Children]:
    """A job, with the first of its follow-ups."""
    async with opened_source(flags) as source:
        [id] = await chosen(source, named)
        record, reasons = await source.read(id)
        wanted = query.parse([f"parent:{ids.to_text(id)}"], SystemClock().wall())
        page = await source.find(wanted, None, jobview.MAX_CHILDREN)
    return record, reasons, jobview.Children(page.records, page.next is not None)


@jobs.command("retry", use="writes")
@click.argument("words", nargs=-1, required=True, metavar="ID...")
@option(
    "--args",
    "arguments",
    metavar="JSON",
    help="Run with these: JSON, @FILE, or - for stdin; the old stay readable.",
)
@option("--attempts", type=click.IntRange(1), help="How many attempts each gets. Default: as it had")
@option("--delay", type=SECONDS, help="Not before so long from now.")
@option("--note", help="Why, for the record.")
@click.pass_context
def retry_jobs(ctx: click.Context, /, words: Sequence[str], **how: Any) -> None:
    """Queue failed, cancelled or expired jobs again, with fresh attempts."""
    given = {name: value for name, value in how.items() if value is not None}
    if given:
        ask_of_jobs(ctx, words, "retry", "POST", "/retry", retry_of(given))
    else:
        _change(ctx, words, "retry")


@jobs.command("move", use="writes")
@click.argument("words", nargs=-1, required=True, metavar="ID...")
@option("--to", required=True, metavar="QUEUE", help="Where they are to wait.")
@click.pass_context
def move_jobs(ctx: click.Context, words: Sequence[str], to: str) -> None:
    """Have jobs that wait do so in another queue."""
    ask_of_jobs(ctx, words, "move", "PATCH", "", {"queue": to})


@jobs.command("cancel", use="writes")
@click.argument("words", nargs=-1, required=True, metavar="ID...")
@option("--note", default="", help="Why; it becomes the error of the job.")
@click.pass_context
def cancel_jobs(ctx: click.Context, words: Sequence[str], note: str) -> None:
    """End jobs as cancelled; one that runs is told through its worker."""
    _change(ctx, words, "cancel", note)


@jobs.command("discard", use="writes")
@click.argument("words", nargs=-1, required=True, metavar="ID...")
@option("--note", default="", help="Why, for the record.")
@click.pass_context
def discard_jobs(ctx: click.Context, words: Sequence[str], note: str) -> None:
    """Keep the records of failed jobs, but count them as dead letters no more."""
    _change(ctx, words, "discard", note)


@jobs.command("copy", use="writes")
@click.argument("words", nargs=-1, required=True, metavar="ID...")
@option("--queue", help="Another queue than the job's own.")
@option("--priority", type=int, help="-9 to 9; higher first. Default: the job's own")
@option("--delay", type=SECONDS, help="Not before so long from now.")
@click.pass_context
def copy_jobs(ctx: click.Context, /, words: Sequence[str], **differs: Any) -> None:
    """Enqueue jobs like these, with the same arguments; prints their ids."""
    body = {name: value for name, value in differs.items() if value is not None}
    asyncio.run(_copy(flags_of(ctx), readable(words), body))


async def _copy(flags: Flags, named: Sequence[Named], body: dict[str, Any]) -> None:
    from noria.cli.remote import RemoteSource  # what most commands about jobs do without

    out, keys = Output(flags), ids.IdSource(SystemClock())
    async with opened_peer(flags) as peer:
        for id in await chosen(RemoteSource(peer), named):
            path, key = f"/v1/jobs/{ids.to_text(id)}/copy", ids.to_text(keys.next())
            made = (await peer.ask("POST", path, body=body, key=key)).read(Made)
            if out.json:
                out.record({"id": made.id, "copy_of": ids.to_text(id)})
            else:
                out.line(made.id)


class Made(Struct):
    """The new job, as far as it is told."""

    id: str


def _change(ctx: click.Context, words: Sequence[str], kind: Kind, note: str = "") -> None:
    flags = flags_of(ctx)
    found, answers = asyncio.run(changed(flags, readable(words), kind, note))
    report(Output(flags), kind, found, answers)


async def changed(
    flags: Flags, named: Sequence[Named], kind: Kind, note: str = ""
) -> tuple[list[Id], list[Altered]]:
    """Change the jobs that are named: which they were, and what became of each."""
    async with opened_source(flags) as source:
        found = await chosen(source, named)
        return found, await source.alter(found, kind, note)


def report(out: Output, kind: str, found: Sequence[Id], answers: Sequence[Altered]) -> None:
    """Print what became of each change; raise `Stop` if any was not made."""
    for id, each in zip(found, answers, strict=True):
        state = each.state.word if each.state is not None else None
        if out.json:
            out.record({"id": ids.to_text(id), "action": kind, "status": each.status, "state": state})
        else:
            out.line(f"{ids.to_text(id)}  {_told(kind, each.status, state)}")
    codes = [_FAILURES[each.status] for each in answers if each.status in _FAILURES]
    if codes:
        raise Stop(max(codes))


def _told(kind: str, status: str, state: str | None) -> str:
    match status:
        case "done":
            return str(state)
        case "asked":
            return f"{state}; its worker was told to {kind} it"
        case "missing":
            return "no such job: erased, pruned, or never enqueued here"
        case "conflict":
            return f"{state}; cannot {kind}: another live job of its task has its unique key"
        case _:
            return f"{state}; a job in this state cannot be {_PAST[kind]}"


_PAST: Final[dict[str, Any]] = {"cancel": "cancelled", "retry": "retried", "discard": "discarded"}
