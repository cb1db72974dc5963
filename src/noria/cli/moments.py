"""Times and waits as the words of a command line."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from noria.cli.quantities import read_seconds
from noria.errors import InvalidInput
from noria.model.backoff import Backoff

if TYPE_CHECKING:
    _Moment = click.ParamType[datetime]
    _Either = click.ParamType[float | datetime]
    _Waits = click.ParamType[Backoff]
else:
    _Moment = _Either = _Waits = click.ParamType  # no type parameter before click 8.5

_EXAMPLE: Final = "2026-12-01T08:00:00Z"
_NUMBERS: Final = ("base", "cap", "factor")


class Moment(_Moment):
    """A time with its zone, as ISO 8601 has it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read it, or say what is wrong with it."""
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r:.40} is no time; write {_EXAMPLE}", param, ctx)
        if found.utcoffset() is None:
            self.fail(f"{value!r:.40} is a time without zone; write {_EXAMPLE}", param, ctx)
        return found


class MomentOrSeconds(_Either):
    """A time with its zone, or how long from now."""

    name = "time or seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | datetime:
        """Read it, or say what is wrong with it."""
        if isinstance(value, datetime) or (isinstance(value, str) and "-" in value):
            return MOMENT.convert(value, param, ctx)
        try:
            return float(value) if isinstance(value, int | float) else read_seconds(value)
        except InvalidInput as error:
            self.fail(f"{error}, or a time such as {_EXAMPLE}", param, ctx)


class Waits(_Waits):
    """The waits between attempts: base=5,cap=10m,factor=2,jitter=none, of which any may be left out."""

    name = "waits"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Backoff:
        """Read them, or say what is wrong with them."""
        if isinstance(value, Backoff):
            return value
        found: dict[str, Any] = {}
        try:
            for part in value.split(","):
                name, _, text = part.strip().partition("=")
                if name not in (*_NUMBERS, "jitter") or name in found:
                    self.fail(
                        f"{part!r:.40} is no wait; write base=5,cap=10m,factor=2,jitter=none", param, ctx
                    )
                found[name] = text if name == "jitter" else _number(name, text)
            return Backoff(**found)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)


def _number(name: str, text: str) -> float:
    if name != "factor":
        return read_seconds(text)
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"factor must be a number, not {text!r:.40}", field="retry") from None


MOMENT: Final = Moment()
MOMENT_OR_SECONDS: Final = MomentOrSeconds()
WAITS: Final = Waits()
