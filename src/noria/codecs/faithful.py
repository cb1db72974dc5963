"""A pydantic model is written only if what is written makes an equal model again; else its field is named."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from noria.codecs.misfit import Misfit, path_of
from noria.codecs.models import dump_model, fields_of, is_model, load_model, place_of

_NO_FINITE: Final = "holds NaN or infinity, for which JSON has no word; use None or text"
_MASKED: Final = (
    "is a secret, which its model writes as asterisks; pass a name by which the worker finds it, or give the model "
    "a field_serializer that writes it, readable for all who see the job"
)
_BYTES: Final = (
    "holds bytes that its model does not write as they are; give it ser_json_bytes='base64' and "
    "val_json_bytes='base64'"
)
_EXCLUDED: Final = "is excluded from what its model writes, and would not arrive"
_OTHER: Final = "would not arrive as it is: what its model writes makes another value when it is read"


class _Part(NamedTuple):
    path: str
    value: Any
    owner: Any
    got: Any = None


def write_model(value: object) -> Any:
    """What an encoder writes for a value that it does not know.

    Raises:
        TypeError: it is no pydantic model.
        Misfit: it is one that would not arrive as it is.
    """
    try:
        written = dump_model(value)
        again = load_model(type(value), written)
    except ValueError as error:
        place = place_of(error) or _unwritable(value)
        raise _misfit(_part(value, place)) from error
    if again != value:
        raise _misfit(_difference(_Part("", value, None, again)))
    return written


def _unwritable(model: Any) -> tuple[str, ...]:
    """The field that a model cannot write."""
    for name in fields_of(model):
        try:
            dump_model(model, only=name)
        except ValueError:
            inner = getattr(model, name)
            return (name, *(_unwritable(inner) if is_model(type(inner)) else ()))
    return ()


def _part(value: Any, place: tuple[str | int, ...]) -> _Part:
    """The part of a value at a place as pydantic tells it, as far as it can be followed."""
    owner = None
    for step in place:
        owner, value = value, _inside(value, step)
    return _Part(path_of(place), value, owner)


def _inside(value: Any, step: str | int) -> Any:
    if is_model(type(value)):
        aliases = {each.alias: name for name, each in fields_of(value).items() if each.alias}
        return getattr(value, aliases.get(step, str(step)), None)
    try:
        return value[step]
    except (TypeError, LookupError):
        return None


def _difference(part: _Part) -> _Part:
    """The innermost part that is not equal."""
    if type(part.value) is type(part.got):
        for step, mine, other in _pairs(part.value, part.got):
            if mine != other:
                return _difference(_Part(path_of((step,), part.path), mine, part.value, other))
    return part


def _pairs(sent: Any, got: Any) -> list[tuple[str | int, Any, Any]]:
    if is_model(type(sent)):
        mine, others = _contents(sent), _contents(got)
        return [(name, value, others.get(name)) for name, value in mine.items()]
    if isinstance(sent, list) and len(sent) == len(got):
        return [(at, value, got[at]) for at, value in enumerate(sent)]
    if isinstance(sent, dict):
        return [(str(key), value, got[key]) for key, value in sent.items() if key in got]
    return []


def _contents(model: Any) -> dict[str, Any]:
    return {**vars(model), **(model.__pydantic_extra__ or {}), **(model.__pydantic_private__ or {})}


def _misfit(part: _Part) -> Misfit:
    return Misfit(_words(part), part.path)


def _words(part: _Part) -> str:
    if isinstance(part.value, float) and not math.isfinite(part.value):
        return _NO_FINITE
    if hasattr(part.value, "get_secret_value"):
        return _MASKED
    if isinstance(part.value, bytes):
        return _BYTES
    if type(part.got) is not type(part.value) and isinstance(part.value, type(part.got)):
        return f"is a {type(part.value).__name__}, and would arrive as the {type(part.got).__name__} declared"
    field = fields_of(part.owner).get(part.path.rpartition(".")[2]) if is_model(type(part.owner)) else None
    return _EXCLUDED if field is not None and field.exclude else _OTHER
