"""Pydantic models in arguments and results, if pydantic is there; it is never imported from here."""

from __future__ import annotations

import sys
from typing import Any

import msgspec


def is_model(kind: object) -> bool:
    """Whether a class is a pydantic model. Whoever has such a class has imported pydantic already."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def model_schema(kind: type) -> dict[str, Any]:
    """JSON schema of a pydantic model.

    Raises:
        TypeError: it has none, so that no value of it can be written as JSON; says why.
    """
    pydantic = sys.modules["pydantic"]
    if kind is pydantic.BaseModel:
        raise TypeError("BaseModel itself has no fields; name the model that is meant")
    try:
        found: dict[str, Any] = kind.model_json_schema()  # type: ignore[attr-defined]  # a pydantic model
    except pydantic.errors.PydanticUserError as error:
        raise TypeError(f"the model {kind.__qualname__} has no JSON schema: {error.message}") from error
    return found


def dump_model(value: object, only: str | None = None) -> Any:
    """What can be written for a value that an encoder does not know, as its class says; no check that it can be read.

    Args:
        only: the one field to write.

    Raises:
        TypeError: it is no pydantic model, so nothing can be written for it.
        ValueError: the model cannot be written.
    """
    if not is_model(type(value)):
        raise TypeError(f"values of type {type(value).__qualname__} cannot be encoded")
    return value.model_dump(  # type: ignore[attr-defined]  # a pydantic model by now
        mode="json", by_alias=True, round_trip=True, warnings=False, include=None if only is None else {only}
    )


def load_model(kind: Any, value: Any) -> Any:
    """Make a value of a type that the decoder does not know: a pydantic model, or plain `object`.

    Raises:
        ValueError: the model refuses it.
        TypeError: it is no type of ours.
    """
    if is_model(kind):
        # From JSON text, for a strict model takes dates, tuples and the like from nothing else.
        return kind.model_validate_json(msgspec.json.encode(value))
    if kind is object:
        return value
    raise TypeError(f"values of type {kind!r:.80} cannot be decoded")


def fields_of(model: Any) -> dict[str, Any]:
    """The fields of a pydantic model, by name."""
    found: dict[str, Any] = type(model).model_fields
    return found


def place_of(error: BaseException) -> tuple[str | int, ...]:
    """Where in a model pydantic found the first fault; empty if that is not told."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not isinstance(error, pydantic.ValidationError):
        return ()
    place: tuple[str | int, ...] = error.errors(
        include_url=False, include_context=False, include_input=False
    )[0]["loc"]
    return place
