"""`noria enqueue`: one job from the words of a command line, or many from NDJSON."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from noria.app.application import Noria
from noria.app.job import Job
from noria.app.signature import read_signature
from noria.app.task import Enqueuer, TaskFunction
from noria.cli import arguments, batch
from noria.cli.escape import lines
from noria.cli.exits import ExitCode, NoAnswer, Stop
from noria.cli.flags import SECONDS, Command, Flags, flags_of, option
from noria.cli.output import Output, to_json
from noria.cli.target import answer, application, opened
from noria.codecs.models import dump_model
from noria.errors import InvalidInput, JobError, ResultGone, Unknown, WaitTimeout
from noria.model.task import Arguments


@click.command(cls=Command)
@click.argument("task")
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@option("--args", "args", metavar="JSON", help="All arguments: JSON, @FILE, or - for stdin.")
@option("--delay", type=SECONDS, help="Not before so long from now: 90, 5m, 2h.")
@option("--priority", type=click.IntRange(-9, 9), help="-9 to 9; higher first.")
@option("--queue", help="Another queue than the task's own.")
@option("--unique", metavar="KEY", help="While a job with this key is live, it stands for this one.")
@option("--tag", "tags", multiple=True, metavar="WORD", help="A word to find it by; may repeat.")
@option("--correlation", "correlation_id", metavar="ID", help="Your own id for what it belongs to.")
@option("--attempts", type=int, help="How often it may fail.")
@option("--run-timeout", "run_timeout", type=SECONDS, help="How long one attempt may take.")
@option("--wait", type=SECONDS, help="Wait so long for its value, and print that.")
@click.pass_context
def enqueue(
    ctx: click.Context, /, task: str, words: Sequence[str], args: str | None, wait: float | None, **given: Any
) -> None:
    """Enqueue a job.

    Prints its id or, with --wait, its value. Values are read as the task's types: noria enqueue add a=3 b=4

    With - instead of NAME=VALUE, each line of stdin is the arguments of one job, as a JSON object or array.
    Exit codes: 1 the job failed, 4 no such task, 6 not finished within --wait (it goes on).
    """
    flags = flags_of(ctx)
    options = options_of(**given)
    app = application(flags, None)
    found = app.find_task(task)
    enqueuer = found.options(**options)
    if tuple(words) == ("-",):
        if wait is not None or args is not None:
            raise InvalidInput("with - for stdin, --args and --wait have no meaning", field="args")
        asyncio.run(batch.enqueue_lines(app, enqueuer, sys.stdin.buffer, Output(flags), flags.timeout))
        return
    given_args = read_arguments(found, words, args)
    asyncio.run(_enqueue(flags, app, enqueuer, given_args, wait))


def options_of(*, tags: Sequence[str] = (), run_timeout: float | None = None, **given: Any) -> dict[str, Any]:
    """The job's options that were given, by the names that a task gives them."""
    given = {**given, "timeout": run_timeout, "tags": tuple(tags) or None}
    return {name: value for name, value in given.items() if value is not None}


def read_arguments(
    task: TaskFunction[..., Any, ..., Any], words: Sequence[str], text: str | None
) -> Arguments:
    """The arguments of one job.

    Raises:
        InvalidInput: they are given in two ways, or cannot be read.
    """
    if text is None:
        return (), arguments.from_words(read_signature(task.function, task.name), words)
    if words:
        raise InvalidInput("give the arguments as name=value or by --args, not both", field="args")
    return arguments.from_json(_text_of(text))


def _text_of(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise InvalidInput(f"{text[1:]} cannot be read: {why}", field="args") from error


async def _enqueue(
    flags: Flags, app: Noria, enqueuer: Enqueuer[..., Any], given: Arguments, wait: float | None
) -> None:
    out = Output(flags)
    draft = enqueuer.job(*given[0], **given[1])
    async with opened(app, flags.timeout):
        try:
            [job] = await answer(app.enqueue_many([draft]), flags.timeout)
        except (Unknown, NoAnswer):
            out.warn(f"whether job {draft.id} is stored is not known; noria jobs show {draft.id} tells")
            raise
        if not job.created:
            out.note(f"nothing was stored: live job {job.id} has this unique key and stands for it")
        if wait is not None:
            await _wait(out, job, wait)
        elif out.json:
            out.record({"id": job.id, "created": job.created})
        else:
            out.line(job.id)


async def _wait(out: Output, job: Job[Any], seconds: float) -> None:
    out.note(f"waiting for job {job.id}")
    try:
        value = await job.result(seconds)
    except WaitTimeout:
        _print_id(out, job, "the job goes on")
        raise
    except ResultGone as error:
        out.note(str(error))
        value = None
    except JobError as error:
        if not out.json:
            raise
        out.record({"id": job.id, "state": error.state, "error": {"message": str(error)}})
        raise Stop(ExitCode.FAILED) from error
    if out.json:
        out.record({"id": job.id, "state": "succeeded", "result": encoded(value)})
    else:
        out.line(lines(value) if isinstance(value, str) else to_json(encoded(value)))


def _print_id(out: Output, job: Job[Any], why: str) -> None:
    if out.json:
        out.record({"id": job.id, "state": None})
    else:
        out.line(job.id)
    out.note(f"{why}: noria jobs show {job.id}")


def encoded(value: Any) -> msgspec.Raw:
    """A result as the JSON that its worker wrote, as far as decoding it kept that."""
    return msgspec.Raw(msgspec.json.encode(value, enc_hook=dump_model))
