"""`noria questions`: what jobs ask of persons, and their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click
import msgspec
from msgspec import Raw

from noria.cli.answering import answer_of
from noria.cli.command import Group
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import Flags, flags_of, option
from noria.cli.opening import opened_peer
from noria.cli.output import Output
from noria.cli.peer import Reply, items, quoted
from noria.cli.quantities import count
from noria.cli.questionview import COLUMNS, details, row
from noria.clock import SystemClock
from noria.errors import InvalidInput
from noria.front.shapes import Question

_PATH = "/v1/questions"


@click.group(cls=Group)
def questions() -> None:
    """See what jobs ask, and answer."""


@questions.command("list", use="reads")
@option("--fail-empty", is_flag=True, help="Exit 8 if no job asks anything.")
@click.pass_context
def list_questions(ctx: click.Context, fail_empty: bool) -> None:
    """List open questions, the oldest first."""
    flags = flags_of(ctx)
    out = Output(flags)
    found = asyncio.run(_all(flags))
    now = SystemClock().wall()
    out.listing(found, COLUMNS, lambda each: row(msgspec.json.decode(each, type=Question), now))
    out.note(count(len(found), "open question") if found else "no job asks anything")
    if fail_empty and not found:
        raise Stop(ExitCode.NOTHING_MATCHED)


async def _all(flags: Flags) -> list[Raw]:
    async with opened_peer(flags) as peer:
        return await items(peer, _PATH)


@questions.command("show", use="reads")
@click.argument("id")
@click.pass_context
def show_question(ctx: click.Context, id: str) -> None:
    """Show a question: what is asked, until when, which fields an answer has."""
    flags = flags_of(ctx)
    out = Output(flags)
    found = asyncio.run(_one(flags, id))
    if out.json:
        out.record(Raw(found.data))
        return
    for line in details(found.read(Question), SystemClock().wall()):
        out.line(line)


async def _one(flags: Flags, id: str) -> Reply:
    async with opened_peer(flags) as peer:
        return await peer.ask("GET", f"{_PATH}/{quoted(id)}")


@questions.command("answer", use="writes")
@click.argument("id")
@click.argument("words", nargs=-1, metavar="[NAME=VALUE | VALUE | -]...")
@option("--decline", "action", flag_value="decline", help="Tell the job that nobody will answer.")
@option("--cancel", "action", flag_value="cancel", help="Put the question away without a choice.")
@click.pass_context
def answer_question(ctx: click.Context, id: str, words: Sequence[str], action: str | None) -> None:
    """Answer a question; the first answer counts.

    In place of a value, - asks for it without an echo, as secret answers need. noria questions answer ID code=120964
    """
    flags = flags_of(ctx)
    out = Output(flags)
    if action is not None and words:
        raise InvalidInput(f"--{action} takes no answer", field="words")
    reply = asyncio.run(_answer(flags, id, words, action))
    if out.json:
        out.record(Raw(reply.data))
        return
    told = reply.read(Question)
    out.line(f"{told.id}  {told.state}")


async def _answer(flags: Flags, id: str, words: Sequence[str], action: str | None) -> Reply:
    path = f"{_PATH}/{quoted(id)}"
    async with opened_peer(flags) as peer:
        body: dict[str, Any] = {"action": action or "accept"}
        if action is None:
            asked = (await peer.ask("GET", path)).read(Question)
            given = asyncio.to_thread(answer_of, asked.schema, asked.message, words, secret=asked.secret)
            body["data"] = await given
        return await peer.ask("POST", f"{path}/answer", body=body)
