"""`noria jobs`: find jobs, read their story, and retry, cancel or discard them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Literal

import click

from noria import ids
from noria.app.explain import explain
from noria.backends.contract import Altered, Backend, Change, Page, Parts, Query
from noria.cli import jobview, query
from noria.cli.choice import PAGE, Named, chosen, readable
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import Flags, Group, flags_of, option
from noria.cli.output import Output
from noria.cli.resources import job_resource
from noria.cli.target import answer, opened_store
from noria.clock import SystemClock
from noria.errors import JobNotFound
from noria.ids import Id
from noria.model.job import Record

_FAILURES: Final = {"missing": ExitCode.NOT_FOUND, "refused": ExitCode.REFUSED, "conflict": ExitCode.REFUSED}


@click.group(cls=Group)
def jobs() -> None:
    """Find jobs and change them."""


@jobs.command("list")
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

    QUERY words, all of which must match: state:failed,expired  task:NAME  queue:NAME  tag:WORD
    correlation:ID  created:>2h (older than that)  created:<2h (younger)  created:>2026-11-30 (since)  dead
    """
    flags = flags_of(ctx)
    now = SystemClock().wall()
    wanted = query.parse(words, now)
    after = ids.from_text(cursor) if cursor else None
    page = asyncio.run(_find(flags, wanted, after, limit))
    show_page(Output(flags), page, now, fail_empty=fail_empty)


async def _find(flags: Flags, wanted: Query, after: Id | None, limit: int) -> Page:
    async with opened_store(flags) as store:
        return await find(store, wanted, after, limit, flags.timeout)


async def find(store: Backend, wanted: Query, after: Id | None, limit: int, seconds: float) -> Page:
    """Read pages until there are `limit` records, or no more, or the backend stopped looking."""
    records: list[Record] = []
    while True:
        page = await answer(store.find(wanted, after, min(PAGE, limit - len(records))), seconds)
        records += page.records
        after = page.next
        if after is None or len(records) >= limit or page.scan_limited:
            return Page(records, after, page.scan_limited)


def show_page(out: Output, page: Page, now: float, *, fail_empty: bool) -> None:
    """Print a page of jobs, and how to go on."""
    if out.json:
        for record in page.records:
            out.record(job_resource(record))
    elif page.records:
        out.table(jobview.COLUMNS, [jobview.row(record, now) for record in page.records])
    more = f" · next: --cursor {ids.to_text(page.next)}" if page.next is not None else ""
    looked = " · the backend stopped looking there" if page.scan_limited else ""
    out.note(f"{len(page.records):,} shown{more}{looked}" if page.records or more else "no job matches")
    if fail_empty and not page.records:
        raise Stop(ExitCode.NOTHING_MATCHED)


@jobs.command("show")
@click.argument("id")
@click.pass_context
def show_job(ctx: click.Context, id: str) -> None:
    """Tell the whole story of one job; ID is the whole id, or its last 8 digits for a recent job."""
    flags = flags_of(ctx)
    out = Output(flags)
    record, explained = asyncio.run(_read(flags, readable([id])))
    if out.json:
        out.record({**job_resource(record), "explained": explained})
        return
    for number, line in enumerate(jobview.story(record, SystemClock().wall(), explained)):
        out.line(line if number else out.paint(line, record.state.word))


@jobs.command("explain")
@click.argument("id")
@click.pass_context
def explain_job(ctx: click.Context, id: str) -> None:
    """Say in one line why a job is not running."""
    flags = flags_of(ctx)
    out = Output(flags)
    record, explained = asyncio.run(_read(flags, readable([id])))
    if out.json:
        out.record({"id": ids.to_text(record.id), "state": record.state.word, "explained": explained})
    else:
        out.line(one_line(explained))


async def _read(flags: Flags, named: Sequence[Named]) -> tuple[Record, str]:
    async with opened_store(flags) as store:
        [id] = await chosen(store, named)
        [record] = await answer(store.get([id], Parts.ALL), flags.timeout)
        if record is None:
            raise JobNotFound(f"there is no job {ids.to_text(id)}: erased, pruned, or never enqueued here")
        counts = await answer(store.counts(), flags.timeout)
        return record, explain(record, counts, SystemClock().wall())


@jobs.command("retry")
@click.argument("words", nargs=-1, required=True, metavar="ID...")
@click.pass_context
def retry_jobs(ctx: click.Context, words: Sequence[str]) -> None:
    """Queue failed, cancelled or expired jobs again, with fresh attempts."""
    _change(ctx, words, "retry")


@jobs.command("cancel")
@click.argument("words", nargs=-1, required=True, metavar="ID...")
@option("--note", default="", help="Why, for the record.")
@click.pass_context
def cancel_jobs(ctx: click.Context, words: Sequence[str], note: str) -> None:
    """End jobs as cancelled; one that runs is told through its worker."""
    _change(ctx, words, "cancel", note)


@jobs.command("discard")
@click.argument("words", nargs=-1, required=True, metavar="ID...")
@option("--note", default="", help="Why, for the record.")
@click.pass_context
def discard_jobs(ctx: click.Context, words: Sequence[str], note: str) -> None:
    """Keep the records of failed jobs, but count them as dead letters no more."""
    _change(ctx, words, "discard", note)


def _change(
    ctx: click.Context, words: Sequence[str], kind: Literal["cancel", "retry", "discard"], note: str = ""
) -> None:
    flags = flags_of(ctx)
    found, answers = asyncio.run(_alter(flags, readable(words), Change(kind=kind, note=note)))
    report(Output(flags), kind, found, answers)


async def _alter(flags: Flags, named: Sequence[Named], change: Change) -> tuple[list[Id], list[Altered]]:
    async with opened_store(flags) as store:
        found = await chosen(store, named)
        return found, await answer(store.alter(found, change), flags.timeout)


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
