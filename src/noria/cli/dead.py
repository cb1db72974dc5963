"""`noria dead`: failed jobs that nobody has dealt with."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from noria.cli import query
from noria.cli.asking import agreed
from noria.cli.choice import readable
from noria.cli.command import Group
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import Flags, flags_of, option
from noria.cli.jobs import changed, listed, report, show_page
from noria.cli.kin import Kin, grouped, show
from noria.cli.opening import opened_source
from noria.cli.output import Output
from noria.cli.quantities import count
from noria.cli.query import Wanted
from noria.cli.source import PAGE, Kind, walk
from noria.clock import SystemClock
from noria.errors import InvalidInput

F = TypeVar("F", bound=Callable[..., Any])


@click.group(cls=Group)
def dead() -> None:
    """Deal with failed jobs that wait for it."""


@dead.command("list", use="reads")
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

    show_page(out, asyncio.run(listed(flags, wanted, cursor, limit)), now, fail_empty=fail_empty)


async def _grouped(flags: Flags, wanted: Wanted) -> list[Kin]:
    async with opened_source(flags) as source:
        return grouped([record async for record in walk(source, wanted)])


_CHOICE: Final = (
    click.argument("words", nargs=-1, metavar="[ID]..."),
    option("--all", "everything", is_flag=True, help="All dead letters, or those that --query selects."),
    option("--query", "queries", multiple=True, metavar="WORD", help="With --all: only these; may repeat."),
    option("--fail-empty", is_flag=True, help="Exit 8 if there are none."),
)


def _choosing(command: F) -> F:
    """Give a command the flags by which dead letters are chosen."""
    for flag in reversed(_CHOICE):
        command = flag(command)
    return command


@dead.command("retry", use="writes")
@_choosing
@click.pass_context
def retry_dead(ctx: click.Context, /, words: Sequence[str], **choice: Any) -> None:
    """Queue dead letters again, with fresh attempts."""
    _deal(ctx, "retry", words, **choice)


@dead.command("discard", use="writes")
@_choosing
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
        found, answers = asyncio.run(changed(flags, readable(words), kind))
        report(out, kind, found, answers)
        return
    wanted = query.parse([*queries, "dead"], SystemClock().wall())
    dealt = asyncio.run(_deal_with_all(flags, out, kind, wanted))
    if fail_empty and not dealt:
        raise Stop(ExitCode.NOTHING_MATCHED)


async def _deal_with_all(flags: Flags, out: Output, kind: Kind, wanted: Wanted) -> int:
    """Change every dead letter that is there now; those that come later wait for the next time."""
    async with opened_source(flags) as source:
        found = [record.id async for record in walk(source, wanted)]
        if found and not flags.yes:
            agreed(f"{kind} {count(len(found), 'dead letter')}?")
        became: Counter[str] = Counter()
        with out.progress(kind, len(found)) as advance:
            for start in range(0, len(found), PAGE):
                part = found[start : start + PAGE]
                for each in await source.alter(part, kind):
                    became[each.status] += 1
                advance(len(part))
    _sum_up(out, kind, became)
    return len(found)


def _sum_up(out: Output, kind: Kind, became: Counter[str]) -> None:
    done, left = became["done"], became.total() - became["done"]
    if out.json:
        out.record({"action": kind, "matched": became.total(), "done": done, "skipped": left})
        return
    verb = "queued again" if kind == "retry" else "discarded"
    others = f", {left:,} skipped: somebody else changed them, or their unique key is taken" if left else ""
    out.line(f"{count(done, 'dead letter')} {verb}{others}" if became else "no dead letters")
