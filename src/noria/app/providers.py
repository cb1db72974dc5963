"""What a task's dependencies are made by, read and checked when the task is defined."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from noria.app.depends import INJECTED, Depends, Scope
from noria.errors import TaskDefinitionError, shown
from noria.worker.context import Context

Kind = Literal["function", "coroutine", "generator", "async generator"]
Overrides = Mapping[Callable[..., Any], Callable[..., Any]]
"""For tests: what makes a value instead of a provider."""

_OPEN: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_NUMBERS: Final = (int, float, complex)
"""Where a wider one is wanted, type checkers take a narrower one."""


@dataclass(frozen=True, slots=True)
class Need:
    """A parameter that is a dependency: how it is marked, and the type that it declares."""

    depends: Depends
    type: Any


@dataclass(frozen=True, slots=True, eq=False)
class Provider:
    """What makes one value, with what that needs in turn.

    Attributes:
        function: called with keyword arguments only.
        needs: for each of its parameters another provider; None for the `Context`.
    """

    function: Callable[..., Any]
    scope: Scope
    kind: Kind
    needs: Mapping[str, Provider | None]
    name: str

    @property
    def is_async(self) -> bool:
        """Whether it can only run on the loop."""
        return self.kind in ("coroutine", "async generator")


def find_need(hint: Any, what: str) -> Need | None:
    """What a parameter's annotation says about a dependency; None if it says nothing.

    Raises:
        TaskDefinitionError: it is marked twice.
    """
    if get_origin(hint) is not Annotated:
        return None
    kind, *notes = get_args(hint)
    marks = [note for note in notes if isinstance(note, Depends)]
    if not marks:
        return None
    if len(marks) > 1:
        raise TaskDefinitionError(f"{what}: it has {len(marks)} Depends; one provider makes the value")
    return Need(marks[0], kind)


def is_context(hint: Any) -> bool:
    """Whether an annotation asks for the running job."""
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and issubclass(kind, Context)


@dataclass(slots=True)
class Reader:
    """Reads providers, each once: two parameters with the same provider and scope share its value.

    Args:
        overrides: providers that others stand in for.
    """

    overrides: Overrides = field(default_factory=dict)
    _task: str = ""
    _known: dict[tuple[Any, Scope], Provider] = field(default_factory=dict)
    _open: list[Callable[..., Any]] = field(default_factory=list)

    @property
    def functions(self) -> set[Any]:
        """Every provider that was asked for so far."""
        return {key for key, _ in self._known}

    @property
    def providers(self) -> list[Provider]:
        """What makes their values."""
        return list(self._known.values())

    def read(self, task: str, needs: Mapping[str, Need]) -> dict[str, Provider]:
        """The providers of a task's parameters.

        Raises:
            TaskDefinitionError: a provider cannot be called with what it asks for, depends on itself, gives
                another type than the parameter declares, or outlives what it needs.
        """
        self._task = task
        return {name: self._provider(need, f"parameter {name!r}") for name, need in needs.items()}

    def _provider(self, need: Need, asker: str) -> Provider:
        function, scope = need.depends.provider, need.depends.scope
        if not callable(function):
            raise self._wrong(
                asker, f"Depends takes the function that makes the value, not {shown(function)}"
            )
        if scope not in ("job", "app"):
            raise self._wrong(asker, f"the scope of a dependency is 'job' or 'app', not {shown(scope)}")
        key = _key(function)
        found = self._known.get((key, scope))
        if found is None:
            found = self._known[key, scope] = self._read(function, scope)
        if key not in self.overrides:
            self._check_type(found, need, asker)
        return found

    def _read(self, original: Callable[..., Any], scope: Scope) -> Provider:
        function = self.overrides.get(_key(original), original)
        name = _name(function)
        if function in self._open:
            circle = [*map(_name, self._open[self._open.index(function) :]), name]
            raise TaskDefinitionError(
                f"task {self._task!r}: dependencies go round in a circle: {' -> '.join(circle)}; "
                "one of them must do without"
            )
        self._open.append(function)
        try:
            needs = dict(self._needs(function, scope, f"dependency {name!r}"))
            return Provider(function, scope, self._kind(function, name), needs, name)
        finally:
            self._open.pop()

    def _needs(
        self, function: Callable[..., Any], scope: Scope, what: str
    ) -> Iterator[tuple[str, Provider | None]]:
        hints = self._hints(function, what)
        for each in self._parameters(function, what):
            hint = hints.get(each.name)
            need = find_need(hint, f"task {self._task!r}: {what}, parameter {each.name!r}")
            if need is None and not is_context(hint):
                if (each.default is Parameter.empty or each.default is INJECTED) and each.kind not in _OPEN:
                    raise self._wrong(
                        what,
                        f"nobody gives it {each.name!r}: a provider takes a Context, dependencies of its own, "
                        "and what has a default",
                    )
                continue
            if each.kind is Parameter.POSITIONAL_ONLY:
                raise self._wrong(what, f"{each.name!r} is passed by name; it cannot be positional-only")
            if scope == "app" and (need is None or need.depends.scope != "app"):
                raise self._wrong(
                    what,
                    f"it is made once for all jobs, and {each.name!r} belongs to one; "
                    "give both the same scope, or leave it out",
                )
            yield (
                each.name,
                None if need is None else self._provider(need, f"{what}, parameter {each.name!r}"),
            )

    def _kind(self, function: Callable[..., Any], name: str) -> Kind:
        called = function if inspect.isroutine(function) or inspect.isclass(function) else function.__call__  # type: ignore[operator]  # an object that is called
        called = getattr(function, "func", called)
        if inspect.isasyncgenfunction(called):
            return "async generator"
        if inspect.isgeneratorfunction(called):
            return "generator"
        if inspect.iscoroutinefunction(called):
            return "coroutine"
        inner = inspect.unwrap(called)
        if inner is not called and (inspect.isasyncgenfunction(inner) or inspect.isgeneratorfunction(inner)):
            raise self._wrong(
                f"dependency {name!r}", "it is made a context manager; give the generator function itself"
            )
        return "function"

    def _hints(self, function: Callable[..., Any], what: str) -> dict[str, Any]:
        try:
            return get_type_hints(_annotated(function), include_extras=True)
        except Exception as error:  # evaluating annotations runs the user's code
            names = f"name {error.name!r} in " if isinstance(error, NameError) else ""
            raise self._wrong(
                what,
                f"{names}an annotation cannot be resolved ({error}); import what it names at the top of the "
                "module, outside TYPE_CHECKING",
            ) from error

    def _parameters(self, function: Callable[..., Any], what: str) -> list[Parameter]:
        try:
            return list(inspect.signature(function).parameters.values())
        except (ValueError, TypeError) as error:
            raise self._wrong(what, f"{error}; wrap it in a function with named parameters") from error

    def _check_type(self, provider: Provider, need: Need, asker: str) -> None:
        made = self._made(provider)
        if not _fits(made, need.type):
            raise self._wrong(
                asker, f"it is a {_name(need.type)}, and {provider.name!r} makes a {_name(made)}"
            )

    def _made(self, provider: Provider) -> Any:
        if inspect.isclass(provider.function):
            return provider.function
        made = self._hints(provider.function, f"dependency {provider.name!r}").get("return", Any)
        if "generator" not in provider.kind:
            return made
        return next(iter(get_args(made)), Any)

    def _wrong(self, what: str, words: str) -> TaskDefinitionError:
        return TaskDefinitionError(f"task {self._task!r}: {what}: {words}")


def _annotated(function: Any) -> Any:
    """Where the annotations of a callable stand."""
    function = getattr(function, "func", function)
    if inspect.isclass(function):
        return function.__init__
    return function if inspect.isroutine(function) else type(function).__call__


def _key(function: Any) -> Any:
    """What tells a provider from others: itself, unless it cannot be hashed."""
    try:
        hash(function)
    except TypeError:
        return id(function)
    return function


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or f"{function!r:.60}")


def _fits(made: Any, wanted: Any) -> bool:
    """Whether a value of one type may stand for the other; what cannot be told in a moment may."""
    if get_origin(wanted) in (Union, UnionType):
        return any(_fits(made, each) for each in get_args(wanted))
    made, wanted = get_origin(made) or made, get_origin(wanted) or wanted
    if made in (Any, UnionType) or wanted is Any or getattr(wanted, "_is_protocol", False):
        return True
    if not isinstance(made, type) or not isinstance(wanted, type):
        return True
    if made in _NUMBERS and wanted in _NUMBERS:
        return True
    try:
        return issubclass(made, wanted)
    except TypeError:
        return True
