"""`noria openapi` and `noria schema`: what programs in any language must know of a front and of a task."""

from __future__ import annotations

import asyncio

import click
import msgspec
from msgspec import Raw, Struct

from noria.cli.command import Command
from noria.cli.flags import Flags, flags_of
from noria.cli.opening import opened_peer
from noria.cli.output import Output, to_json
from noria.cli.peer import quoted


class Schemas(Struct):
    """A task with the JSON schemas (draft 2020-12) of its arguments, as an object, and of its result."""

    name: str
    args_schema: Raw
    result_schema: Raw


@click.command(cls=Command, use="reads")
@click.pass_context
def openapi(ctx: click.Context) -> None:
    """Print the OpenAPI document of the front, with an operation for each task.

    Without --url it is that of the application; there need be no store then.
    """
    flags = flags_of(ctx)
    document = asyncio.run(_asked(flags, "/openapi.json"))
    _show(Output(flags), Raw(document))


@click.command(cls=Command, use="reads")
@click.argument("task")
@click.pass_context
def schema(ctx: click.Context, task: str) -> None:
    """Print the JSON schemas of a task's arguments and result."""
    flags = flags_of(ctx)
    found = msgspec.json.decode(asyncio.run(_asked(flags, f"/v1/tasks/{quoted(task)}")), type=Schemas)
    _show(Output(flags), found)


async def _asked(flags: Flags, path: str) -> bytes:
    async with opened_peer(flags, needs_store=flags.app is None) as peer:
        return (await peer.ask("GET", path)).data


def _show(out: Output, value: object) -> None:
    """On many lines for people, on one for programs."""
    text = to_json(value)
    out.line(text if out.json else msgspec.json.format(text, indent=2))
