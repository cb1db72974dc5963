"""The flags that every command has; each may stand before or after the command, or in the environment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from noria.cli.quantities import read_bytes, read_seconds
from noria.errors import InvalidInput

_SAID: Final = "noria.cli.said"

if TYPE_CHECKING:
    _Type = click.ParamType[float]
    _Size = click.ParamType[int]
    _Words = click.ParamType[tuple[str, ...]]
    _Marks = click.ParamType[dict[str, int]]
else:
    _Type = _Size = _Words = _Marks = click.ParamType  # no type parameter before click 8.5


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
    key_file: str | None = None
    context: str | None = None
    read_only: bool = False


class Seconds(_Type):
    """A duration: seconds, or with units as in 90s, 5m, 2h."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it, or say what is wrong with it."""
        try:
            return float(value) if isinstance(value, int | float) else read_seconds(value)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)


class Bytes(_Size):
    """A size: bytes, or with a unit as in 512MB, 2GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it, or say what is wrong with it."""
        try:
            return value if isinstance(value, int) else read_bytes(value)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)


class Words(_Words):
    """Words with commas between them."""

    name = "words"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Part them."""
        return value if isinstance(value, tuple) else tuple(each.strip() for each in value.split(","))


class Marks(_Marks):
    """Names, each with a whole number, with commas between them."""

    name = "name=n,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int]:
        """Part them, or say what is wrong with one."""
        if isinstance(value, dict):
            return value
        marks: dict[str, int] = {}
        for word in value.split(","):
            name, _, number = (part.strip() for part in word.partition("="))
            if not name or name in marks or not (number.isascii() and number.isdigit()):
                self.fail(
                    f"{word.strip()!r:.60} must be NAME=N, as in details=1000, each name once", param, ctx
                )
            marks[name] = int(number[:12])
        return marks


SECONDS: Final = Seconds()
WORDS: Final = Words()
BYTES: Final = Bytes()

COMPLETE: Final = "_NORIA_COMPLETE"
"""The variable by which a shell asks for words to complete; click's own protocol."""

option = partial(click.option, show_envvar=True)
"""An option of one command; its environment variable is made of the command's name and its own."""

app_argument = click.argument("named", required=False, metavar="[APP]")
"""The application, where a command takes it by position. Without it, `--app` or NORIA_APP counts."""


class CommonFlag(click.Option):
    """A flag of every command; its value goes to the `Flags` of the whole run."""

    def __init__(self, *names: str, **settings: Any) -> None:
        super().__init__(list(names), expose_value=False, callback=_keep, show_envvar=True, **settings)


def common_flags() -> list[CommonFlag]:
    """The flags, made anew each time: a parameter belongs to one command."""
    colors = click.Choice(["auto", "always", "never"])
    return [
        CommonFlag(
            "--url",
            envvar="NORIA_URL",
            metavar="URL",
            help="The backend, else the application's own; or a front, as http(s)://HOST.",
        ),
        CommonFlag(
            "--context",
            envvar="NORIA_CONTEXT",
            metavar="NAME",
            help="The target of this name in NORIA_CONTEXTS, or ~/.config/noria/contexts.toml.",
        ),
        CommonFlag("--app", envvar="NORIA_APP", metavar="APP", help="module:attribute, or path/to/file.py"),
        CommonFlag(
            "--key-file",
            envvar="NORIA_KEY_FILE",
            metavar="FILE",
            help="The key for a front; or NORIA_API_KEY.",
        ),
        CommonFlag("--json", is_flag=True, envvar="NORIA_JSON", help="JSON on stdout; lists as JSON Lines."),
        CommonFlag("--quiet", is_flag=True, envvar="NORIA_QUIET", help="No notes, no progress."),
        CommonFlag("--verbose", "-v", is_flag=True, envvar="NORIA_VERBOSE", help="Say more."),
        CommonFlag("--color", type=colors, envvar="NORIA_COLOR", help="auto heeds NO_COLOR and terminals."),
        CommonFlag(
            "--timeout", type=SECONDS, envvar="NORIA_TIMEOUT", help="Wait this long for the backend: 30."
        ),
        CommonFlag("--yes", "-y", is_flag=True, envvar="NORIA_YES", help="Ask nothing."),
        CommonFlag("--read-only", is_flag=True, envvar="NORIA_READ_ONLY", help="Refuse to change anything."),
    ]


def flags_of(ctx: click.Context) -> Flags:
    """The flags of this run."""
    return ctx.ensure_object(Flags)


def said(ctx: click.Context) -> set[str]:
    """The names of the common flags that stand on the command line itself."""
    found: set[str] = ctx.find_root().meta.setdefault(_SAID, set())
    return found


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """What stands on the command line wins over the environment, wherever it stands."""
    name = param.name or ""
    spoken = said(ctx)
    match ctx.get_parameter_source(name):
        case ParameterSource.COMMANDLINE:
            spoken.add(name)
        case ParameterSource.ENVIRONMENT if name not in spoken:
            pass
        case _:
            return
    setattr(flags_of(ctx), name, value)
