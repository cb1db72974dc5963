"""Whether values of an annotation can travel; what cannot is said when the task is declared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec import inspect as mi
from msgspec.inspect import (
    CustomType,
    DataclassType,
    DictType,
    Field,
    LiteralType,
    StructType,
    Type,
    UnionType,
)

from noria.codecs.models import is_model, model_schema
from noria.errors import TaskDefinitionError

_MARKS: Final = ("__dataclass_fields__", "__struct_fields__", "__attrs_attrs__", "__total__", "_fields")
"""What classes with annotated fields have: dataclasses, structs, attrs classes, TypedDict, NamedTuple."""
_KEYS: Final = (
    mi.AnyType, mi.StrType, mi.IntType, mi.FloatType, mi.BytesType, mi.EnumType, mi.DateTimeType, mi.DateType,
    mi.TimeType, mi.TimeDeltaType, mi.UUIDType, mi.DecimalType,
)  # fmt: skip
_CLASSES: Final = (DataclassType, StructType, CustomType)


def check_type(hint: Any, what: str) -> None:
    """See whether values of a type can be written as JSON and read again.

    Args:
        what: whose type it is, for the message.

    Raises:
        TaskDefinitionError: they cannot.
    """
    try:
        nodes = list(_nodes(mi.type_info(hint), set()))
        customs = [node.cls for node in nodes if isinstance(node, CustomType) and node.cls is not object]
        for model in filter(is_model, customs):
            model_schema(model)
    except NameError as error:
        raise TaskDefinitionError(f"{what}: {error}; define it above the task") from error
    except TypeError as error:
        raise TaskDefinitionError(f"{what}: {error}") from error
    if not all(_is_key(node.key_type) for node in nodes if isinstance(node, DictType)):
        raise TaskDefinitionError(
            f"{what}: the keys of a dict must be text in JSON: str, numbers, bytes, enums, dates and times, UUID "
            "or Decimal; use a list of pairs for others"
        )
    unchecked = next(_unchecked(hint, set()), None)
    if unchecked is not None:
        raise TaskDefinitionError(
            f"{what}: {unchecked} is pydantic's, and is checked only inside a pydantic model; use a model, or "
            "msgspec.Meta(ge=..., max_length=..., pattern=...)"
        )
    strangers = sorted({each.__qualname__ for each in customs if not is_model(each)})
    if strangers:
        raise TaskDefinitionError(
            f"{what}: values of type {', '.join(strangers)} cannot be stored; use builtins, dataclasses, "
            "msgspec or pydantic classes, enums, dates and times, UUID, Decimal or bytes"
        )


def _is_key(kind: Type) -> bool:
    """Whether dicts may have keys of a type: JSON has text alone, and msgspec no text for some."""
    if isinstance(kind, UnionType):
        return any(map(_is_key, kind.types))
    if isinstance(kind, CustomType):
        return kind.cls is object
    if isinstance(kind, LiteralType):
        return not all(isinstance(value, bool) or value is None for value in kind.values)
    return isinstance(kind, _KEYS)


def _unchecked(hint: Any, seen: set[int]) -> Iterator[str]:
    """What is written inside a type for pydantic to check, where pydantic is not asked."""
    if id(hint) in seen:
        return
    seen.add(id(hint))
    yield from (f"{each!r:.80}" for each in getattr(hint, "__metadata__", ()) if _constrains(each))
    kind = get_origin(hint) or hint
    if isinstance(kind, type) and hasattr(kind, "__pydantic_validator__"):
        if not is_model(kind):
            yield f"the dataclass {kind.__qualname__}"
    elif any(hasattr(kind, mark) for mark in _MARKS):
        for each in get_type_hints(kind, include_extras=True).values():
            yield from _unchecked(each, seen)
    for each in get_args(hint):
        yield from _unchecked(each, seen)


def _constrains(metadata: Any) -> bool:
    """Whether it is a constraint of pydantic's; a `Field` may be no more than a description."""
    home = type(metadata).__module__.partition(".")[0]
    return home in ("pydantic", "annotated_types") and bool(getattr(metadata, "metadata", True))


def classes_in(shape: type[Struct]) -> list[type]:
    """The classes with fields that the fields of a struct are made of."""
    nodes = [node for node in _nodes(mi.type_info(shape), set()) if isinstance(node, _CLASSES)]
    classes = {get_origin(node.cls) or node.cls for node in nodes} - {shape, object}
    return sorted(classes, key=lambda each: each.__qualname__)


def _nodes(node: Any, seen: set[int]) -> Iterator[Type]:
    """All types inside a type, as msgspec sees them."""
    if isinstance(node, tuple):
        for each in node:
            yield from _nodes(each, seen)
    elif isinstance(node, Type | Field) and id(node) not in seen:
        seen.add(id(node))
        if isinstance(node, Type):
            yield node
        for name in node.__struct_fields__:
            yield from _nodes(getattr(node, name), seen)
