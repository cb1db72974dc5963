"""How a worker's processes find the application: by the name under which they can import it."""

from __future__ import annotations

import logging
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Final

from noria.errors import ConfigError
from noria.worker.process import python
from noria.worker.processes import Launch
from noria.worker.wire import Hello

if TYPE_CHECKING:
    from noria.app.application import Noria

_CHILD: Final = "noria.app.child"


def launch_of(app: Noria, *, url: str | None, has_state: bool) -> Launch | None:
    """How to start processes for an application's tasks; None if none of them runs in one.

    Args:
        url: the backend, if the application makes its own.
        has_state: whether it has a lifespan.

    Raises:
        ConfigError: the application has no name by which another process could import it.
    """
    tasks = [task for task in app.tasks.values() if task.executor == "process"]
    if not tasks:
        return None
    modules = dict.fromkeys(task.handler.__module__ for task in tasks)
    reference = _reference(app, modules)
    if reference is None:
        raise ConfigError(
            f'task {tasks[0].name!r} says executor="process": a process imports the application by its name, and '
            "no module has this one; assign it to a name at the top of a module, as in app = Noria()"
        )
    where = reference.rpartition(":")[0]
    hello = Hello(
        reference=reference,
        modules=tuple(each for each in modules if each != where and _is_importable(each)),
        tasks=tuple(task.name for task in tasks),
        path=tuple(each for each in sys.path if isinstance(each, str)),
        url=url,
        level=logging.getLogger().getEffectiveLevel(),
        has_state=has_state,
    )
    return Launch(command=python(_CHILD), hello=hello, folder=os.getcwd())


def _reference(app: Noria, likely: dict[str, None]) -> str | None:
    """`module:attribute`, or `path/to/file.py:attribute` for a file that is no module of a package."""
    for name in dict.fromkeys([*likely, "__main__", *sys.modules]):
        module = sys.modules.get(name)
        if isinstance(module, ModuleType) and not _is_typed_in(module):
            for attribute, value in list(vars(module).items()):
                if value is app:
                    return f"{_where(module)}:{attribute}"
    return None


def _is_typed_in(module: ModuleType) -> bool:
    """Whether a module is nothing but what was typed into an interpreter, where no other process can find it."""
    named = getattr(module, "__spec__", None) or getattr(module, "__file__", None)
    return module.__name__ == "__main__" and not named


def _where(module: ModuleType) -> str:
    spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
    if module.__name__ == "__main__" and spec is not None:
        return str(spec.name)  # python -m package.module
    if file and file.endswith(".py") and "." not in module.__name__ and not hasattr(module, "__path__"):
        return os.path.abspath(str(file))
    return str(module.__name__)


def _is_importable(name: str) -> bool:
    """Whether a module has a name of its own; a file that was loaded by its path need not."""
    module = sys.modules.get(name)
    return name != "__main__" and module is not None and getattr(module, "__spec__", None) is not None
