"""Instances of a subclass where its base is declared: they would arrive without what they add, so they are found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from noria.codecs import Misfit
from noria.codecs.models import is_model


def find_stray(sent: Any, got: Any, classes: Collection[type], path: str) -> Misfit | None:
    """The first part of a value that is more than what arrives of it.

    Args:
        sent: the value.
        got: what its reader makes of it.
        classes: those that the value's type is made of.
        path: where the value is.
    """
    kind = type(got)
    if kind in classes and type(sent) is not kind and isinstance(sent, kind):
        # A model of a generic class is equal to one of the class with its types given.
        if is_model(kind) and sent == got:
            return None
        words = f"is a {type(sent).__name__}, and would arrive as the {kind.__name__} that is declared"
        return Misfit(f"{words}; declare the class that is passed", path)
    found = (
        find_stray(mine, other, classes, where) for where, mine, other in _parts(sent, got, classes, path)
    )
    return next(filter(None, found), None)


def _parts(sent: Any, got: Any, classes: Collection[type], path: str) -> Iterator[tuple[str, Any, Any]]:
    if type(got) in classes:
        for name in _fields(type(got)):
            yield f"{path}.{name}", getattr(sent, name, None), getattr(got, name, None)
    elif isinstance(got, dict) and isinstance(sent, Mapping):
        for mine, other in zip(sent.values(), got.values(), strict=False):
            yield f"{path}[...]", mine, other
    elif isinstance(got, list | tuple) and isinstance(sent, Sequence):
        for at, (mine, other) in enumerate(zip(sent, got, strict=False)):
            yield f"{path}[{at}]", mine, other


def _fields(kind: type) -> Collection[str]:
    """The names of its fields. Those of a model are not looked into: its codec has compared them."""
    if is_model(kind):
        return ()
    attrs = getattr(kind, "__attrs_attrs__", ())
    return (
        getattr(kind, "__struct_fields__", None)
        or getattr(kind, "__dataclass_fields__", None)
        or [each.name for each in attrs]
    )
