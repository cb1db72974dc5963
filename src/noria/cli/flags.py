"""The flags that every command has; each may stand before or after the command, or in the environment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from noria.cli.quantities import read_seconds
from noria.errors import InvalidInput

_SAID: Final = "noria.cli.said"

if TYPE_CHECKING:
    _Type = click.ParamType[float]
else:
    _Type = click.ParamType  # no type parameter before click 8.5


@dataclass(slots=True)
class Flags:
    """What the flags said. `timeout` bounds each wait for the backend, in seconds."""

    url: str | None = None
    app: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: str = "auto"
    timeout: float = 30.0
    yes: bool = False


class Seconds(_Type):
    """A duration: seconds, or with units as in 90s, 5m, 2h."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it, or say what is wrong with it."""
        try:
            return float(value) if isinstance(value, int | float) else read_seconds(value)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)


SECONDS: Final = Seconds()

option = partial(click.option, show_envvar=True)
"""An option of one command; its environment variable is made of the command's name and its own."""

app_argument = click.argument("named", required=False, metavar="[APP]")
"""The application, where a command takes it by position. Without it, `--app` or NORIA_APP counts."""


class CommonFlag(click.Option):
    """A flag of every command; its value goes to the `Flags` of the whole run."""

    def __init__(self, *names: str, **settings: Any) -> None:
        super().__init__(list(names), expose_value=False, callback=_keep, show_envvar=True, **settings)


class Command(click.Command):
    """A command that has the common flags besides its own."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.extend(common_flags())

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
    """Commands about one subject; alone, it lists."""

    command_class = Command

    def __init__(self, *args: Any, **settings: Any) -> None:
        settings.setdefault("invoke_without_command", True)
        super().__init__(*args, **settings)
        self.params.extend(common_flags())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; without one, `list`."""
        value = super().invoke(ctx)
        listing = self.get_command(ctx, "list")
        if ctx.invoked_subcommand is None and listing is not None:
            return ctx.invoke(listing)
        return value


def common_flags() -> list[CommonFlag]:
    """The flags, made anew each time: a parameter belongs to one command."""
    colors = click.Choice(["auto", "always", "never"])
    return [
        CommonFlag(
            "--url", envvar="NORIA_URL", metavar="URL", help="The backend; else the application's own."
        ),
        CommonFlag("--app", envvar="NORIA_APP", metavar="APP", help="module:attribute, or path/to/file.py"),
        CommonFlag("--json", is_flag=True, envvar="NORIA_JSON", help="JSON on stdout; lists as JSON Lines."),
        CommonFlag("--quiet", is_flag=True, envvar="NORIA_QUIET", help="No notes, no progress."),
        CommonFlag("--verbose", "-v", is_flag=True, envvar="NORIA_VERBOSE", help="Say more."),
        CommonFlag("--color", type=colors, envvar="NORIA_COLOR", help="auto heeds NO_COLOR and terminals."),
        CommonFlag(
            "--timeout", type=SECONDS, envvar="NORIA_TIMEOUT", help="Wait this long for the backend: 30."
        ),
        CommonFlag("--yes", "-y", is_flag=True, envvar="NORIA_YES", help="Ask nothing."),
    ]


def flags_of(ctx: click.Context) -> Flags:
    """The flags of this run."""
    return ctx.ensure_object(Flags)


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """What stands on the command line wins over the environment, wherever it stands."""
    name = param.name or ""
    said: set[str] = ctx.find_root().meta.setdefault(_SAID, set())
    match ctx.get_parameter_source(name):
        case ParameterSource.COMMANDLINE:
            said.add(name)
        case ParameterSource.ENVIRONMENT if name not in said:
            pass
        case _:
            return
    setattr(flags_of(ctx), name, value)
