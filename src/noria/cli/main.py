"""The program `noria`: finds the command, runs it, and ends with the code that tells how it went."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from noria.cli.escape import lines, without_secrets
from noria.cli.exits import ExitCode, ImportFault, Stop, code_of, table
from noria.cli.flags import COMPLETE, Flags, common_flags
from noria.cli.signals import past_asking
from noria.errors import InvalidInput

COMMANDS: Final = {
    "up": "noria.cli.up:up",
    "worker": "noria.cli.worker:worker",
    "serve": "noria.cli.serve:serve",
    "enqueue": "noria.cli.enqueue:enqueue",
    "call": "noria.cli.call:call",
    "jobs": "noria.cli.jobs:jobs",
    "dead": "noria.cli.dead:dead",
    "bulk": "noria.cli.bulk:bulk",
    "queues": "noria.cli.queues:queues",
    "questions": "noria.cli.questions:questions",
    "groups": "noria.cli.groups:groups",
    "schedules": "noria.cli.schedules:schedules",
    "workers": "noria.cli.workers:workers",
    "stats": "noria.cli.stats:stats",
    "keys": "noria.cli.keys:keys",
    "openapi": "noria.cli.openapi:openapi",
    "schema": "noria.cli.openapi:schema",
    "doctor": "noria.cli.doctor:doctor",
    "db": "noria.cli.db:db",
    "bench": "noria.cli.bench:bench",
    "completion": "noria.cli.completion:completion",
    "version": "noria.cli.version:version",
}
"""Where each command lives; it is imported when it is wanted."""

_SETTINGS: Final[dict[str, Any]] = {"auto_envvar_prefix": "NORIA", "help_option_names": ["-h", "--help"]}


class Program(click.Group):
    """The commands, imported one by one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them, in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one."""
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The exit codes."""
        with formatter.section("Exit codes"):
            formatter.write_dl(
                [(code, meaning) for line in table() for code, _, meaning in [line.strip().partition("  ")]]
            )


def _tell_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        click.echo(f"noria {metadata.version('noria')}")
        ctx.exit()


def _version_flag() -> click.Option:
    """Not to be set by the environment: NORIA_VERSION is a likely name for something else."""
    return click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, allow_from_autoenv=False,
        callback=_tell_version, help="Say which version this is, and end; more in `noria version`.",
    )  # fmt: skip


program = Program(
    "noria",
    params=[*common_flags(), _version_flag()],
    help="Noria, a distributed task system. Each flag can be set by an environment variable, too.",
    no_args_is_help=True,
)


def main() -> NoReturn:
    """Run the command line of this process, and end it."""
    _open_closed_streams()
    if COMPLETE in os.environ:
        sys.exit(_complete())
    code = run(sys.argv[1:])
    past_asking()
    sys.exit(code)


def run(words: Sequence[str]) -> ExitCode:
    """Run one command line; whatever happens becomes an exit code and a sentence on stderr."""
    flags = Flags()
    try:
        _check_text(words)
        with program.make_context("noria", list(words), obj=flags, **_SETTINGS) as context:
            program.invoke(context)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the boundary at which every error becomes a code
        return _ended(error, flags)
    return ExitCode.OK


def _check_text(words: Sequence[str]) -> None:
    """Refuse bytes that are no text: Python hides them in what looks like text, and nobody could store it.

    Raises:
        InvalidInput: names the argument, or the environment variable that stands for one.
    """
    said = {f"argument {place}": word for place, word in enumerate(words, 1)}
    said |= {name: value for name, value in os.environ.items() if name.startswith("NORIA_")}
    for name, word in said.items():
        if not _is_text(word):
            raise InvalidInput(f"{name} is not UTF-8 text: {os.fsencode(word)!r:.80}")


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _complete() -> int:
    """What the shell asks when somebody presses Tab; see `noria completion`."""
    from click.shell_completion import shell_complete

    return shell_complete(program, {}, "noria", COMPLETE, os.environ[COMPLETE])


def _open_closed_streams() -> None:
    """A stream that the caller has closed is None in Python; nobody wants to read it, so it leads nowhere."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    nowhere = os.fdopen(os.open(os.devnull, os.O_RDWR), "w", encoding="utf-8")
    sys.stdin, sys.stdout, sys.stderr = sys.stdin or nowhere, sys.stdout or nowhere, sys.stderr or nowhere


def _ended(error: BaseException, flags: Flags) -> ExitCode:
    match error:
        case click.exceptions.Exit():
            return ExitCode(error.exit_code)
        case click.exceptions.Abort():
            _say("interrupted")
            return ExitCode.INTERRUPTED
        case click.ClickException():
            error.show()
            return ExitCode.USAGE
    code = code_of(error)
    match code:
        case ExitCode.BROKEN_PIPE:
            _forget_stdout()
        case ExitCode.BUG if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _forget_stdout()
            _say("the output could not be written whole: no space is left where it goes")
            return ExitCode.FAILED
        case ExitCode.INTERRUPTED:
            _say("interrupted")
        case ExitCode.BUG:
            _ask_for_a_report(error, flags)
        case _ if not isinstance(error, Stop):
            _explain(error)
    return code


def _explain(error: BaseException) -> None:
    if isinstance(error, ImportFault) and error.trace:
        click.echo(lines(error.trace.rstrip("\n")), err=True)
    _say(str(error) or type(error).__name__)


def _ask_for_a_report(error: BaseException, flags: Flags) -> None:
    import traceback

    if flags.verbose:
        click.echo(lines("".join(traceback.format_exception(error)).rstrip("\n")), err=True)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    _say(f"this is a bug in noria: {type(error).__name__}: {error}{where}")
    _say("please report it, with the output of `noria version` and of this command with --verbose")


def _say(text: str) -> None:
    click.echo(f"noria: {lines(without_secrets(text))}", err=True)


def _forget_stdout() -> None:
    """Nobody reads it any more; what is left in it must not be written when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
