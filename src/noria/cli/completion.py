"""`noria completion`: a script by which a shell completes commands and flags; click's own."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from noria.cli.command import Command
from noria.cli.flags import COMPLETE


@click.command(cls=Command, use="nothing")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands and flags in a shell.

    bash: source <(noria completion bash)   zsh: the same   fish: noria completion fish | source
    """
    kind = get_completion_class(shell)
    assert kind is not None
    command = ctx.find_root().command
    click.echo(kind(command, {}, "noria", COMPLETE).source())
