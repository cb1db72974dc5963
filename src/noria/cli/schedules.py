"""`noria schedules`: timers, when they are due, and what became of their slots."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
import msgspec
from msgspec import Raw

from noria.cli.command import Group
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, NothingThere, Stop
from noria.cli.flags import Flags, flags_of, option
from noria.cli.moments import MOMENT
from noria.cli.opening import opened_peer
from noria.cli.output import Output
from noria.cli.peer import Peer, Reply, items, quoted
from noria.cli.quantities import count, read_seconds
from noria.cli.scheduleview import COLUMNS, Shown, details, row, slots
from noria.clock import SystemClock, moment
from noria.errors import InvalidInput
from noria.front.schedule_shapes import Backfilled, Preview, Schedule

_PATH = "/v1/schedules"


@click.group(cls=Group)
def schedules() -> None:
    """See timers; pause, run, fill in and delete them."""


@schedules.command("list", use="reads")
@option("--fail-empty", is_flag=True, help="Exit 8 if there are no timers.")
@click.pass_context
def list_schedules(ctx: click.Context, fail_empty: bool) -> None:
    """List timers: when each is due next, and how its slots went."""
    flags = flags_of(ctx)
    out = Output(flags)
    found = asyncio.run(_all(flags))
    now = SystemClock().wall()
    out.listing(found, COLUMNS, lambda each: row(msgspec.json.decode(each, type=Shown), now))
    out.note(
        count(len(found), "timer")
        if found
        else "there are no timers; those of code are there once a worker ran"
    )
    if fail_empty and not found:
        raise Stop(ExitCode.NOTHING_MATCHED)


async def _all(flags: Flags) -> list[Raw]:
    async with opened_peer(flags) as peer:
        return await items(peer, _PATH)


@schedules.command("show", use="reads")
@click.argument("name")
@click.pass_context
def show_schedule(ctx: click.Context, name: str) -> None:
    """Show a timer: what it is, its next slots, and what became of the latest ones."""
    flags = flags_of(ctx)
    out = Output(flags)
    found = asyncio.run(_ask(flags, "GET", f"/{quoted(name)}"))
    if out.json:
        out.record(Raw(found.data))
        return
    for line in details(found.read(Schedule), SystemClock().wall()):
        out.line(line)


@schedules.command("next", use="reads")
@click.argument("rule", metavar="NAME-OR-RULE")
@option("--tz", metavar="ZONE", help="The zone of a cron expression, as Asia/Shanghai. Default: UTC.")
@option("--number", "-n", type=click.IntRange(1, 50), default=5, help="How many slots. Default: 5.")
@click.pass_context
def next_slots(ctx: click.Context, rule: str, tz: str | None, number: int) -> None:
    """Tell when a timer is due, or any rule: in words, and the next slots.

    A rule is a cron expression such as "*/5 * * * *", or a period such as 10s. Nothing is saved.
    """
    flags = flags_of(ctx)
    out = Output(flags)
    found = asyncio.run(_preview(flags, rule, {"count": number} | ({} if tz is None else {"tz": tz})))
    if out.json:
        out.record(Raw(found.data))
        return
    told = found.read(Preview)
    out.line(one_line(told.words))
    for slot in slots(told, SystemClock().wall()):
        out.line(slot)


async def _preview(flags: Flags, rule: str, more: dict[str, Any]) -> Reply:
    async with opened_peer(flags, needs_store=False) as peer:
        if any(letter.isspace() for letter in rule.strip()):
            return await peer.ask("POST", f"{_PATH}/preview", body={"cron": rule, **more})
        return await _named(peer, rule, more)


async def _named(peer: Peer, rule: str, more: dict[str, Any]) -> Reply:
    """The slots of a timer of this name; if there is none, of a period that is said so."""
    try:
        return await peer.ask("POST", f"{_PATH}/preview", body={"name": rule, **more})
    except NothingThere:
        try:
            read_seconds(rule)
        except InvalidInput:
            pass
        else:
            return await peer.ask("POST", f"{_PATH}/preview", body={"every": rule, **more})
        raise


@schedules.command("pause", use="writes")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@option("--reason", default="", help="Why; everybody who looks at the timer is told.")
@click.pass_context
def pause_schedules(ctx: click.Context, names: Sequence[str], reason: str) -> None:
    """Let no slot of these timers run; a job that is enqueued already runs."""
    body = {"reason": reason} if reason else {}
    asyncio.run(_each(flags_of(ctx), names, "pause", "paused", body))


@schedules.command("resume", use="writes")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.pass_context
def resume_schedules(ctx: click.Context, names: Sequence[str]) -> None:
    """Go on with the next slots of these timers."""
    asyncio.run(_each(flags_of(ctx), names, "resume", "resumed", {}))


async def _each(flags: Flags, names: Sequence[str], verb: str, done: str, body: dict[str, Any]) -> None:
    out = Output(flags)
    async with opened_peer(flags) as peer:
        for name in names:
            reply = await peer.ask("POST", f"{_PATH}/{quoted(name)}/{verb}", body=body)
            if out.json:
                out.record(Raw(reply.data))
            else:
                out.line(f"{one_line(name)}  {done}")


@schedules.command("run", use="writes")
@click.argument("name")
@click.pass_context
def run_schedule(ctx: click.Context, name: str) -> None:
    """Run a timer now, out of turn; while its last job is live, its overlap decides."""
    flags = flags_of(ctx)
    out = Output(flags)
    reply = asyncio.run(_ask(flags, "POST", f"/{quoted(name)}/run", {}))
    if out.json:
        out.record(Raw(reply.data))
        return
    timer = reply.read(Schedule)
    out.line(f"{one_line(name)}  {_began(timer)}")


def _began(timer: Schedule) -> str:
    if timer.waiting_at:
        return f"runs when job {timer.last_job_id} has ended"
    return f"job {timer.last_job_id}"


@schedules.command("backfill", use="writes")
@click.argument("name")
@option("--since", type=MOMENT, required=True, help="Slots later than this: 2026-11-01T00:00:00Z.")
@option("--until", type=MOMENT, required=True, help="Slots up to this, which is not to come.")
@click.pass_context
def backfill_schedule(ctx: click.Context, name: str, since: datetime, until: datetime) -> None:
    """Run the slots of a time in the past once more, one after another."""
    flags = flags_of(ctx)
    out = Output(flags)
    body = {"since": moment(since.timestamp()), "until": moment(until.timestamp())}
    reply = asyncio.run(_ask(flags, "POST", f"/{quoted(name)}/backfill", body))
    if out.json:
        out.record(Raw(reply.data))
        return
    out.line(f"{one_line(name)}  {count(reply.read(Backfilled).slots, 'slot')} to run once more")


@schedules.command("delete", use="writes")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.pass_context
def delete_schedules(ctx: click.Context, names: Sequence[str]) -> None:
    """Delete timers; their jobs stay. One of code is back when the next worker starts."""
    asyncio.run(_delete(flags_of(ctx), names))


async def _delete(flags: Flags, names: Sequence[str]) -> None:
    out = Output(flags)
    async with opened_peer(flags) as peer:
        for name in names:
            await peer.ask("DELETE", f"{_PATH}/{quoted(name)}")
            if out.json:
                out.record({"name": name, "deleted": True})
            else:
                out.line(f"{one_line(name)}  deleted")


async def _ask(flags: Flags, method: str, path: str, body: Any = None) -> Reply:
    async with opened_peer(flags) as peer:
        return await peer.ask(method, _PATH + path, body=body)
