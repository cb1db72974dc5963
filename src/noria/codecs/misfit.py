"""Why a value cannot be written or read, in words that never repeat the value itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import DecodeError

from noria.codecs.models import place_of

_AT: Final = re.compile(r" - at (?:`key` in )?`\$\.?(?P<path>.*)`\Z", re.DOTALL)
_FIELD: Final = re.compile(
    r"Object (?:(?P<missing>missing required)|contains unknown) field `(?P<name>.*)`\Z", re.DOTALL
)
_LONGEST: Final = 200


class Misfit(Exception):
    """A value cannot be written, or bytes are not a value of the expected type.

    Attributes:
        words: what is wrong; safe to show and to store.
        path: where, such as "order.items[0].price"; empty for the whole.
    """

    def __init__(self, words: str, path: str = "") -> None:
        super().__init__(words)
        self.words = words
        self.path = path

    def of(self, what: str) -> str:
        """A sentence about `what`, or about the part of it that is wrong."""
        return f"{self.path or what}{': ' if self.words.startswith('expected') else ' '}{self.words}"


class Oversize(Misfit):
    """The bytes are more, or nested deeper, than the limit."""


def misfit_of(error: Exception) -> Misfit:
    """What a decoder's complaint says, without the value that it may quote.

    The decoder's own words are kept where they speak of types only. Of what a class of the user raised, only
    the kind is told: its text may hold the value.
    """
    text = str(error) if isinstance(error, DecodeError) else ""
    found = _AT.search(text)
    path = found["path"] if found else ""
    text = text[: found.start()] if found else text
    culprit = culprit_of(error)
    if culprit is not None:
        path = path_of(place_of(culprit), path)
        return Misfit(f"was refused by its own class ({type(culprit).__name__})", _shown(path))
    field = _FIELD.match(text)
    if field:
        inner = f"{path}.{field['name']}".removeprefix(".")
        return Misfit("is missing" if field["missing"] else "is not known", _shown(inner))
    return Misfit(_words(text), _shown(path))


def path_of(steps: Iterable[str | int], path: str = "") -> str:
    """A path such as "order.items[0].price", from names and indexes, after one that leads to them."""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path.removeprefix(".")


def culprit_of(error: Exception) -> BaseException | None:
    """What a class of the user raised while it was decoded, if that is what went wrong."""
    return error.__cause__ if isinstance(error, DecodeError) else error


def _words(text: str) -> str:
    match text.partition(" "):
        case "Expected", _, rest:
            return f"expected {rest.replace('`', '')}"
        case "Invalid", _, rest if not rest.startswith(("enum value", "value")):
            return f"is no valid {rest}"
        case "JSON", _, rest:
            return f"as JSON {rest}"
        case "Input", _, _:
            return "as JSON ends too early"
        case (("Number" | "Integer"), _, _):
            return "is a number out of range"
    return "is not one of the allowed values"


def _shown(path: str) -> str:
    # Names in a path may come from outside, with whatever characters.
    return (path if path.isprintable() else ascii(path)[1:-1])[:_LONGEST]
