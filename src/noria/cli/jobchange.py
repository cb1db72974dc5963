"""Changes of jobs that a front checks: asked of it one job after the other, and reported as any change is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec

from noria import ids
from noria.cli.arguments import text_of
from noria.cli.choice import Named, chosen, readable
from noria.cli.escape import one_line
from noria.cli.flags import Flags, flags_of
from noria.cli.opening import opened_peer
from noria.cli.output import Output
from noria.errors import InvalidInput


class Stands(msgspec.Struct):
    """How a job stands afterwards, as far as it is told."""

    state: str
    queue: str


def retry_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a retry.

    Raises:
        InvalidInput: the arguments are no JSON, or the file with them cannot be read.
    """
    body = dict(given)
    if (given_args := body.pop("arguments", None)) is not None:
        text = text_of(given_args)
        try:
            body["args"] = msgspec.Raw(msgspec.json.format(text.encode(), indent=-1))
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise InvalidInput(f"--args is no JSON: {error}", field="args") from None
    if (note := body.pop("note", None)) is not None:
        body["reason"] = note
    return body


def ask_of_jobs(
    ctx: click.Context, words: Sequence[str], action: str, method: str, below: str, body: Mapping[str, Any]
) -> None:
    """Ask this of each job that is named, and print how it stands then; the first refusal ends it."""
    asyncio.run(_ask(flags_of(ctx), readable(words), action, method, below, dict(body)))


async def _ask(
    flags: Flags, named: Sequence[Named], action: str, method: str, below: str, body: dict[str, Any]
) -> None:
    from noria.cli.remote import RemoteSource  # what most commands about jobs do without

    out = Output(flags)
    async with opened_peer(flags) as peer:
        for id in await chosen(RemoteSource(peer), named):
            text = ids.to_text(id)
            stands = (await peer.ask(method, f"/v1/jobs/{text}{below}", body=body)).read(Stands)
            if out.json:
                out.record({"id": text, "action": action, "status": "done", "state": stands.state})
            else:
                out.line(f"{text}  {stands.state} in {one_line(stands.queue)}")
