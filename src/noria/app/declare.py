"""`@app.task`: from a function to a task."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, overload

from noria.app.binding import Binding
from noria.app.options import TASK_CHECKS, TaskOptions, check_options
from noria.app.providers import Reader
from noria.app.signature import read_signature
from noria.app.task import Defined, TaskFunction
from noria.app.uniqueness import check_arguments
from noria.errors import InvalidName, TaskDefinitionError
from noria.model.backoff import Backoff
from noria.model.limits import ATTEMPTS, CRASH_BUDGET
from noria.model.names import check_name
from noria.model.task import Executor, TaskDef
from noria.worker.context import Context

_LONGEST = 4_000
"""Characters of a description."""

P = ParamSpec("P")
R = TypeVar("R")
Async = Coroutine[Any, Any, R]


class _Unknown:
    """Only a parameter of type `Any` or `object` takes this: so overloads can tell it from a `Context`."""


class Register(Protocol):
    """Takes a function with its checked options into an application or router, as the object that users hold."""

    def __call__(
        self, function: Callable[..., Any], options: Mapping[str, Any], /
    ) -> TaskFunction[..., Any, ..., Any]:
        """Raises `TaskDefinitionError` if it cannot be a task, or its name is taken."""
        ...


class Declare:
    """Makes a function a task: `@app.task`, or with options `@app.task(queue="mail", attempts=3)`.

    An `async def` runs on the worker's event loop, a `def` in a thread, or with `executor="process"` in a process.
    A first parameter that is annotated with `Context` gets the running job, and is no parameter of the jobs; nor
    are those that are annotated with `Depends`, whose values the worker makes. Arguments are checked by the
    annotations when a job is enqueued, and again before it runs; without an annotation anything goes.
    """

    def __init__(self, register: Register, options: Mapping[str, Any]) -> None:
        self._register = register
        self._options = options

    # A first parameter that is not annotated, or with Any or object, would pass for a Context: such functions
    # keep their result's type, and their arguments are not checked before they run.
    @overload
    def __call__(
        self, function: Callable[Concatenate[_Unknown, ...], Async[R]], /
    ) -> TaskFunction[..., R, ..., Async[R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[_Unknown, ...], R], /
    ) -> TaskFunction[..., R, ..., R]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], Async[R]], /
    ) -> TaskFunction[P, R, Concatenate[Context, P], Async[R]]: ...
    @overload
    def __call__(self, function: Callable[P, Async[R]], /) -> TaskFunction[P, R, P, Async[R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], R], /
    ) -> TaskFunction[P, R, Concatenate[Context, P], R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFunction[P, R, P, R]: ...
    @overload
    def __call__(self, /, **options: Unpack[TaskOptions]) -> Declare: ...
    def __call__(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Declare a function as a task, or give the options with which the next call will.

        Raises:
            TaskDefinitionError: the function cannot be a task, or its name is taken.
            InvalidOption: an option is unknown, of the wrong type or out of range.
            InvalidName: the task or its queue has a form that no backend accepts.
        """
        if function is None:
            return Declare(self._register, check_options("a task", options, TASK_CHECKS))
        if not inspect.isroutine(function):
            raise TaskDefinitionError(f"{function!r:.80} is no function; declare a function that calls it")
        return self._register(function, self._options)


def define(function: Callable[..., Any], options: Mapping[str, Any]) -> Defined:
    """Decide everything about a task.

    Args:
        options: checked.

    Raises:
        TaskDefinitionError: the function cannot be a task, or a dependency cannot be made.
    """
    name = options.get("name") or _own_name(function)
    executor = _executor(function, name, options.get("executor"))
    signature = read_signature(function, name)
    Reader().read(name, signature.needs)
    binding = Binding(name, signature)
    definition = TaskDef(
        name=name,
        queue=options.get("queue", "default"),
        handler=function,
        executor=executor,
        takes_context=signature.takes_context,
        attempts=options.get("attempts", ATTEMPTS),
        crash_budget=options.get("crashes", CRASH_BUDGET),
        timeout=options.get("timeout"),
        retry=options.get("retry") or Backoff(),
        priority=options.get("priority", 0),
        keep=options.get("keep"),
        safe=options.get("safe", False),
        description=(inspect.getdoc(function) or "")[:_LONGEST],
        unpack=binding.unpack,
        pack_result=binding.pack_result,
        tags=options.get("tags", ()),
        group=options.get("group"),
        rate=options.get("rate"),
        needs=options.get("needs", ()),
        unique=check_arguments(name, options.get("unique"), signature.shape.__struct_fields__),
    )
    return Defined(definition, binding, signature.needs)


def check_free(definition: TaskDef, known: Mapping[str, TaskDef]) -> None:
    """See that no task has this name yet.

    Raises:
        TaskDefinitionError: one has.
    """
    taken = known.get(definition.name)
    if taken is not None:
        raise TaskDefinitionError(
            f"task {definition.name!r} is declared twice, in {taken.handler.__module__} and "
            f"{definition.handler.__module__}; give one of them another name: @app.task(name=...)"
        )


def _own_name(function: Callable[..., Any]) -> str:
    try:
        return check_name("task", function.__name__)
    except InvalidName as error:
        raise TaskDefinitionError(f"{error}; or give the task a name: @app.task(name=...)") from None


def _executor(function: Callable[..., Any], task: str, wanted: Executor | None) -> Executor:
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise TaskDefinitionError(f"task {task!r}: a job has one result; return a list instead of yielding")
    plain = not inspect.iscoroutinefunction(function)
    wrapped = plain and inspect.iscoroutinefunction(inspect.unwrap(function))
    if wrapped and wanted is None:
        raise TaskDefinitionError(
            f"task {task!r}: an `async def` inside a decorator that is none; say executor='async' if calling "
            "it gives a coroutine, or executor='thread' if calling it runs to the end"
        )
    if wanted == "process" and not plain:
        raise TaskDefinitionError(
            f"task {task!r}: executor='process' runs a plain `def`, and this is an `async def`; write it as "
            "`def`, or leave out the executor, so that it runs on the loop"
        )
    if wanted == ("async" if plain else "thread") and not wrapped:
        raise TaskDefinitionError(
            f"task {task!r}: a `def` runs in a thread and an `async def` on the loop; leave out "
            f"executor={wanted!r}, or write the function the other way"
        )
    return wanted or ("thread" if plain else "async")
