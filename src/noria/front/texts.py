"""Text made into values as a JSON schema says: of a query string, and of a command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def from_text(schema: dict[str, Any], values: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Arguments from names with text, as a query string has them; what stands there twice is a list."""
    grouped: dict[str, list[str]] = {}
    for name, text in values:
        grouped.setdefault(name, []).append(text)
    known: dict[str, Any] = schema.get("properties", {})
    return {name: _value(schema, known.get(name, {}), texts) for name, texts in grouped.items()}


def _value(whole: dict[str, Any], part: Any, texts: list[str]) -> Any:
    kinds = _kinds_in(whole, part, 8)
    if len(texts) > 1 or ("array" in kinds and not texts[0].startswith("[")):
        items = part.get("items", {}) if isinstance(part, dict) else {}
        return [_value(whole, items, [text]) for text in texts]
    return _one(kinds, texts[0])


def _one(kinds: set[str], text: str) -> Any:
    if kinds == {"string"}:
        return text
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError):
        return text
    fits = not kinds or any(type(value) in _KINDS.get(kind, ()) for kind in kinds)
    return value if fits else text


def _kinds_in(whole: dict[str, Any], part: Any, depth: int) -> set[str]:
    """The types of JSON that a part of a schema allows; empty if it does not say."""
    if not isinstance(part, dict) or depth == 0:
        return set()
    kinds = part.get("type", ())
    found = {kinds} if isinstance(kinds, str) else set(kinds)
    if "enum" in part:
        found |= {_word(value) for value in part["enum"]}
    if isinstance(reference := part.get("$ref"), str):
        name = reference.rpartition("/")[2]
        found |= _kinds_in(whole, whole.get("$defs", {}).get(name), depth - 1)
    for each in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        found |= _kinds_in(whole, each, depth - 1)
    return found


def _word(value: Any) -> str:
    return next((word for word, kinds in _KINDS.items() if type(value) in kinds), "string")
