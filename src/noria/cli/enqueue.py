"""`noria enqueue`: one job from the words of a command line, or many from NDJSON."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import click

from noria.cli import arguments, batch, waiting
from noria.cli.command import Command
from noria.cli.exits import NoAnswer
from noria.cli.flags import SECONDS, Flags, flags_of, option
from noria.cli.moments import MOMENT, MOMENT_OR_SECONDS, WAITS
from noria.cli.opening import opened_producer
from noria.cli.output import Output
from noria.cli.producer import Producer
from noria.cli.uniqueness import unique_of, unique_options
from noria.errors import InvalidInput, Unknown, shown
from noria.model.claim import Enqueued
from noria.model.task import Arguments


@click.command(cls=Command, use="writes")
@click.argument("task")
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@option("--args", "args", metavar="JSON", help="All arguments: JSON, @FILE, or - for stdin.")
@option("--delay", type=SECONDS, help="Not before so long from now: 90, 5m, 2h.")
@option("--at", type=MOMENT, help="Not before this time: 2026-12-01T08:00:00Z.")
@option("--expires", type=MOMENT_OR_SECONDS, help="Start by then, or never: 5m, or a time.")
@option("--deadline", type=MOMENT_OR_SECONDS, help="Finish by then, over all attempts: 2h, or a time.")
@option("--priority", type=click.IntRange(-9, 9), help="-9 to 9; higher first.")
@option("--queue", help="Another queue than the task's own.")
@unique_options
@option("--tag", "tags", multiple=True, metavar="WORD", help="A word to find it by; may repeat.")
@option("--group", metavar="FAMILY=KEY", help="Its group, whatever its arguments say, as in host=a.example.")
@option("--correlation", "correlation_id", metavar="ID", help="Your own id for what it belongs to.")
@option("--after", multiple=True, metavar="ID", help="Wait until this job has ended; may repeat.")
@option(
    "--on", type=click.Choice(["success", "complete", "failure"]), help="How --after must end for it to run."
)
@option("--attempts", type=int, help="How often it may fail.")
@option("--crashes", type=int, help="How often its process may die.")
@option("--retry", type=WAITS, help="The waits between attempts: base=5,cap=10m,factor=2,jitter=none.")
@option("--keep", type=SECONDS, help="How long to keep its record after success; 0: not at all.")
@option("--id", "id", metavar="UUID", help="Its id: enqueueing an id again is the same job.")
@option("--run-timeout", "run_timeout", type=SECONDS, help="How long one attempt may take.")
@option("--wait", type=SECONDS, help="Wait so long for its value, and print that.")
@option(
    "--follow",
    is_flag=True,
    help="Print how it stands whenever that changes, and its value; --wait: so long.",
)
@click.pass_context
def enqueue(
    ctx: click.Context, /, task: str, words: Sequence[str], args: str | None, wait: float | None, follow: bool,
    **given: Any,
) -> None:  # fmt: skip
    """Enqueue a job.

    Prints its id or, with --wait, its value. Values are read as the task's types: noria enqueue add a=3 b=4

    With - instead of NAME=VALUE, each line of stdin is the arguments of one job, as a JSON object or array.
    Exit codes: 1 the job failed, 4 no such task, 6 not finished within --wait (it goes on).
    """
    flags = flags_of(ctx)
    options = options_of(**given)
    if tuple(words) == ("-",):
        if wait is not None or args is not None or "id" in options or follow:
            raise InvalidInput(
                "with - for stdin, --args, --id, --wait and --follow have no meaning", field="args"
            )
        asyncio.run(batch.enqueue_lines(flags, task, options, sys.stdin.buffer))
    else:
        asyncio.run(run_one(flags, task, options, Given(words, args), wait, follow=follow))


_SAID: Final[dict[Enqueued, str]] = {
    "existing": "nothing was stored: job {id} stands for it, by its unique key or id",
    "replaced": "job {id} is stored, and the one that waited with its unique key was cancelled",
    "updated": "nothing was stored: job {id}, which waits with its unique key, now has its arguments and its time",
    "merged": "nothing was stored: job {id}, which waits with its unique key, now has its items as well",
}


def options_of(
    *,
    tags: Sequence[str] = (),
    after: Sequence[str] = (),
    run_timeout: float | None = None,
    group: str | None = None,
    **given: Any,
) -> dict[str, Any]:
    """The job's options that were given, by the names that a task gives them."""
    unique, given = unique_of(**given)
    given = {**given, "unique": unique, "timeout": run_timeout, "tags": tuple(tags) or None}
    given["after"] = list(after) or None
    given["group"] = None if group is None else _group(group)
    return {name: value for name, value in given.items() if value is not None}


def _group(text: str) -> tuple[str, str]:
    family, equals, key = text.partition("=")
    if not (family and equals and key):
        raise InvalidInput(f"--group is FAMILY=KEY, as in host=a.example, not {shown(text)}", field="group")
    return family, key


class Given(NamedTuple):
    """Arguments as the command line has them: by words, or as one text of JSON."""

    words: Sequence[str]
    text: str | None

    def read(self, producer: Producer[Any]) -> Arguments:
        """The arguments of one job.

        Raises:
            InvalidInput: they are given in two ways, or cannot be read.
        """
        if self.text is None:
            return producer.named(self.words)
        if self.words:
            raise InvalidInput("give the arguments as name=value or by --args, not both", field="args")
        return arguments.from_json(arguments.text_of(self.text))


async def run_one(
    flags: Flags, task: str, options: Mapping[str, Any], given: Given, wait: float | None, *, follow: bool = False
) -> None:  # fmt: skip
    """Enqueue one job, and print its id or, after a wait, its value.

    Args:
        follow: print its states as well; without `wait` as long as it takes.
    """
    out = Output(flags)
    async with opened_producer(flags, task, options) as producer:
        draft = producer.draft(given.read(producer))
        try:
            stored = await producer.enqueue_one(draft, None if follow else wait)
        except (Unknown, NoAnswer):
            if id := producer.id_of(draft):
                out.warn(f"whether job {id} is stored is not known; noria jobs show {id} tells")
            raise
        if stored.enqueued != "created":
            out.note(_SAID[stored.enqueued].format(id=stored.id))
        if follow:
            await waiting.follow(out, producer, stored.id, wait, flags.timeout)
        elif wait is not None:
            await waiting.wait(out, producer, stored.id, wait)
        elif out.json:
            out.record({"id": stored.id, "created": stored.created, "enqueued": stored.enqueued})
        else:
            out.line(stored.id)
