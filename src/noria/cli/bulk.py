"""`noria bulk`: something is done to many jobs, as an operation that survives whoever began it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import click
from msgspec import Raw, Struct

from noria import aio, ids
from noria.cli import jobview, query
from noria.cli.asking import agreed
from noria.cli.command import Command
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import SECONDS, Flags, flags_of, option
from noria.cli.opening import opened_peer
from noria.cli.output import Advance, Output
from noria.cli.peer import Peer, Reply
from noria.cli.quantities import count
from noria.cli.resources import Job, record_of
from noria.cli.steady import Steady
from noria.clock import SystemClock
from noria.errors import InvalidInput

ACTIONS: Final = ("retry", "cancel", "discard", "run", "move", "set_priority", "delete")
_SAMPLES: Final = 10
_FIRST: Final = 0.05
_LONGEST: Final = 1.0
"""Seconds between two looks at how far it has come."""


class Kin(Struct):
    """How many jobs of one task and state match."""

    task: str
    state: str
    count: int


class Preview(Struct):
    """What would be met."""

    count: int
    capped: bool
    samples: list[Job]
    by: list[Kin] = []


class Trouble(Struct):
    """A job that could not be changed."""

    job_id: str
    code: str = ""


class Progress(Struct):
    """How far an operation has come."""

    id: str
    state: str
    matched: int
    done: int
    skipped: int
    failed: int
    errors: list[Trouble] = []

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state not in ("freezing", "running")


@click.command(cls=Command, use=lambda given: "reads" if given["preview"] else "writes")
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("words", nargs=-1, metavar="[QUERY]...")
@option("--all", "everything", is_flag=True, help="With no QUERY: every job is meant.")
@option("--to", metavar="QUEUE|PRIORITY", help="Where to move them; which priority to set.")
@option("--delay", type=SECONDS, help="Retry them not before so long from now.")
@option("--attempts", type=int, help="Retry them so often.")
@option("--preview", is_flag=True, help="Change nothing; say what would be.")
@option("--rate", type=float, help="Jobs a second, at most.")
@option("--note", default="", help="Why, for the record.")
@option("--uncounted", is_flag=True, help="With --yes: also if more match than were counted (10,000).")
@option("--fail-empty", is_flag=True, help="Exit 8 if nothing matches.")
@click.pass_context
def bulk(
    ctx: click.Context, /, action: str, words: Sequence[str], everything: bool, preview: bool, uncounted: bool,
    fail_empty: bool, **given: Any,
) -> None:  # fmt: skip
    """Do something to all jobs that match; QUERY words as in `noria jobs list`.

    ACTION is retry, cancel, discard, run (scheduled jobs now), move, set_priority or delete. It asks first, unless
    --yes is given. Exit code 1: some could not be changed. Ctrl-C stops it; what was done is done.
    """
    flags = flags_of(ctx)
    if bool(words) == everything:
        raise InvalidInput("say by QUERY words which jobs are meant, or --all", field="query")
    text = query.parse(words, SystemClock().wall()).text
    wanted = {
        "action": action,
        "filter": {"q": text} if text else {},
        "all": everything,
        **_asked(action, **given),
    }
    matched = asyncio.run(_bulk(flags, Output(flags), wanted, preview=preview, uncounted=uncounted))
    if fail_empty and not matched:
        raise Stop(ExitCode.NOTHING_MATCHED)


def _asked(
    action: str, *, to: str | None, delay: float | None, attempts: int | None, rate: float | None, note: str
) -> dict[str, Any]:
    """What else is asked for, as REST takes it.

    Raises:
        InvalidInput: a flag does not go with the action.
    """
    if (to is not None) != (action in ("move", "set_priority")):
        raise InvalidInput("--to goes with move and set_priority, and they need it", field="to")
    if action != "retry" and (delay is not None or attempts is not None):
        raise InvalidInput("--delay and --attempts go with retry", field="delay")
    found = {
        "queue" if action == "move" else "priority": _goal(action, to),
        "delay": delay,
        "attempts": attempts,
    }
    params = {name: value for name, value in found.items() if value is not None}
    return {"params": params, "rate": rate, "note": note}


def _goal(action: str, to: str | None) -> str | int | None:
    if action != "set_priority" or to is None:
        return to
    try:
        return int(to)
    except ValueError:
        raise InvalidInput(f"{to!r:.40} is no priority; write -9 to 9", field="to") from None


async def _bulk(flags: Flags, out: Output, wanted: dict[str, Any], *, preview: bool, uncounted: bool) -> int:
    """How many jobs match."""
    async with opened_peer(flags) as peer:
        reply = await peer.ask("POST", "/v1/operations", body={**wanted, "preview": True}, key=_key())
        found = reply.read(Preview)
        if preview:
            _show(out, reply, found)
        elif found.count:
            out.note(_kinds(found))
            if not flags.yes:
                agreed(f"{wanted['action']} {_many(found)}?")
            elif found.capped and not uncounted:
                raise InvalidInput(
                    f"{_many(found)} match; add --uncounted if so many are meant", field="uncounted"
                )
            more = {"uncounted": True} if found.capped else {}
            _tell(out, await _done(out, peer, {**wanted, "expected": found.count, **more}))
        elif not out.json:
            out.line("no job matches")
        return found.count


async def _done(out: Output, peer: Peer, wanted: dict[str, Any]) -> Reply:
    """Begin it, and look at it until it has ended."""
    reply = await peer.ask("POST", "/v1/operations", body=wanted, key=_key())
    now = reply.read(Progress)
    path = f"/v1/operations/{now.id}"
    try:
        with out.progress(wanted["action"], wanted["expected"]) as advance:
            return await _followed(Steady(out.warn, out.note), peer, path, reply, advance)
    except asyncio.CancelledError:
        out.note(f"stopping operation {now.id}")
        await peer.ask("POST", f"{path}/cancel", body={}, key=_key())
        raise


async def _followed(steady: Steady, peer: Peer, path: str, reply: Reply, advance: Advance) -> Reply:
    seen, pause = 0, _FIRST
    while not (now := reply.read(Progress)).ended:
        advance(now.done + now.skipped + now.failed - seen)
        seen = now.done + now.skipped + now.failed
        await aio.sleep(pause)
        pause = min(2 * pause, _LONGEST)
        reply = await steady.keep(lambda: peer.ask("GET", path))
    return reply


def _tell(out: Output, reply: Reply) -> None:
    """What became of it.

    Raises:
        Stop: some jobs could not be changed, or it was stopped.
    """
    found = reply.read(Progress)
    if out.json:
        out.record(Raw(reply.data))
    else:
        out.line(
            f"{found.done:,} done, {found.skipped:,} skipped, {found.failed:,} failed of {found.matched:,}"
        )
    for each in found.errors:
        out.warn(f"job {each.job_id}: {each.code}")
    if found.state != "done":
        out.warn(f"operation {found.id} was stopped before its end: it is {found.state}")
    if found.failed or found.state != "done":
        raise Stop(ExitCode.FAILED)


def _show(out: Output, reply: Reply, found: Preview) -> None:
    if out.json:
        out.record(Raw(reply.data))
        return
    out.line(f"{_many(found)} would be changed")
    if found.by:
        out.line()
        out.table(
            (">count", "state", "task"), [(f"{k.count:,}", k.state, one_line(k.task)) for k in found.by]
        )
    if found.samples:
        now = SystemClock().wall()
        out.line()
        out.table(jobview.COLUMNS, [jobview.row(record_of(job), now) for job in found.samples[:_SAMPLES]])
    out.note("nothing was changed")


def _many(found: Preview) -> str:
    return ("more than " if found.capped else "") + count(found.count, "job")


def _kinds(found: Preview) -> str:
    return ", ".join(f"{each.count:,} {each.task} {each.state}" for each in found.by)


def _key() -> str:
    """An idempotency key, so that a request whose answer was lost can be sent again."""
    return ids.to_text(ids.IdSource(SystemClock()).next())
