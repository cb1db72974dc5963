"""Tasks that are declared before, or without, their application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Unpack

from noria.app.declare import Declare, define
from noria.app.options import TASK_CHECKS, TaskOptions, check_options
from noria.app.task import Defined, Seat, TaskFunction
from noria.errors import InvalidName, InvalidOption, TaskDefinitionError, shown
from noria.model.names import check_name
from noria.model.wording import count

AnyTask = TaskFunction[..., Any, ..., Any]

_LETTERS: Final = "x"
"""What stands after a prefix while its form is checked."""


class Router:
    """Declares tasks that `app.include(router)` takes into an application.

    Until then they can be called, and described by `options`, but not enqueued.

    Args:
        prefix: put before the names of its tasks, such as "mail.".
        defaults: options for each of its tasks, unless the task says otherwise; see `TaskOptions`.

    Attributes:
        task: the decorator that declares tasks; see `Declare`.

    Raises:
        InvalidOption: a default is unknown, of the wrong type or out of range.
        InvalidName: the prefix or the queue has a form that no backend accepts.
    """

    def __init__(self, *, prefix: str = "", **defaults: Unpack[TaskOptions]) -> None:
        if "name" in defaults:
            raise InvalidOption("a router gives its tasks a prefix, not a name", field="name")
        self._prefix = _checked(prefix)
        self._defaults = check_options("a router", defaults, TASK_CHECKS)
        self._tasks: list[tuple[AnyTask, Callable[..., Any], Mapping[str, Any]]] = []
        self._routers: list[tuple[Router, str, str | None]] = []
        self._included = False
        self.task = Declare(self._declare, {})

    def include(self, router: Router, *, prefix: str = "", queue: str | None = None) -> None:
        """Take in another router; its tasks get both prefixes. As `Noria.include`.

        Raises:
            TaskDefinitionError: it was included before, or is this one.
            InvalidName: the prefix or the queue has a form that no backend accepts.
        """
        self._check_open()
        if router is self:
            raise TaskDefinitionError("a router cannot include itself")
        as_router(router).taken()
        self._routers.append((router, _checked(prefix), queue))

    def _declare(self, function: Callable[..., Any], options: Mapping[str, Any], /) -> AnyTask:
        self._check_open()
        task: AnyTask = TaskFunction(Seat(self._define(function, options, "", None), None))
        self._tasks.append((task, function, options))
        return task

    def placed(self, prefix: str, queue: str | None) -> list[tuple[AnyTask, Defined]]:
        """Each task with what it becomes under a prefix and in a queue; for applications.

        Raises: as `Noria.include`.
        """
        prefix = _checked(prefix)
        found = [
            (task, self._define(function, options, prefix, queue)) for task, function, options in self._tasks
        ]
        for router, inner, own in self._routers:
            found += router.placed(prefix + self._prefix + inner, queue or own)
        return found

    def taken(self) -> None:
        """It is included now, and nothing is added to it any more; for applications.

        Raises:
            TaskDefinitionError: it was included before.
        """
        self._check_open()
        self._included = True

    def _check_open(self) -> None:
        if self._included:
            raise TaskDefinitionError(
                f"{self!r} was included already: declare its tasks before that, and include it once"
            )

    def _define(
        self, function: Callable[..., Any], options: Mapping[str, Any], prefix: str, queue: str | None
    ) -> Defined:
        chosen = {} if queue is None else check_options("include", {"queue": queue}, TASK_CHECKS)
        full = {**self._defaults, **chosen, **options}
        own = define(function, full)
        name = prefix + self._prefix + own.definition.name
        if name == own.definition.name:
            return own
        return define(function, {**full, "name": check_name("task", name)})

    def __repr__(self) -> str:
        return f"<Router {self._prefix!r}, {count(len(self._tasks), 'task')}>"


def as_router(given: object) -> Router:
    """What was given to be included, if it is a router.

    Raises:
        TaskDefinitionError: it is none.
    """
    if not isinstance(given, Router):
        raise TaskDefinitionError(f"only a Router can be included, not {shown(given)}")
    return given


def _checked(prefix: object) -> str:
    if not isinstance(prefix, str):
        raise InvalidName(f"a prefix is text, not {shown(prefix)}")
    check_name("task", prefix + _LETTERS)
    return prefix
