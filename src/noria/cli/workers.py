"""`noria workers`: who works on the jobs, and how they are told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import click
import msgspec
from msgspec import Raw

from noria.cli.asking import agreed
from noria.cli.command import Group
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, NothingThere, Stop
from noria.cli.flags import Flags, flags_of, option
from noria.cli.opening import opened_peer
from noria.cli.output import Output
from noria.cli.peer import Peer, items
from noria.cli.quantities import age, count, duration, size
from noria.cli.resources import Worker
from noria.clock import SystemClock
from noria.errors import InvalidInput

_COLUMNS: Final = ("id", "name", "state", "where", ">busy", ">settled", "up", "seen", "queues")


@click.group(cls=Group)
def workers() -> None:
    """See the workers, and tell them to be quiet, to stop, to go on."""


@workers.command("list", use="reads")
@option("--fail-empty", is_flag=True, help="Exit 8 if there are none.")
@click.pass_context
def list_workers(ctx: click.Context, fail_empty: bool) -> None:
    """List the workers."""
    flags = flags_of(ctx)
    out = Output(flags)
    found = asyncio.run(_all(flags))
    now = SystemClock().wall()
    out.listing(found, _COLUMNS, lambda each: _row(_read(each), now))
    out.note(count(len(found), "worker") if found else "no worker is live")
    if fail_empty and not found:
        raise Stop(ExitCode.NOTHING_MATCHED)


@workers.command("show", use="reads")
@click.argument("id")
@click.pass_context
def show_worker(ctx: click.Context, id: str) -> None:
    """Tell all about one worker; ID is its id or its name."""
    flags = flags_of(ctx)
    out = Output(flags)
    [found] = _named(asyncio.run(_all(flags)), [id])
    if out.json:
        out.record(found)
        return
    for name, text in _facts(_read(found), SystemClock().wall()).items():
        out.line(f"{name:<10}{text}")


def _telling(command: str, about: str) -> None:
    """Have a command of this name that tells workers so."""

    @workers.command(command, use="writes", help=about)
    @click.argument("names", nargs=-1, metavar="[ID]...")
    @option(
        "--all",
        "everybody",
        is_flag=True,
        help="All workers" + ("; asks first." if command == "stop" else "."),
    )
    @click.pass_context
    def tell(ctx: click.Context, names: Sequence[str], everybody: bool) -> None:
        _tell(ctx, command, names, everybody=everybody)


_telling("quiet", "Have workers finish what they have, and take no more.")
_telling("stop", "Have workers finish what they have, and end.")
_telling("resume", "Have quiet workers go on.")


def _tell(ctx: click.Context, command: str, names: Sequence[str], *, everybody: bool) -> None:
    if bool(names) == everybody:
        raise InvalidInput(f"name the workers to {command}, or say --all", field="id")
    asyncio.run(_told(flags_of(ctx), command, names))


async def _told(flags: Flags, command: str, names: Sequence[str]) -> None:
    out = Output(flags)
    async with opened_peer(flags) as peer:
        found = await items(peer, "/v1/workers")
        chosen = _named(found, names) if names else found
        if command == "stop" and not names and chosen and not flags.yes:
            agreed(f"stop {count(len(chosen), 'worker')}?")
        for each in chosen:
            await _one(out, peer, command, _read(each))
    if not chosen:
        out.note("no worker is live")


async def _one(out: Output, peer: Peer, command: str, worker: Worker) -> None:
    reply = await peer.ask("POST", f"/v1/workers/{worker.id}/{command}", body={})
    if out.json:
        out.record(Raw(reply.data))
    else:
        out.line(f"{worker.id}  {one_line(worker.name)}  was told to {command}")


async def _all(flags: Flags) -> list[Raw]:
    async with opened_peer(flags) as peer:
        return await items(peer, "/v1/workers")


def _read(item: Raw) -> Worker:
    return msgspec.json.decode(item, type=Worker)


def _named(found: Sequence[Raw], names: Sequence[str]) -> list[Raw]:
    """The workers that are meant, each by its id or its name."""
    chosen: dict[str, Raw] = {}
    for name in names:
        fits = [each for each in found if name in (_read(each).id, _read(each).name)]
        if not fits:
            raise NothingThere(f"no worker {name[:64]!r} lives; noria workers list names them")
        if len(fits) > 1:
            raise InvalidInput(f"{name!r:.64} is the name of several workers; give an id", field="id")
        chosen[_read(fits[0]).id] = fits[0]
    return list(chosen.values())


def _busy(worker: Worker) -> str:
    slots = worker.slots.values()
    return f"{sum(each.busy for each in slots):,}/{sum(each.size for each in slots):,}"


def _row(worker: Worker, now: float) -> tuple[str, ...]:
    return (
        worker.id, one_line(worker.name), _state(worker), f"{worker.pid} on {one_line(worker.host)}", _busy(worker),
        f"{worker.settled:,}", duration(max(now - worker.started_at.timestamp(), 0)),
        age(worker.beat_at.timestamp(), now), one_line(", ".join(worker.queues)),
    )  # fmt: skip


def _state(worker: Worker) -> str:
    """How it is and, if it has not done yet as it was told, what it was told."""
    waits = {"quiet": ("quiet", "stopping"), "stop": ("stopping",)}.get(worker.command or "", (worker.state,))
    return worker.state if worker.state in waits else f"{worker.state} (told to {worker.command})"


def _facts(worker: Worker, now: float) -> dict[str, str]:
    slots = (f"{kind} {each.busy:,} of {each.size:,}" for kind, each in worker.slots.items())
    return {
        "id": worker.id,
        "name": one_line(worker.name),
        "state": _state(worker),
        "where": f"pid {worker.pid} on {one_line(worker.host)}",
        "version": one_line(worker.version),
        "up": duration(max(now - worker.started_at.timestamp(), 0)),
        "seen": age(worker.beat_at.timestamp(), now),
        "slots": ", ".join(slots),
        "settled": f"{worker.settled:,}",
        "holds": f"{count(worker.held, 'job')} ({worker.buffered:,} buffered, {worker.unsettled:,} unsettled)",
        "memory": size(worker.rss),
        "loop lag": duration(worker.loop_lag),
        "queues": one_line(", ".join(worker.queues)),
        "tasks": one_line(", ".join(worker.tasks)),
        "jobs": ", ".join(worker.jobs) or "–",
    }
