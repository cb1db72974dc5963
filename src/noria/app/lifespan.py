"""What users write to say what their jobs need, made into one shape."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from noria.errors import ConfigError

_FORM = "write `@app.lifespan` over an `async def` without parameters that yields once"


def as_lifespan(function: Callable[..., Any]) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """A factory of async context managers, from one, or from an async generator function.

    Raises:
        ConfigError: it is neither, or takes parameters.
    """
    if not callable(function) or _needs_arguments(function):
        raise ConfigError(f"a lifespan takes nothing; {_FORM}")
    if inspect.isasyncgenfunction(function):
        return asynccontextmanager(function)
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise ConfigError(f"this lifespan never yields to a worker; {_FORM}")
    return function


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    return False
