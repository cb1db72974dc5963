"""`noria call`: a task as a function of the shell."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from noria.cli.command import Command
from noria.cli.enqueue import Given, run_one
from noria.cli.flags import SECONDS, flags_of, option


@click.command(cls=Command, use="writes")
@click.argument("task")
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@option("--args", "args", metavar="JSON", help="All arguments: JSON, @FILE, or - for stdin.")
@option("--wait", type=SECONDS, default=60.0, show_default=True, help="Wait so long for its value.")
@click.pass_context
def call(ctx: click.Context, task: str, words: Sequence[str], args: str | None, wait: float) -> None:
    """Call a task: enqueue a job, wait for it, and print what it returned.

    Values are read as the task's types: noria call add a=3 b=4. Text is printed as it is, anything else as JSON.
    Exit codes: 1 the job failed, 4 no such task, 6 not finished within --wait (it goes on, and its id is printed).
    """
    asyncio.run(run_one(flags_of(ctx), task, {}, Given(words, args), wait))
