"""The one place where a plain `def` handler is called, in a thread or in a process, with what stands around it."""

from __future__ import annotations

from typing import Any

from noria.model.task import Arguments, Elsewhere, TaskDef
from noria.worker.context import Context
from noria.worker.raised import Unpackable

Packed = tuple[bytes, str]
"""An encoded value, and how it is encoded."""


def call(task: TaskDef, context: Context | None, arguments: Arguments) -> Packed:
    """Call a handler, and encode what it returns.

    Raises:
        Unpackable: the value cannot be encoded.
        BaseException: whatever the handler raises.
    """
    args, kwargs = with_context(context, arguments)
    return pack(task, task.handler(*args, **kwargs))


async def surrounded(
    task: TaskDef, context: Context | None, arguments: Arguments, elsewhere: Elsewhere
) -> Packed:
    """Call what stands around a handler, which calls the handler `elsewhere`; encode what it returns.

    Raises:
        As `call`.
    """
    assert task.around is not None
    return pack(task, await task.around(context, *arguments, elsewhere))


def with_context(context: Context | None, arguments: Arguments) -> Arguments:
    """The arguments of a handler; the context comes first, if it takes one."""
    args, kwargs = arguments
    return (args if context is None else (context, *args)), kwargs


def pack(task: TaskDef, value: Any) -> Packed:
    """Encode what a handler returned.

    Raises:
        Unpackable: it cannot be encoded, or is too large.
    """
    try:
        return task.pack_result(value)
    except Exception as error:
        raise Unpackable(error) from error
