"""Answers of people: the flat JSON schemas that any client can make a form of, and what fits them.

An answer is one plain value, or an object of such: text, number, yes or no, one of some values, several of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import fmod
from sys import float_info
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec import inspect

from noria.codecs.models import is_model, model_schema
from noria.codecs.patterns import matches
from noria.errors import InvalidOption, shown
from noria.model.limits import MAX_ANSWER

Flaw = tuple[str, str]
"""A JSON pointer, and what is wrong there."""

_LEAVES: Final = ("string", "number", "integer", "boolean", "null")
_ZONES: Final = {
    True: "([Zz]|[+-][0-9]{2}:?[0-9]{2})$",
    False: "(^|[Tt ])[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?$",
}
"""How a time ends that has a zone, and how one looks that has none."""
_FORMATS: Final[Mapping[str, Any]] = {
    "date": date,
    "date-time": datetime,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
    "decimal": Decimal,
}


def schema_of(shape: Any) -> dict[str, Any]:
    """The schema of a type as an answer.

    Args:
        shape: `str`, `int`, `float`, `bool`, an enum, a `Literal`, a date or a UUID, with `Annotated` as msgspec reads
            it; or a dataclass, a msgspec Struct or a pydantic model whose fields are of these types, or lists of
            enums.

    Raises:
        InvalidOption: it is no such type.
    """
    try:
        whole = model_schema(shape) if is_model(shape) else msgspec.json.schema(shape)
    except TypeError as error:
        raise InvalidOption(f"schema={shown(shape)} is no type of answers: {error}", field="schema") from None
    schema: dict[str, Any] = _inlined(whole, whole.get("$defs", {}))
    schema.pop("$defs", None)
    if not is_model(shape):
        schema = _timed(schema, inspect.type_info(shape))
    if schema.get("type") == "object" and not schema.get("properties"):
        raise InvalidOption(f"schema={shown(shape)} has no fields to ask for", field="schema")
    fields = schema.get("properties", {}).items() if schema.get("type") == "object" else [("", schema)]
    for name, field in fields:
        if not _flat(field):
            raise InvalidOption(
                f"schema={shown(shape)} asks for more than a form can show: "
                f"{name or 'it'} must be text, a number, yes or no, or a choice, and not nested",
                field="schema",
            )
    if len(msgspec.json.encode(schema)) > MAX_ANSWER:
        raise InvalidOption(f"schema={shown(shape)} is too large for a question", field="schema")
    return schema


def _timed(schema: dict[str, Any], shape: inspect.Type) -> dict[str, Any]:
    """The schema with what msgspec leaves out of it: that a text is a point in time, or a time of day, and its zone."""
    if isinstance(shape, inspect.Metadata):
        return _timed(schema, shape.type)
    if isinstance(shape, inspect.UnionType):
        texts = [each for each in shape.types if isinstance(each, inspect.DateTimeType | inspect.TimeType)]
        if not texts:
            return schema
        kinds = schema.get("anyOf", ())
        timed = [_timed(each, texts[0]) if each.get("type") == "string" else each for each in kinds]
        return {**schema, "anyOf": timed}
    if isinstance(shape, inspect.DateTimeType | inspect.TimeType):
        form = "date-time" if isinstance(shape, inspect.DateTimeType) else "time"
        return {**schema, "format": form, **({} if shape.tz is None else {"pattern": _ZONES[shape.tz]})}
    if isinstance(shape, inspect.StructType | inspect.DataclassType | inspect.TypedDictType):
        fields = {each.encode_name: each.type for each in shape.fields}
        properties = schema.get("properties", {}).items()
        return {**schema, "properties": {name: _timed(each, fields[name]) for name, each in properties}}
    return schema


def _inlined(schema: Any, known: Mapping[str, Any], depth: int = 0) -> Any:
    """The schema without references; whatever refers to itself is nested, and refused by what it then looks like."""
    if isinstance(schema, list):
        return [_inlined(each, known, depth) for each in schema]
    if not isinstance(schema, dict) or depth > 4:
        return schema
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        rest = {key: value for key, value in schema.items() if key not in ("$ref", "$defs")}
        return {**_inlined(known.get(name, {"type": "object"}), known, depth + 1), **rest}
    return {key: _inlined(value, known, depth) for key, value in schema.items()}


def _flat(field: Mapping[str, Any]) -> bool:
    if "anyOf" in field:
        return all(_flat(each) for each in field["anyOf"])
    if "enum" in field or "const" in field:
        return True
    if field.get("type") == "array":
        return "enum" in field.get("items", {})
    return field.get("type") in _LEAVES and field.get("contentEncoding") is None


def is_slow(schema: Mapping[str, Any]) -> bool:
    """Whether it may take a while to see what is wrong with an answer: not to be done on an event loop."""
    return '"pattern"' in msgspec.json.encode(schema).decode()


def flaws(schema: Mapping[str, Any], data: Any) -> list[Flaw]:
    """What is wrong with an answer; nothing if it fits."""
    if schema.get("type") != "object":
        return [("", words) for words in _wrong(schema, data)]
    if not isinstance(data, dict):
        return [("", "must be an object")]
    fields: Mapping[str, Any] = schema.get("properties", {})
    told = [(_pointer(name), "is missing") for name in schema.get("required", ()) if name not in data]
    for name, value in data.items():
        if name not in fields:
            told.append((_pointer(name), "is not asked for"))
        else:
            told += [(_pointer(name), words) for words in _wrong(fields[name], value)]
    return told


def _pointer(name: str) -> str:
    shortened = name[:100].replace("~", "~0").replace("/", "~1")
    return f"/{shortened}"


def _wrong(field: Mapping[str, Any], value: Any) -> Iterator[str]:
    if "anyOf" in field:
        if all(any(_wrong(each, value)) for each in field["anyOf"]):
            kinds = [each for each in field["anyOf"] if each.get("type") != "null"]
            yield from (
                _wrong(kinds[0], value) if len(kinds) == 1 else ("fits none of the types that are allowed",)
            )
        return
    allowed = field["enum"] if "enum" in field else [field["const"]] if "const" in field else None
    if allowed is not None:
        # True is no 1, although Python says so, and no type of a choice takes 1.0 for 1.
        if not any(value == each and type(value) is type(each) for each in allowed):
            yield f"must be one of {', '.join(map(str, allowed))}"[:200]
        return
    kind = field.get("type")
    if kind == "array":
        yield from _wrong_list(field, value)
    elif not _TYPES[kind](value) if kind in _TYPES else False:
        yield f"must be {_WORDS[str(kind)]}"
    elif isinstance(value, str):
        yield from _wrong_text(field, value)
    elif not isinstance(value, bool) and isinstance(value, int | float):
        yield from _wrong_number(field, value)


def _wrong_list(field: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, list):
        yield "must be a list"
    elif any(any(_wrong(field["items"], each)) for each in value):
        yield "has a value that is not allowed"
    elif not field.get("minItems", 0) <= len(value) <= field.get("maxItems", len(value)):
        yield "has too few or too many values"


def _wrong_text(field: Mapping[str, Any], value: str) -> Iterator[str]:
    if len(value) < field.get("minLength", 0):
        yield f"must have at least {field['minLength']} characters"
    if len(value) > field.get("maxLength", len(value)):
        yield f"must have at most {field['maxLength']} characters"
    elif "pattern" in field:
        yield from _wrong_form(field["pattern"], value)
    shape = _FORMATS.get(field.get("format", ""))
    if shape is not None:
        try:
            msgspec.convert(value, shape)
        except (msgspec.ValidationError, ArithmeticError):
            yield f"is no valid {field['format']}"


def _wrong_form(pattern: str, value: str) -> Iterator[str]:
    ours = pattern in _ZONES.values()
    found = bool(re.search(pattern, value)) if ours else matches(pattern, value)
    if found is None:
        yield "takes too long to compare with the form that is asked for"
    elif not found:
        yield "has not the form that is asked for"


def _wrong_number(field: Mapping[str, Any], value: float) -> Iterator[str]:
    if value < field.get("minimum", value) or (
        "exclusiveMinimum" in field and value <= field["exclusiveMinimum"]
    ):
        yield "is too small"
    if value > field.get("maximum", value) or (
        "exclusiveMaximum" in field and value >= field["exclusiveMaximum"]
    ):
        yield "is too large"
    if "multipleOf" in field and not _is_multiple(value, field["multipleOf"]):
        yield f"is no multiple of {field['multipleOf']}"


def _is_multiple(value: float, of: float) -> bool:
    if isinstance(value, int) and float(of).is_integer():
        return value % int(of) == 0
    return fmod(value, of) == 0


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= float_info.max


_TYPES: Final[dict[str | None, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_WORDS: Final = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}
