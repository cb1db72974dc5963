"""`noria keys`: who may use the fronts of a store, and for what."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import click
import msgspec
from msgspec import Raw, Struct

from noria.cli.command import Group
from noria.cli.escape import one_line
from noria.cli.flags import SECONDS, Flags, flags_of, option
from noria.cli.opening import opened_peer
from noria.cli.output import Output
from noria.cli.peer import items, quoted
from noria.cli.quantities import age, count
from noria.clock import SystemClock, moment
from noria.front.principal import SCOPES

_COLUMNS: Final = ("id", "name", "created", "last used", "expires", "queues", "tasks", "scopes")


class Key(Struct):
    """A key; `key` is its text, which is there once."""

    id: str
    name: str
    scopes: list[str]
    queues: list[str]
    tasks: list[str]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    key: str = ""


@click.group(cls=Group)
def keys() -> None:
    """Make, list and revoke keys for fronts."""


@keys.command("list", use="reads")
@click.pass_context
def list_keys(ctx: click.Context) -> None:
    """List keys; their text is nowhere."""
    flags = flags_of(ctx)
    out = Output(flags)
    found = asyncio.run(_all(flags))
    now = SystemClock().wall()
    out.listing(found, _COLUMNS, lambda each: _row(msgspec.json.decode(each, type=Key), now))
    out.note(
        count(len(found), "key") if found else "there are no keys: fronts are open on loopback addresses"
    )


async def _all(flags: Flags) -> list[Raw]:
    async with opened_peer(flags) as peer:
        return await items(peer, "/v1/keys")


def _row(key: Key, now: float) -> tuple[str, ...]:
    ages = (
        age(None if at is None else at.timestamp(), now)
        for at in (key.created_at, key.last_used_at, key.expires_at)
    )
    limits = (one_line(", ".join(each)) or "all" for each in (key.queues, key.tasks))
    return (key.id, one_line(key.name), *ages, *limits, ", ".join(key.scopes))


@keys.command("create", use="writes")
@click.argument("name")
@option(
    "--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES), help="What it may do; may repeat."
)  # fmt: skip
@option("--queue", "queues", multiple=True, metavar="NAME", help="Only this queue, or mail.*; may repeat.")
@option("--task", "tasks", multiple=True, metavar="NAME", help="Only this task, or shop.*; may repeat.")
@option("--rate", type=float, help="Requests a second, at most, at each front.")
@option("--depth", type=int, help="Jobs that may wait in a queue into which it enqueues.")
@option("--expires", type=SECONDS, help="Good for so long from now: 12h, 30d.")
@click.pass_context
def create_key(ctx: click.Context, /, name: str, expires: float | None, **given: Any) -> None:
    """Make a key, and print it: it is shown only now.

    NAME is for people. From the first key on, every front of the store asks for one.
    """
    flags = flags_of(ctx)
    out = Output(flags)
    wanted = {field: value for field, value in given.items() if value not in (None, ())}
    if expires is not None:
        wanted["expires_at"] = moment(SystemClock().wall() + expires)
    made = asyncio.run(_create(flags, {"name": name, **wanted}))
    if out.json:
        out.record(Raw(made))
        return
    key = msgspec.json.decode(made, type=Key)
    out.line(key.key)
    out.note(f"key {key.id} ({key.name}) is made; its text is shown only now")


async def _create(flags: Flags, wanted: dict[str, Any]) -> bytes:
    async with opened_peer(flags) as peer:
        return (await peer.ask("POST", "/v1/keys", body=wanted)).data


@keys.command("revoke", use="writes")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.pass_context
def revoke_keys(ctx: click.Context, ids: Sequence[str]) -> None:
    """Revoke keys: no front takes them any more, within five seconds."""
    flags = flags_of(ctx)
    asyncio.run(_revoke(flags, Output(flags), ids))


async def _revoke(flags: Flags, out: Output, ids: Sequence[str]) -> None:
    async with opened_peer(flags) as peer:
        for id in ids:
            await peer.ask("DELETE", f"/v1/keys/{quoted(id)}")
            if out.json:
                out.record({"id": id, "revoked": True})
            else:
                out.line(f"{id}  revoked")
