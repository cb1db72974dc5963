"""What a function's signature says about the task it becomes; all that is wrong is said at declaration."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType, defstruct

from noria.app.annotation import check_type
from noria.app.depends import INJECTED
from noria.app.providers import Need, find_need, is_context
from noria.errors import TaskDefinitionError

_BY_POSITION: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_OPEN: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Signature:
    """A task's arguments and result as types.

    Attributes:
        shape: a struct with one field for each parameter but the context and the dependencies; what a caller
            left out is UNSET.
        defaults: for each field, the function's own default, or `Parameter.empty`.
        by_position: how many of its fields, from the first, the function takes by position.
        takes_context: whether the function's first parameter is the `Context`.
        needs: the parameters that are dependencies, which the function takes by name.
        returns: the type of the result; `Any` if the function does not say.
        text: the parameters as the function writes them, for messages.
    """

    shape: type[Struct]
    defaults: tuple[Any, ...]
    by_position: int
    takes_context: bool
    needs: Mapping[str, Need]
    returns: Any
    text: str


def read_signature(function: Callable[..., Any], task: str) -> Signature:
    """Read the signature of a function.

    Raises:
        TaskDefinitionError: it cannot be a task's: an annotation that cannot be resolved or encoded, `*args`,
            `**kwargs`, or a context that is not the first parameter.
    """
    hints = _hints(function, task)
    parameters = _parameters(function, task)
    takes_context = bool(parameters) and is_context(hints.get(parameters[0].name))
    parameters = parameters[takes_context:]
    needs = _needs(parameters, hints, task)
    arguments = [each for each in parameters if each.name not in needs]
    _check_parameters(arguments, hints, task)
    returns = hints.get("return", Any)
    if returns in (typing.NoReturn, typing.Never):
        returns = None
    check_type(returns, f"task {task!r}: its result")
    return Signature(
        shape=_shape(task, function.__module__, arguments, hints),
        defaults=tuple(each.default for each in arguments),
        by_position=_by_position(parameters, needs),
        takes_context=takes_context,
        needs=needs,
        returns=returns,
        text=f"({', '.join(map(_written, arguments))})",
    )


def _hints(function: Callable[..., Any], task: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:  # evaluating annotations runs the user's code
        names = f"name {error.name!r} in " if isinstance(error, NameError) else ""
        raise TaskDefinitionError(
            f"task {task!r}: {names}an annotation cannot be resolved ({error}); import what it names at the "
            "top of the module, outside TYPE_CHECKING"
        ) from error


def _parameters(function: Callable[..., Any], task: str) -> list[Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError) as error:
        raise TaskDefinitionError(
            f"task {task!r}: {error}; wrap it in a function with named parameters"
        ) from error


def _needs(parameters: list[Parameter], hints: dict[str, Any], task: str) -> dict[str, Need]:
    needs = {}
    for each in parameters:
        what = f"task {task!r}: parameter {each.name!r}"
        need = find_need(hints.get(each.name), what)
        if need is not None:
            if each.kind is Parameter.POSITIONAL_ONLY or each.kind in _OPEN:
                raise TaskDefinitionError(f"{what}: a dependency is passed by name; it cannot be {each}")
            needs[each.name] = need
    return needs


def _by_position(parameters: list[Parameter], needs: Mapping[str, Need]) -> int:
    """How many arguments go by position: those before the first dependency."""
    count = 0
    for each in parameters:
        if each.kind not in _BY_POSITION or each.name in needs:
            break
        count += 1
    return count


def _check_parameters(arguments: list[Parameter], hints: dict[str, Any], task: str) -> None:
    for place, each in enumerate(arguments):
        what = f"task {task!r}: parameter {each.name!r}"
        if each.kind in _OPEN:
            raise TaskDefinitionError(
                f"{what}: a job's arguments are named; take one list or dict instead of {each}"
            )
        if each.default is INJECTED:
            raise TaskDefinitionError(f"{what}: only a parameter that is annotated with Depends is INJECTED")
        if is_context(hints.get(each.name)):
            raise TaskDefinitionError(f"{what}: the Context must be the first parameter, and the only one")
        if place == 0 and each.name in ("self", "cls") and each.name not in hints:
            raise TaskDefinitionError(
                f"{what}: looks like a method; declare a function at the top of a module"
            )
        check_type(hints.get(each.name, Any), what)


def _written(each: Parameter) -> str:
    return str(
        each if not isinstance(each.annotation, str) else each.replace(annotation=_Verbatim(each.annotation))
    )


class _Verbatim(str):
    """An annotation that shows as its source text, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _shape(task: str, module: str, arguments: list[Parameter], hints: dict[str, Any]) -> type[Struct]:
    """A struct whose constructor binds as the function does: in 0.1 µs, against 3 for `Signature.bind`."""
    positional = [_field(each, hints) for each in arguments if each.kind in _BY_POSITION]
    named = [_field(each, hints) for each in arguments if each.kind not in _BY_POSITION]
    shape: type[Struct] = defstruct(task, positional, module=module, forbid_unknown_fields=True)
    if named:
        shape = defstruct(
            task, named, bases=(shape,), module=module, kw_only=True, forbid_unknown_fields=True
        )
    return shape


def _field(each: Parameter, hints: dict[str, Any]) -> tuple[str, Any] | tuple[str, Any, Any]:
    hint = hints.get(each.name, Any)
    if hint is object:
        hint = Any
    # The worker fills in defaults: a job says what its caller said, and a default need not be storable.
    return (each.name, hint) if each.default is Parameter.empty else (each.name, hint | UnsetType, UNSET)
