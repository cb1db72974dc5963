"""A command, what it may do to its target, and which target that is: decided here, before it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal

import click

from noria.cli import contexts
from noria.cli.asking import agreed
from noria.cli.contexts import Context
from noria.cli.environment import is_supervised
from noria.cli.escape import one_line
from noria.cli.exits import ReadOnly
from noria.cli.flags import CommonFlag, Flags, common_flags, flags_of, said
from noria.errors import InvalidInput

Use = Literal["reads", "writes", "nothing"]
"""What a command does to its target; `nothing`: it has none."""


class Command(click.Command):
    """A command that has the common flags besides its own.

    Args:
        use: what it does to its target; if its flags decide, a function of these.
    """

    def __init__(self, *args: Any, use: Use | Callable[[Mapping[str, Any]], Use], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.use = use
        self.params.extend(common_flags())

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, on the target that is meant, if it may."""
        aim(ctx, self.use(ctx.params) if callable(self.use) else self.use)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its own flags first, then the common ones, so that neither hides the other."""
        params = self.get_params(ctx)
        own = [each for each in params if isinstance(each, click.Option) and not isinstance(each, CommonFlag)]
        common = [each for each in params if isinstance(each, CommonFlag)]
        for title, group in (("Options", own), ("Common options", common)):
            rows = [row for each in group if (row := each.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Group(click.Group):
    """Commands about one subject; alone, it lists.

    Args:
        alone: the command that it runs alone, which reads.
    """

    command_class = Command

    def __init__(self, *args: Any, alone: str = "list", **settings: Any) -> None:
        self._alone = alone
        settings.setdefault("invoke_without_command", True)
        super().__init__(*args, **settings)
        self.params.extend(common_flags())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; without one, what it does alone."""
        value = super().invoke(ctx)
        alone = self.get_command(ctx, self._alone)
        if ctx.invoked_subcommand is None and alone is not None:
            aim(ctx, "reads")
            return ctx.invoke(alone)
        return value


def aim(ctx: click.Context, use: Use) -> None:
    """Put the URL of the context that is meant into the flags.

    Raises:
        ReadOnly: it would write, and must not.
        InvalidInput: no context has this name, or a write would go where nobody has sent it.
        ConfigError: the file of contexts is faulty.
        Stop: it was asked whether production is meant, and the answer was no.
    """
    if use == "nothing":
        return
    flags = flags_of(ctx)
    if use == "writes" and flags.read_only:
        raise ReadOnly(f"{ctx.command_path} writes, and --read-only forbids that (NORIA_READ_ONLY)")
    found = _meant(flags, said(ctx), anything=bool(flags.app or ctx.params.get("named")))
    if found is None:
        return
    context, sticky = found
    if use == "writes" and sticky:
        raise InvalidInput(
            f"this writes, and context {context.name} was not named for it: say --context {context.name}, or another",
            field="context",
        )
    flags.url = context.url
    if context.key_file is not None and "key_file" not in said(ctx):
        flags.key_file = context.key_file
    if not is_supervised():
        _tell(flags, context, ctx.command_path, asks=use == "writes" and context.production)


def _meant(flags: Flags, spoken: set[str], *, anything: bool) -> tuple[Context, bool] | None:
    """The context that is meant, and whether it is too sticky to write: one of several, and not named in this command.

    What is closer wins: the command line, then the environment, then the default, which stands behind an
    application, too.
    """
    if {"url", "context"} <= spoken or (flags.url and flags.context and not {"url", "context"} & spoken):
        raise InvalidInput("both a URL and a context are given; one of them is the target", field="context")
    if "url" in spoken or (flags.url and "context" not in spoken):
        return None
    if flags.context is None and anything:
        return None
    known = contexts.read()
    name = flags.context or known.default
    if name is None:
        return None
    return known.find(name), "context" not in spoken and len(known.named) > 1


def _tell(flags: Flags, context: Context, command: str, *, asks: bool) -> None:
    """Say where it goes; before a write to production, ask.

    Raises:
        InvalidInput: nobody is there to be asked.
        Stop: the answer was no.
    """
    from noria.app.connect import without_credentials  # what is run without a context does without

    where = f"{one_line(context.name)} ({one_line(without_credentials(context.url))})"
    if not asks or flags.yes:
        if not flags.quiet:
            click.echo(f"context {where}{', production' if context.production else ''}", err=True)
        return
    if not sys.stdin.isatty():  # what comes from there may be meant for the command
        raise InvalidInput(f"context {where} is production, and nobody can be asked: say --yes", field="yes")
    agreed(f"context {where} is production. {command}?")
