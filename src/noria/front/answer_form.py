"""A question's schema as the fields of a form, and what a browser sends of these as an answer.

The schemas are flat (see `noria.codecs.flat`), so every field is one control. What a form cannot say is settled here:
an empty text is a field that was left out, or null where only that is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from noria.codecs.flat import Flaw

LONE: Final = "value"
"""The name of the only field, where a question asks for one plain value."""
LEFT_OUT: Final = object()
Shape = Literal["text", "one", "some"]

_NUMBER: Final = re.compile(r"([+-]?)0*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)", re.ASCII)
_LONGEST_NUMBER: Final = 400
_YES_OR_NO: Final = (("true", "Yes", True), ("false", "No", False))
_SHAPES: Final = {
    "date-time": "Date and time, such as 2026-12-31T18:30:00Z.",
    "time": "A time of day, such as 18:30:00.",
    "duration": "A duration, such as PT90S or P2D.",
    "decimal": "A number, such as 19.90.",
}
_INPUTS: Final = {"date": "date", "email": "email", "uri": "url"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One control of a form.

    Attributes:
        name: in the answer, and in what the browser sends.
        label, hint: for people.
        shape: a text, one of some choices, or any number of these.
        choices: what is sent for each, what people read, and the value.
        needed: an answer without it is refused.
        null: an empty field of this is null.
        kinds: JSON types that a text can be, the first that fits counts.
        input: the type of the control of a text.
        default: what is in it at first, as it is sent; several for `some`.
    """

    name: str
    label: str
    hint: str
    shape: Shape
    choices: tuple[tuple[str, str, Any], ...]
    needed: bool
    null: bool
    kinds: tuple[str, ...]
    input: str
    default: tuple[str, ...]


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """The controls of a form for a schema, in its order."""
    if schema.get("type") != "object":
        return [_field(LONE, schema, needed=True)]
    needed = schema.get("required", ())
    return [_field(name, each, needed=name in needed) for name, each in schema["properties"].items()]


def _field(name: str, schema: Mapping[str, Any], *, needed: bool) -> Field:
    kinds = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"] or [
        {"enum": [None]}
    ]
    lists = [each for each in kinds if each.get("type") == "array"]
    choices = tuple(_choices(lists[0]["items"] if lists else {"anyOf": kinds}))
    label = "Your answer" if name == LONE else name.replace("_", " ").capitalize()
    default = schema.get("default", LEFT_OUT)
    given = default if isinstance(default, list) else [] if default in (LEFT_OUT, None) else [default]
    return Field(
        name=name,
        label=str(schema.get("title") or label),
        hint=" ".join(filter(None, (str(schema.get("description", "")), *map(_bounds, kinds)))),
        shape="some" if lists else "one" if choices else "text",
        choices=choices,
        needed=needed,
        null=any(each.get("type") == "null" for each in schema.get("anyOf", ())),
        kinds=tuple(str(each.get("type")) for each in kinds),
        input=_input(kinds),
        default=tuple(map(text_of, given)),
    )


def text_of(value: Any) -> str:
    """A value as it stands in a form."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _choices(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The choices of a field; none if anything of it is to be typed."""
    kinds = schema.get("anyOf", [schema])
    if not all("enum" in each or "const" in each or each.get("type") == "boolean" for each in kinds):
        return
    for each in kinds:
        if each.get("type") == "boolean" and "enum" not in each and "const" not in each:
            yield from _YES_OR_NO
        else:
            values = each["enum"] if "enum" in each else [each["const"]]
            yield from ((text_of(value), text_of(value) or "(nothing)", value) for value in values)


def _bounds(kind: Mapping[str, Any]) -> str:
    if "enum" in kind or "const" in kind:
        return ""
    least = kind.get("minimum", kind.get("minLength"))
    most = kind.get("maximum", kind.get("maxLength"))
    unit = " characters" if kind.get("type") == "string" else ""
    if shape := _SHAPES.get(kind.get("format", "")):
        return shape
    number = {"integer": "A whole number", "number": "A number"}.get(kind.get("type", ""), "")
    if least is not None and most is not None:
        return f"{number or 'Text'}, {least} to {most}{unit}."
    if least is not None or most is not None:
        return f"{number or 'Text'}, at {'least' if most is None else 'most'} {least if most is None else most}{unit}."
    return f"{number}." if number else ""


def _input(kinds: Sequence[Mapping[str, Any]]) -> str:
    if all(each.get("type") in ("integer", "number") for each in kinds):
        return "number"
    return _INPUTS.get(str(kinds[0].get("format")), "text") if len(kinds) == 1 else "text"


# -- what was sent -----------------------------------------------------------------------------------------


def answer_in(schema: Mapping[str, Any], sent: Sequence[tuple[str, str]]) -> Any:
    """What was sent as an answer; whether it fits is for others to say. What nobody asked for stays in it."""
    given: dict[str, list[str]] = {}
    for name, text in sent:
        given.setdefault(name, []).append(text)
    fields = fields_of(schema)
    values = {each.name: _value(each, given.pop(each.name, [])) for each in fields}
    found = {name: value for name, value in values.items() if value is not LEFT_OUT}
    if schema.get("type") == "object":
        return {**found, **{name: texts[0] for name, texts in given.items()}}
    return found.get(LONE)


def _value(field: Field, texts: Sequence[str]) -> Any:
    if field.shape == "some":
        values = [_chosen(field, text) for text in texts]
        return values if values or field.needed or field.default else LEFT_OUT
    if texts and (field.shape == "one" or texts[0]) and (texts[0] or _is_choice(field, "")):
        return _chosen(field, texts[0]) if field.shape == "one" else _typed(field, texts[0])
    if field.null and (field.needed or field.default):
        return None
    return LEFT_OUT


def _is_choice(field: Field, text: str) -> bool:
    return any(text == each for each, _, _ in field.choices)


def _chosen(field: Field, text: str) -> Any:
    return next((value for each, _, value in field.choices if each == text), text)


def _typed(field: Field, text: str) -> Any:
    for kind in field.kinds:
        if kind in ("integer", "number"):
            number = _number(text.strip())
            if isinstance(number, int) or (kind == "number" and number is not None):
                return number
        elif kind == "boolean" and text in ("true", "false"):
            return text == "true"
    return text


def _number(text: str) -> int | float | None:
    told = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    if told is None:
        return None
    try:
        found: int | float = msgspec.json.decode(f"{told[1].replace('+', '')}{told[2]}", type=int | float)
    except msgspec.DecodeError:
        return None
    return found


def wrong_fields(flaws: Sequence[Flaw]) -> dict[str, str]:
    """What is wrong with each field."""
    found: dict[str, str] = {}
    for pointer, words in flaws:
        name = pointer.removeprefix("/").replace("~1", "/").replace("~0", "~") or LONE
        found.setdefault(name, words)
    return found
