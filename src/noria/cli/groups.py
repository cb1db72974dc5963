"""`noria groups`: which groups are in use, who has their places, and closing them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import click
import msgspec
from msgspec import Raw

from noria.cli.command import Group
from noria.cli.escape import one_line
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import SECONDS, Flags, flags_of, option
from noria.cli.opening import opened_peer
from noria.cli.output import Output
from noria.cli.peer import items
from noria.cli.quantities import count
from noria.clock import SystemClock, moment
from noria.front.shapes import JobGroup, Resource

_PATH: Final = "/v1/groups"
_COLUMNS: Final = ("group", ">taken", ">waiting", "state", "held by")
_RESOURCES: Final = ("resource", ">used", "state", "held by")


@click.group(cls=Group)
def groups() -> None:
    """See groups and resources; close and open groups."""


@groups.command("list", use="reads")
@option("--family", help="Only groups of this family.")
@option("--fail-empty", is_flag=True, help="Exit 8 if no group is in use.")
@click.pass_context
def list_groups(ctx: click.Context, family: str | None, fail_empty: bool) -> None:
    """List groups in use: places taken, by which jobs, and how many wait."""
    flags = flags_of(ctx)
    out = Output(flags)
    found = asyncio.run(_all(flags, _PATH, {} if family is None else {"family": family}))
    out.listing(found, _COLUMNS, lambda each: _row(msgspec.json.decode(each, type=JobGroup)))
    out.note(count(len(found), "group") if found else "no group is in use")
    if fail_empty and not found:
        raise Stop(ExitCode.NOTHING_MATCHED)


@groups.command("resources", use="reads")
@click.pass_context
def list_resources(ctx: click.Context) -> None:
    """List resources: tokens in use, and by which jobs."""
    flags = flags_of(ctx)
    found = asyncio.run(_all(flags, "/v1/resources", {}))
    Output(flags).listing(found, _RESOURCES, lambda each: _resource(msgspec.json.decode(each, type=Resource)))


@groups.command("close", use="writes")
@click.argument("family")
@click.argument("key")
@option("--reason", default="", help="Why; everybody who looks at the group or its jobs is told.")
@option("--for", "lasting", type=SECONDS, help="Open by itself after so long. Default: when it is opened.")
@click.pass_context
def close_group(ctx: click.Context, family: str, key: str, reason: str, lasting: float | None) -> None:
    """Have no worker begin jobs of a group; what runs goes on."""
    body: dict[str, Any] = {"reason": reason} if reason else {}
    if lasting is not None:
        body["until"] = moment(SystemClock().wall() + lasting)
    asyncio.run(_steer(flags_of(ctx), "close", {"family": family, "key": key, **body}))


@groups.command("open", use="writes")
@click.argument("family")
@click.argument("key")
@click.pass_context
def open_group(ctx: click.Context, family: str, key: str) -> None:
    """Have workers begin jobs of a group again."""
    asyncio.run(_steer(flags_of(ctx), "open", {"family": family, "key": key}))


async def _all(flags: Flags, path: str, filters: dict[str, str]) -> list[Raw]:
    async with opened_peer(flags) as peer:
        return await items(peer, path, **filters)


async def _steer(flags: Flags, verb: str, body: dict[str, Any]) -> None:
    out = Output(flags)
    async with opened_peer(flags) as peer:
        reply = await peer.ask("POST", f"{_PATH}/{verb}", body=body)
    if out.json:
        out.record(Raw(reply.data))
    else:
        word = "closed" if verb == "close" else "open"
        out.line(f"{one_line(body['family'])}={one_line(body['key'])}  {word}")


def _row(group: JobGroup) -> tuple[str, ...]:
    taken = f"{group.taken:,}" if group.limit is None else f"{group.taken:,} of {group.limit:,}"
    state = "open"
    if group.closed is not None:
        until = "" if group.closed.until is None else f" until {group.closed.until:%Y-%m-%d %H:%M:%S} UTC"
        state = f"closed{until}"
    elif group.next_at is not None:
        state = f"next at {group.next_at:%H:%M:%S} UTC"
    return (
        f"{one_line(group.family)}={one_line(group.key)}", taken, f"{group.waiting:,}", state, _some(group.holders)
    )  # fmt: skip


def _resource(each: Resource) -> tuple[str, ...]:
    used = f"{each.used:,}" if each.capacity is None else f"{each.used:,} of {each.capacity:,}"
    state = "free" if each.next_at is None else f"next at {each.next_at:%H:%M:%S} UTC"
    if each.capacity is not None and each.used >= each.capacity:
        state = "used up"
    return one_line(each.name), used, state, _some(each.holders)


def _some(holders: list[str]) -> str:
    """The first of the jobs that hold something."""
    return (
        "–"
        if not holders
        else holders[0]
        if len(holders) == 1
        else f"{holders[0]} and {len(holders) - 1} more"
    )
