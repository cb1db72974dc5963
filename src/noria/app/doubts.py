"""What a worker's settings probably do not mean: allowed, and worth a warning before jobs wait in vain."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from noria.app.options import WorkerOptions, check_names, meant
from noria.model.task import Executor, TaskDef
from noria.worker.settings import WorkerSettings

log = logging.getLogger("noria.app")

_NAMED: Final = 8
"""Names that are told; the others are counted."""

_SLOTS: Final[Mapping[Executor, str]] = {
    "async": "concurrency",
    "thread": "threads",
    "process": "process_slots",
}
"""The setting that gives a kind of task its slots."""


def worker_settings(
    given: Mapping[str, Any], tasks: Mapping[str, TaskDef], weights: Mapping[str, int]
) -> WorkerSettings:
    """The settings of a worker; logs a warning of what is probably not meant.

    Args:
        weights: of queues, as the application declares them.

    Raises:
        InvalidOption: a setting is unknown, of the wrong type or out of range.
    """
    check_names("a worker", given, WorkerOptions.__annotations__)
    checked = WorkerSettings(**given)
    for doubt in doubts(tasks, checked):
        log.warning("%s", doubt)
    return replace(checked, weights={**weights, **checked.weights})


def doubts(tasks: Mapping[str, TaskDef], settings: WorkerSettings) -> Iterator[str]:
    """A sentence for each queue that no task uses, and each kind of slot that is missing.

    Neither is an error: a queue may be chosen for each job, and another worker may have the slots.
    """
    known = {task.queue for task in tasks.values()}
    for queue in settings.queues:
        if queue not in known:
            near = meant(queue, known)
            yield (
                f"no task of this application uses queue {queue!r}{f'; did you mean {near!r}?' if near else ''} "
                f"(its tasks use {_list(known)})"
            )
    served = settings.queues or known
    for executor, setting in _SLOTS.items():
        stuck = {task.name for task in tasks.values() if task.executor == executor and task.queue in served}
        if stuck and not getattr(settings, setting):
            yield f"{setting} is 0: this worker runs no job of {_list(stuck)}; raise it, or start another worker"


def _list(names: set[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(sorted(names)[:_NAMED]) + more
