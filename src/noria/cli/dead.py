"""`noria dead`: failed jobs that nobody has dealt with."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, Literal

import click

from noria import ids
from noria.backends.contract import Altered, Backend, Change, Query
from noria.cli import query
from noria.cli.choice import PAGE, Named, chosen, readable
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import Flags, Group, flags_of, option
from noria.cli.jobs import find, report, show_page
from noria.cli.kin import Kin, grouped, show
from noria.cli.output import Output
from noria.cli.quantities import count
from noria.cli.target import answer, opened_store
from noria.clock import SystemClock
from noria.errors import InvalidInput
from noria.ids import Id
from noria.model.job import Record

Kind = Literal["retry", "discard"]
_DEAD: Final = Query(dead=True)


@click.group(cls=Group)
def dead() -> None:
    """Deal with failed jobs that wait for it."""


@dead.command("list")
@click.argument("words", nargs=-1, metavar="[QUERY]...")
@option("--group", is_flag=True, help="One line for each kind of failure, instead of each job.")
@option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Show at most this many."
)
@option("--cursor", metavar="ID", help="Go on after this job, as the last page said.")
@option("--fail-empty", is_flag=True, help="Exit 8 if there are none.")
@click.pass_context
def list_dead(
    ctx: click.Context, words: Sequence[str], group: bool, limit: int, cursor: str | None, fail_empty: bool
) -> None:
    """List dead letters, newest first; QUERY words as in `noria jobs list`."""
    flags = flags_of(ctx)
    out = Output(flags)
    now = SystemClock().wall()
    wanted = query.parse([*words, "dead"], now)
    if group:
        kin = asyncio.run(_grouped(flags, wanted))
        show(out, kin, limit, now)
        if fail_empty and not kin:
            raise Stop(ExitCode.NOTHING_MATCHED)
        return

    async def page() -> Any:
        async with opened_store(flags) as store:
            return await find(store, wanted, ids.from_text(cursor) if cursor else None, limit, flags.timeout)

    show_page(out, asyncio.run(page()), now, fail_empty=fail_empty)


async def _grouped(flags: Flags, wanted: Query) -> list[Kin]:
    async with opened_store(flags) as store:
        return grouped([record async for record in walk(store, wanted, flags.timeout)])


async def walk(store: Backend, wanted: Query, seconds: float) -> AsyncIterator[Record]:
    """Every record that matches, page by page."""
    after: Id | None = None
    while True:
        page = await answer(store.find(wanted, after, PAGE), seconds)
        for record in page.records:
            yield record
        after = page.next
        if after is None:
            return


@dead.command("retry")
@click.argument("words", nargs=-1, metavar="[ID]...")
@option("--all", "everything", is_flag=True, help="All dead letters, or those that --query selects.")
@option("--query", "queries", multiple=True, metavar="WORD", help="With --all: only these; may repeat.")
@option("--fail-empty", is_flag=True, help="Exit 8 if there are none.")
@click.pass_context
def retry_dead(ctx: click.Context, /, words: Sequence[str], **choice: Any) -> None:
    """Queue dead letters again, with fresh attempts."""
    _deal(ctx, "retry", words, **choice)


@dead.command("discard")
@click.argument("words", nargs=-1, metavar="[ID]...")
@option("--all", "everything", is_flag=True, help="All dead letters, or those that --query selects.")
@option("--query", "queries", multiple=True, metavar="WORD", help="With --all: only these; may repeat.")
@option("--fail-empty", is_flag=True, help="Exit 8 if there are none.")
@click.pass_context
def discard_dead(ctx: click.Context, /, words: Sequence[str], **choice: Any) -> None:
    """Keep the records of dead letters, but count them as such no more."""
    _deal(ctx, "discard", words, **choice)


def _deal(
    ctx: click.Context,
    kind: Kind,
    words: Sequence[str],
    *,
    everything: bool,
    queries: Sequence[str],
    fail_empty: bool,
) -> None:
    flags = flags_of(ctx)
    out = Output(flags)
    if bool(words) == everything:
        raise InvalidInput(f"name the jobs to {kind}, or say --all", field="id")
    if queries and not everything:
        raise InvalidInput("--query chooses among --all", field="query")
    if words:
        found, answers = asyncio.run(_deal_with(flags, readable(words), Change(kind=kind)))
        report(out, kind, found, answers)
        return
    wanted = query.parse([*queries, "dead"], SystemClock().wall())
    dealt = asyncio.run(_deal_with_all(flags, out, kind, wanted))
    if fail_empty and not dealt:
        raise Stop(ExitCode.NOTHING_MATCHED)


async def _deal_with(flags: Flags, named: Sequence[Named], change: Change) -> tuple[list[Id], list[Altered]]:
    async with opened_store(flags) as store:
        found = await chosen(store, named)
        return found, await answer(store.alter(found, change), flags.timeout)


async def _deal_with_all(flags: Flags, out: Output, kind: Kind, wanted: Query) -> int:
    """Change every dead letter that is there now; those that come later wait for the next time."""
    async with opened_store(flags) as store:
        found = [record.id async for record in walk(store, wanted, flags.timeout)]
        if found and not flags.yes:
            agreed(f"{kind} {count(len(found), 'dead letter')}?")
        became: Counter[str] = Counter()
        with out.progress(kind, len(found)) as advance:
            for start in range(0, len(found), PAGE):
                part = found[start : start + PAGE]
                for each in await answer(store.alter(part, Change(kind=kind)), flags.timeout):
                    became[each.status] += 1
                advance(len(part))
    _sum_up(out, kind, became)
    return len(found)


def agreed(question: str) -> None:
    """Ask on stderr.

    Raises:
        Stop: the answer was no.
        InvalidInput: nobody answers.
    """
    try:
        yes = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise InvalidInput("this asks first, and nobody can answer: say --yes", field="yes") from None
    if not yes:
        click.echo("nothing was changed", err=True)
        raise Stop(ExitCode.FAILED)


def _sum_up(out: Output, kind: Kind, became: Counter[str]) -> None:
    done, left = became["done"], became.total() - became["done"]
    if out.json:
        out.record({"action": kind, "matched": became.total(), "done": done, "skipped": left})
        return
    verb = "queued again" if kind == "retry" else "discarded"
    others = f", {left:,} skipped: somebody else changed them, or their unique key is taken" if left else ""
    out.line(f"{count(done, 'dead letter')} {verb}{others}" if became else "no dead letters")
