"""The answer to a question from the words of a command line, or from who sits at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from noria.cli.arguments import decoded
from noria.cli.questionview import fields_of
from noria.errors import InvalidInput

_MOST: Final = 65_536
"""Characters of an answer on stdin."""


def answer_of(schema: dict[str, Any], message: str, words: Iterable[str], *, secret: bool) -> Any:
    """What the words say, as the schema has it.

    `name=value` is a field; `value` alone answers a question for one plain value. In place of a value, `-` asks for it
    without an echo, or reads a line of stdin if that is no terminal.

    Raises:
        InvalidInput: a word is no field, or given twice, or there is none.
    """
    fields, one = fields_of(schema), schema.get("type") != "object"
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if one and name != "value":
            name, equals, text = "value", "=", word
        if not equals:
            if word != "-" or len(fields) != 1:
                raise InvalidInput("write name=value for each field", field="words")
            name, text = next(iter(fields)), "-"
        if name not in fields:
            raise InvalidInput(
                f"{name[:40]!r} is not asked for; the fields are {', '.join(fields)}", field="words"
            )
        if name in found:
            raise InvalidInput(f"{name} is given twice", field="words")
        if secret and text != "-":
            raise InvalidInput(
                f"the answer is secret, and other users see command lines: write {'' if one else name + '='}-",
                field="words",
            )
        found[name] = _read(fields[name], _hidden(message if one else name) if text == "-" else text)
    if one and not found:
        raise InvalidInput("give the answer, or - to be asked for it", field="words")
    return found["value"] if one else found


def _hidden(prompt: str) -> str:
    if sys.stdin.isatty():
        text: str = click.prompt(click.unstyle(prompt), hide_input=True, err=True)
        return text
    return sys.stdin.readline(_MOST).rstrip("\r\n")


def _read(field: Mapping[str, Any], text: str) -> Any:
    """A text as what the field takes; what it cannot be stays text, which the front refuses with its place."""
    choices = field.get("enum", [field["const"]] if "const" in field else None)
    if choices is not None:
        return next((each for each in choices if str(each) == text), text)
    if "anyOf" in field:
        kinds = {each.get("type") for each in field["anyOf"]}
        return text if "string" in kinds and not (text == "null" and "null" in kinds) else _parsed(text)
    return text if field.get("type") == "string" else _parsed(text)


def _parsed(text: str) -> Any:
    try:
        return decoded(text)
    except ValueError:
        return text
