"""Pydantic models in arguments and results, if pydantic is there; it is never imported from here."""

from __future__ import annotations

import sys
from typing import Any


def is_model(kind: object) -> bool:
    """Whether a class is a pydantic model. Whoever has such a class has imported pydantic already."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def dump_model(value: object) -> Any:
    """What an encoder should write for a value that it does not know.

    Raises:
        TypeError: it is no pydantic model, so nothing can be written for it.
    """
    if not is_model(type(value)):
        raise TypeError(f"values of type {type(value).__qualname__} cannot be encoded")
    return value.model_dump(mode="json", by_alias=True)  # type: ignore[attr-defined]  # a pydantic model by now


def load_model(kind: Any, value: Any) -> Any:
    """Make a value of a type that the decoder does not know: a pydantic model, or plain `object`.

    Raises:
        ValueError: the model refuses it.
        TypeError: it is no type of ours.
    """
    if is_model(kind):
        return kind.model_validate(value)
    if kind is object:
        return value
    raise TypeError(f"values of type {kind!r:.80} cannot be decoded")
