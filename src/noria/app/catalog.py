"""What an application's workers tell others about its tasks, so that these can check arguments without its code."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from noria import aio
from noria.aio import Crew
from noria.app.signature import Signature
from noria.app.ties import NO_TIES, Families, Ties
from noria.backends.contract import Backend, Board, DocWrite
from noria.codecs.models import is_model, model_schema
from noria.errors import BackendError, Conflict
from noria.model.backoff import Backoff
from noria.model.limits import MAX_DOC
from noria.model.task import Executor, TaskDef
from noria.model.unique import Unique
from noria.worker.worker import Lifespan

log = logging.getLogger("noria.app")

KIND: Final = "task"
"""The kind of the documents; their names are the tasks'."""

_PATIENCE: Final = 1.0
_LONGEST: Final = 60.0
"""Seconds between two tries, at first and at most."""
_REFERENCES: Final = "#/$defs/{name}"
_ANYTHING: Final[dict[str, Any]] = {"description": "any value"}
"""The schema of `object`; msgspec takes an empty one for none."""


class TaskSheet(Struct, frozen=True, kw_only=True):
    """A task as others know it.

    Attributes:
        name, queue, priority, attempts, crash_budget, timeout, keep, tags, executor, unique: as in `TaskDef`.
        retry: the waits between attempts.
        description: for people.
        safe: whether its jobs change nothing, so that they may be made by GET.
        positional: the names of the arguments that may be given by position, in order.
        ties: what ties its jobs to others: groups and resources.
        args_schema, result_schema: JSON schema (draft 2020-12) of the arguments as an object, and of the result.
    """

    name: str
    queue: str
    priority: int
    attempts: int
    crash_budget: int
    timeout: float | None
    keep: float | None
    executor: Executor
    tags: tuple[str, ...]
    retry: Backoff
    description: str
    safe: bool
    positional: tuple[str, ...]
    args_schema: Raw
    result_schema: Raw
    ties: Ties = NO_TIES
    unique: Unique | None = None


def sheet_of(task: TaskDef, signature: Signature, ties: Ties) -> TaskSheet:
    """The sheet of a task."""
    return TaskSheet(
        name=task.name,
        queue=task.queue,
        priority=task.priority,
        attempts=task.attempts,
        crash_budget=task.crash_budget,
        timeout=task.timeout,
        keep=task.keep,
        executor=task.executor,
        tags=task.tags,
        retry=Backoff(task.retry.base, task.retry.cap, task.retry.factor, task.retry.jitter),
        description=task.description,
        safe=task.safe,
        positional=signature.shape.__struct_fields__[: signature.by_position],
        args_schema=_schema(signature.shape, task.name),
        result_schema=_schema(signature.returns, task.name),
        ties=ties,
        unique=task.unique,
    )


def _schema(kind: Any, task: str) -> Raw:
    """JSON schema of a type; one that takes anything where none can be made, so that its task can be worked on."""
    try:
        return _made(kind)
    except Exception as error:  # noqa: BLE001 - also what classes and defaults of the user raise
        log.warning("task %s: no JSON schema (%s): only its workers check its values", task, error)
        return Raw(b"{}")


def _made(kind: Any) -> Raw:
    """JSON schema of a type, with every reference inside it."""
    parts: dict[str, Any] = {}

    def model(kind: type) -> dict[str, Any]:
        if not is_model(kind):
            return _ANYTHING
        found = model_schema(kind)
        parts.update(found.pop("$defs", {}))
        return found

    (schema,), more = msgspec.json.schema_components([kind], schema_hook=model, ref_template=_REFERENCES)
    parts.update(more)
    if set(schema) == {"$ref"} and msgspec.json.encode(parts).count(msgspec.json.encode(schema)) == 0:
        schema = parts.pop(schema["$ref"].rpartition("/")[2])
    return Raw(msgspec.json.encode({**schema, **({"$defs": parts} if parts else {})}))


def announcing(
    backend: Backend, sheets: Sequence[TaskSheet], lifespan: Lifespan | None, families: Families
) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """A worker's lifespan, during which its tasks and families are published beside all else."""

    @asynccontextmanager
    async def whole() -> AsyncIterator[Any]:
        crew = Crew("noria.app", _failed)
        crew.start("announce", announce(backend, sheets, families))
        try:
            async with lifespan() if lifespan is not None else nullcontext() as state:
                yield state
        finally:
            await crew.aclose(_PATIENCE)

    return whole


def _failed(name: str, error: BaseException) -> None:
    log.error("%s failed: the tasks of this worker are not published", name, exc_info=error)


async def announce(backend: Backend, sheets: Sequence[TaskSheet], families: Families) -> None:
    """As `Families.declare` and `publish`, for a worker that has better things to do: what fails is tried again."""
    wait = _PATIENCE
    while True:
        try:
            await families.declare(backend)
            return await publish(backend, sheets)
        except (BackendError, Conflict) as error:
            log.warning("the tasks of this worker are not published yet: %s", error)
        await aio.sleep(wait)
        wait = min(wait * 2, _LONGEST)


async def publish(board: Board, sheets: Iterable[TaskSheet]) -> None:
    """Write the sheets that differ from what is written; the last worker to start is right.

    Raises:
        BackendError: not all of them may be written; repeating it is safe.
    """
    wanted = {sheet.name: encoded(sheet) for sheet in sheets}
    names = list(wanted)
    there = await board.read(KIND, names)
    changed = [
        DocWrite(KIND, name, wanted[name])
        for name, doc in zip(names, there, strict=True)
        if doc is None or doc.data != wanted[name]
    ]
    if changed:
        await board.write(changed)


def encoded(sheet: TaskSheet) -> bytes:
    """A sheet as a document; schemas that do not fit into one are left out, and so are their checks."""
    data = msgspec.json.encode(sheet)
    if len(data) <= MAX_DOC:
        return data
    anything = Raw(b"{}")
    return msgspec.json.encode(replace(sheet, args_schema=anything, result_schema=anything))
