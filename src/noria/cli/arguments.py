"""Arguments of a job from the words of a command line: k=v by the task's own types, or one JSON text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UnsetType
from msgspec.structs import FieldInfo, fields

from noria.app.signature import Signature
from noria.codecs.models import load_model
from noria.errors import InvalidArguments, InvalidInput
from noria.model.task import Arguments

_EXAMPLES: Final[dict[type, Any]] = {
    msgspec.inspect.IntType: 3,
    msgspec.inspect.FloatType: 1.5,
    msgspec.inspect.BoolType: True,
    msgspec.inspect.StrType: "hello",
    msgspec.inspect.BytesType: "aGVsbG8=",
    msgspec.inspect.DateTimeType: "2026-11-30T08:00:00Z",
    msgspec.inspect.DateType: "2026-11-30",
    msgspec.inspect.TimeType: "08:00:00",
    msgspec.inspect.TimeDeltaType: "PT5M",
    msgspec.inspect.UUIDType: "0197c3a0-0000-7000-8000-000000000000",
    msgspec.inspect.DecimalType: "9.99",
    msgspec.inspect.ListType: [],
    msgspec.inspect.SetType: [],
    msgspec.inspect.VarTupleType: [],
    msgspec.inspect.DictType: {},
    msgspec.inspect.NoneType: None,
}


def from_words(signature: Signature, words: Iterable[str]) -> dict[str, Any]:
    """Read `name=value` words; each value is read as the parameter's type.

    Text stays text where the parameter takes text. Elsewhere numbers, true, false, null, dates and the like
    are read from it, and lists and objects from JSON.

    Raises:
        InvalidArguments: a word has no name, a parameter is unknown or given twice, or a value does not fit.
    """
    known = {field.encode_name: field for field in fields(signature.shape)}
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise InvalidArguments(f"{word!r:.40} is no argument; write name=value, or give --args JSON")
        if name not in known:
            raise InvalidArguments(
                f"there is no parameter {name!r:.40}; the task takes {signature.text}", field=name
            )
        if name in found:
            raise InvalidArguments(f"{name} is given twice", field=name)
        found[name] = _read(known[name], value)
    return found


def _read(field: FieldInfo, text: str) -> Any:
    kind = field.type
    if any(each is Any or each is object for each in (kind, *getattr(kind, "__args__", ()))):
        return _json_or_text(text)
    for read in (str, _json_or_text):
        try:
            return msgspec.convert(read(text), kind, strict=False, dec_hook=load_model)
        except (msgspec.ValidationError, ValueError, TypeError):
            continue
    raise InvalidArguments(
        f"{field.encode_name}={text!r:.40} does not fit its type, {type_text(kind)}", field=field.encode_name
    )


def _json_or_text(text: str) -> Any:
    try:
        return decoded(text)
    except msgspec.DecodeError:
        return text


def decoded(text: str | bytes) -> Any:
    """What a JSON text says; one that is nested too deep for the parser is no more than malformed.

    Raises:
        msgspec.DecodeError: it is malformed.
        InvalidInput: an object in it has a name twice, so that one value would be lost.
    """
    try:
        value = msgspec.json.decode(text)
        # Only this parser shows all pairs; numbers stay text, since theirs are not looked at.
        json.loads(text, object_pairs_hook=_apart, parse_int=str, parse_float=str)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deep") from None
    return value


def _apart(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise InvalidInput(f"{name!r:.40} is given twice in one object", field="args")
        seen.add(name)


def type_text(kind: Any) -> str:
    """A parameter's type as people write it."""
    parts = [each for each in getattr(kind, "__args__", ()) if each is not UnsetType]
    if len(parts) < len(getattr(kind, "__args__", ())):
        return " | ".join(map(type_text, parts))
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def text_of(given: str) -> str:
    """The JSON text that `--args` gives: itself, or in the file that `@FILE` names, or on stdin by `-`.

    Raises:
        InvalidInput: the file cannot be read.
    """
    if given == "-":
        return sys.stdin.read()
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise InvalidInput(f"{given[1:]} cannot be read: {why}", field="args") from error


def from_json(text: str) -> Arguments:
    """Read all arguments from JSON: an object has them by name, an array by position.

    Raises:
        InvalidInput: it is no JSON, or neither of the two.
    """
    try:
        value = decoded(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise InvalidInput(f"the arguments are no JSON: {error}", field="args") from None
    return split(value)


def split(value: Any) -> Arguments:
    """Arguments as a JSON value: an object has them by name, an array by position.

    Raises:
        InvalidInput: it is neither.
    """
    if isinstance(value, dict):
        return (), value
    if isinstance(value, list):
        return tuple(value), {}
    raise InvalidInput("arguments are a JSON object (by name) or array (by position)", field="args")


def example(signature: Signature) -> list[str] | None:
    """Words with which the task could be enqueued for a try; None if only its author could invent them."""
    words = []
    for field in fields(signature.shape):
        if not field.required:
            continue
        value = _example_of(msgspec.inspect.type_info(field.type))
        if value is None:
            return None
        words.append(f"{field.encode_name}={value}")
    return words


def _example_of(kind: msgspec.inspect.Type) -> str | None:
    if isinstance(kind, msgspec.inspect.AnyType) or getattr(kind, "cls", None) is object:
        return "hello"
    if isinstance(kind, msgspec.inspect.UnionType):
        return next(
            (found for each in kind.types if (found := _example_of(each)) not in (None, "null")), None
        )
    if isinstance(kind, msgspec.inspect.EnumType):
        return str(next(iter(kind.cls)).value)
    if isinstance(kind, msgspec.inspect.LiteralType):
        return str(kind.values[0])
    if type(kind) not in _EXAMPLES:
        return None
    value = _EXAMPLES[type(kind)]
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
