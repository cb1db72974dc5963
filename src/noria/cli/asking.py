"""Asks before something is done that cannot be undone."""

from __future__ import annotations

import sys

import click

from noria.cli.exits import ExitCode, Stop
from noria.errors import InvalidInput


def agreed(question: str) -> None:
    """Ask on stderr.

    Raises:
        Stop: the answer was no.
        InvalidInput: nobody answers.
    """
    try:
        yes = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise InvalidInput("this asks first, and nobody can answer: say --yes", field="yes") from None
    if not yes:
        click.echo("nothing was changed", err=True)
        raise Stop(ExitCode.FAILED)
